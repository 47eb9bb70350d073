"""A host that a command was refused is asked about durably and opened by a person; no command runs again by itself."""

import json
import os
import signal
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.fakes.command_line import Cli, bash
from tests.fakes.held import missing
from tests.fakes.stranger import home_for
from tests.fakes.waiting import eventually
from tests.fakes.way_out import way_out
from worker.engine_state import read_state
from worker.health import read_health

pytestmark = [
    pytest.mark.journey,
    pytest.mark.timeout(180),
    pytest.mark.skipif(bool(missing(1)), reason=f"no namespaces: {missing(1)}"),
]

FETCH = "echo ran >> log; curl -sf http://$(cat name)/x || echo refused"
"""It does not name its host, so none is opened to it alone."""
WAITS = ("--unattended", "wait", "--allowed-tools", "Bash")


@pytest.fixture(scope="module")
def outside() -> Iterator[tuple[int, list[bytes]]]:
    with way_out() as found:
        yield found


@pytest.fixture(scope="module")
def started(outside: tuple[int, list[bytes]]) -> Iterator[Cli]:
    with home_for(is_up=True) as home:
        yield Cli(home, home.root, {"HTTPS_PROXY": f"http://127.0.0.1:{outside[0]}"})


@pytest.fixture
def cli(started: Cli, outside: tuple[int, list[bytes]], tmp_path: Path) -> Cli:
    (tmp_path / "name").write_text("far.example")
    outside[1].clear()
    return replace(started, folder=tmp_path)


def ran(cli: Cli) -> int:
    """How often the command has run."""
    return (cli.folder / "log").read_text().count("ran")


def kill(cli: Cli, *, server: bool) -> None:
    """SIGKILL the worker, and the server too; they are back when this returns."""
    worker = read_health(cli.home).process.pid
    for pid in (worker, *([read_state(cli.home).server.pid] if server else [])):
        os.kill(pid, signal.SIGKILL)
    eventually(lambda: read_health(cli.home).is_polling and read_health(cli.home).process.pid != worker, 60, "another")


def calls(cli: Cli, session: str) -> list[dict[str, Any]]:
    """The calls that the audit tells of; whatever it tells is verified."""
    ended = cli("audit", session, "--json", "--verify")
    assert ended.returncode == 0, ended.stdout + ended.stderr
    steps = [json.loads(line) for line in ended.stdout.splitlines()]
    return [step for step in steps if step.get("kind") == "call"]


def test_a_question_about_hosts_outlives_worker_and_server_and_a_yes_lets_the_model_run_it_again(
    cli: Cli, outside: tuple[int, list[bytes]]
) -> None:
    session = cli.detached(cli.scenario(replies=[bash(FETCH), bash(FETCH), "Done."]), *WAITS, "go")
    assert cli.await_question(session) == "1.0.hosts"
    kill(cli, server=True)
    assert cli.await_question(session) == "1.0.hosts"
    assert (ran(cli), outside[1]) == (1, [])
    inbox = cli("approvals").stdout
    assert "Bash: open far.example to this session's commands; `echo ran" in inbox
    assert "because: not on the list of allowed hosts" in inbox
    assert "    |   far.example\n" in inbox
    assert "1.0.hosts  Bash  open far.example" in cli("show", session).stdout
    assert next(one for one in cli.json("ls", "--json") if one["id"] == session)["state"] == "waiting"
    approved = cli("approve", session, "--always")
    assert approved.returncode == 0, approved.stderr
    assert "always: sandbox.network.allowedDomains far.example" in approved.stdout
    kill(cli, server=False)
    cli.await_state(session, "idle")
    assert (ran(cli), outside[1]) == (2, [b"far.example:80"])
    first, second = calls(cli, session)
    hosts = first["hosts"]
    assert (hosts["asked"], hosts["opened"], hosts["signature"]) == (["far.example"], ["far.example"], "valid")
    assert (second["hosts"], second["status"]) == ({}, "ok")
    assert f"answered by {hosts['signer']} (signature valid)" in cli("audit", session).stdout
    kept = json.loads((cli.folder / ".perdure/settings.local.json").read_text())
    assert kept == {"sandbox": {"network": {"allowedDomains": ["far.example"]}}}
    later = cli.detached(cli.scenario(replies=[bash(FETCH), "Done."]), *WAITS, "go")
    cli.await_state(later, "idle")
    assert [call["hosts"] for call in calls(cli, later)] == [{}]


def test_an_interrupt_while_it_asks_keeps_what_the_command_gave_and_the_session_goes_on(cli: Cli) -> None:
    model = cli.scenario(replies=[bash(FETCH), "After the interrupt."])
    session = cli.detached(model, *WAITS, "go")
    cli.await_question(session)
    assert cli("stop", session).returncode == 0
    cli.await_state(session, "idle")
    assert cli("send", session, "go on").returncode == 0
    eventually(lambda: cli.json("show", session, "--json")["snapshot"]["state"]["turns"] == 2, 60, "another turn")
    cli.await_state(session, "idle")
    (call,) = calls(cli, session)
    assert (call["status"], call["hosts"]["asked"], call["hosts"]["signature"]) == ("ok", ["far.example"], "")
    assert "asked about far.example, not answered" in cli("audit", session).stdout
    assert ran(cli) == 1


def test_a_person_who_says_no_is_quoted_and_not_asked_again(cli: Cli) -> None:
    session = cli.detached(cli.scenario(replies=[bash(FETCH), bash(FETCH), "Done."]), *WAITS, "go")
    approval = cli.await_question(session)
    assert cli("deny", session, approval, "--text", "use the mirror").returncode == 0
    cli.await_state(session, "idle")
    first, second = calls(cli, session)
    assert "said no to opening far.example: use the mirror" in first["sandbox_told"][-1]
    assert "did not open far.example in this session" in second["sandbox_told"][-1]
    assert (first["hosts"]["opened"], second["hosts"]["by"]) == ([], "person")


def test_where_nobody_attends_nothing_waits_and_the_rule_is_named(cli: Cli) -> None:
    session = cli.detached(cli.scenario(replies=[bash(FETCH), "I could not."]), "--allowed-tools", "Bash", "go")
    cli.await_state(session, "idle")
    (call,) = calls(cli, session)
    assert (call["status"], call["hosts"]["rule"], call["hosts"]["opened"]) == ("ok", "unattended: deny", [])
    assert "nobody is asked to open far.example: nobody attends this session" in call["sandbox_told"][-1]
    assert "nobody was asked (unattended: deny)" in cli("audit", session).stdout
