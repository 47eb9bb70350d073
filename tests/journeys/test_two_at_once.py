"""Many commands at once in a fresh home: one engine; and `down` leaves nothing of it."""

import json
import os
import signal
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from tests.fakes.command_line import Cli, bash
from tests.fakes.leftovers import processes_of
from tests.fakes.stranger import home_for
from tests.fakes.waiting import eventually
from worker.process_table import running

pytestmark = [pytest.mark.journey, pytest.mark.timeout(240)]


@pytest.fixture
def cli(tmp_path: Path) -> Iterator[Cli]:
    with home_for(is_up=False) as home:
        yield Cli(home, tmp_path)


@pytest.mark.parametrize("number", [2, 10])
def test_runs_started_at_once_share_one_engine(cli: Cli, number: int) -> None:
    model = cli.scenario(replies=["Done."])
    started = [cli.start("run", "--model", model, "-p", "hi") for _ in range(number)]
    ended = [process.communicate(timeout=200) for process in started]
    assert [process.returncode for process in started] == [0] * number, [told for _, told in ended]
    assert {said for said, _ in ended} == {"Done.\n"}
    assert len(_servers(cli)) == 1
    assert len(cli.json("ls", "--json")) == number


def test_down_leaves_nothing_of_what_was_started(cli: Cli, tmp_path: Path) -> None:
    hidden = "setsid sh -c 'sleep 600.25 & sleep 600.25' & sleep 600.25"
    session = cli.detached(cli.scenario(replies=[bash(hidden), "Done."]), "--allowed-tools", "Bash", "go")
    eventually(lambda: len(_sleepers()) >= 3, 60, "the command")
    family = _family(cli)
    assert {"rehearsal", "supervisor", "worker", "server", "serve"} <= {_word(process) for process in family}
    told = cli("down")
    assert (told.returncode, told.stdout) == (0, "The engine is down.\n")
    assert _sleepers() == []
    assert [process for process in family if process.is_running() and process.status() != psutil.STATUS_ZOMBIE] == []
    assert processes_of(cli.home.root) == []
    assert cli("up").returncode == 0
    eventually(lambda: _calls(cli, session), 60, "its outcome")
    cli("down")
    assert processes_of(cli.home.root) == []


def test_down_after_a_run_that_never_had_an_engine_leaves_nothing(cli: Cli) -> None:
    cli.more["TEMPORAL_ADDRESS"] = "127.0.0.1:1"
    ended = cli("run", "--model", cli.scenario(replies=["Done."]), "--output-format", "json", "hi")
    assert (ended.returncode, json.loads(ended.stdout)["exit_code"]) == (5, 5)
    assert processes_of(cli.home.root) == []


def test_an_engine_that_died_without_a_word_is_started_again_by_the_next_run(cli: Cli) -> None:
    model = cli.scenario(replies=["One.", "Two."])
    assert cli("run", "--model", model, "--session-id", "kept", "-p", "hi").returncode == 0
    for process in processes_of(cli.home.root):
        if _word(process) in {"supervisor", "worker", "server", "serve"}:
            os.kill(process.pid, signal.SIGKILL)
    eventually(lambda: not _servers(cli), 10, "the server's end")
    lost = cli("ls")
    assert (lost.returncode, lost.stderr.count("\n"), "Traceback" in lost.stderr) == (5, 1, False)
    assert cli("run", "--model", model, "-p", "hi").returncode == 0
    assert cli("send", "kept", "-p", "more").stdout == "Two.\n"


def _calls(cli: Cli, session: str) -> int:
    """Calls of the session that have their outcome."""
    snapshot = cli.json("show", session, "--json")["snapshot"]
    return int(snapshot["state"]["totals"].get("calls", 0)) if snapshot else 0


def _servers(cli: Cli) -> list[int]:
    root = str(cli.home.root)
    return [
        one.identity.pid
        for one in running()
        if "start-dev" in one.arguments and any(root in word for word in one.arguments)
    ]


def _sleepers() -> list[int]:
    return [one.pid for one in psutil.process_iter() if _words(one)[:2] == ["sleep", "600.25"]]


def _family(cli: Cli) -> list[psutil.Process]:
    """What carries the home in its environment, and all that descends from it."""
    found = {
        one.pid: one for parent in processes_of(cli.home.root) for one in [parent, *parent.children(recursive=True)]
    }
    return list(found.values())


def _word(process: psutil.Process) -> str:
    """What part of the engine this is."""
    words = _words(process)
    if "start-dev" in words:
        return "server"
    if any("processes import runner" in word for word in words):
        return "serve"
    module = words[words.index("-m") + 1] if "-m" in words else ""
    return module.rpartition(".")[2]


def _words(process: psutil.Process) -> list[str]:
    try:
        return process.cmdline()
    except psutil.Error:
        return []
