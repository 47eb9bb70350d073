"""Workers and servers die, prompts come from two hands, and each command still ends with what is so."""

import asyncio
import json
import os
import signal
import subprocess
from pathlib import Path

import pytest

from cli.gateway import open_sessions
from cli.sender import Sender
from cli.signing import new_request, public_key
from tests.fakes.command_line import Cli, bash
from tests.fakes.waiting import eventually
from worker.engine_state import read_state
from worker.health import read_health
from workflows.contracts.session import SessionInput
from workflows.contracts.settings import SessionSettings

pytestmark = [pytest.mark.journey, pytest.mark.timeout(180)]


def test_a_session_is_found_and_ended_through_temporals_own_client_too(cli: Cli) -> None:
    address = read_state(cli.home).address
    far = Cli(cli.home, cli.folder, {"TEMPORAL_ADDRESS": address})
    model = far.scenario(replies=["Far."])
    ended = far("run", "--model", model, "--session-id", "far", "-p", "hi")
    assert (ended.returncode, ended.stdout) == (0, "Far.\n")
    assert far.json("show", "far", "--json") == cli.json("show", "far", "--json")
    again = far("run", "--model", model, "--session-id", "far", "-p", "hi")
    assert again.returncode == 2
    assert [one["id"] for one in far.json("ls", "--json")] == [one["id"] for one in cli.json("ls", "--json")]
    assert far("stop", "far").returncode == 1
    assert far("close", "far").stdout == "Session far is closed.\n"
    assert far("send", "far", "more").returncode == 1
    assert far("show", "nobody").returncode == 2


def test_prompts_of_two_hands_are_each_taken_once_in_one_order(cli: Cli) -> None:
    cli.detached(cli.scenario(fallback="Taken."), "--session-id", "hands", "first")
    hands = [cli.start("send", "hands", "--detach", f"hand {hand} line {line}") for line in range(2) for hand in "ab"]
    for hand in hands:
        _, told = hand.communicate(timeout=60)
        assert hand.returncode == 0, told
    eventually(lambda: cli.json("show", "hands", "--json")["snapshot"]["state"].get("turns") == 5, 90, "5 turns")
    cli.await_state("hands", "idle")
    cli("close", "hands")
    orders = [_prompts(cli("watch", "hands", "--output-format", "stream-json")) for _ in range(2)]
    assert orders[0] == orders[1]
    assert sorted(orders[0]) == sorted(["first", *(f"hand {h} line {n}" for h in "ab" for n in range(2))])


def test_a_session_that_fails_by_a_fault_of_ours_ends_its_watcher_with_the_message(cli: Cli) -> None:
    asyncio.run(_start_faulty(cli, "faulty"))
    ended = cli("watch", "faulty", "--output-format", "json")
    told = json.loads(ended.stdout)
    assert (ended.returncode, told["exit_code"]) == (1, 1)
    assert "made to fail" in told["error"]
    assert cli.json("show", "faulty", "--json")["state"] == "failed"


def test_a_run_goes_on_when_worker_and_server_are_killed(lone: Cli) -> None:
    model = lone.scenario(replies=[bash("sleep 4; echo went on"), "Survived."])
    process = lone.start("run", "--model", model, "--allowed-tools", "Bash", "--session-id", "hard", "-p", "go")
    eventually(lambda: _phase(lone, "hard") == "running tools", 60, "the command runs")
    for pid in (read_health(lone.home).process.pid, read_state(lone.home).server.pid):
        os.kill(pid, signal.SIGKILL)
    said, told = process.communicate(timeout=85)
    assert (process.returncode, said) == (0, "Survived.\n"), told


def test_a_prompt_sent_while_no_worker_runs_is_not_yet_confirmed_and_then_taken_once(lone: Cli) -> None:
    lone.detached(lone.scenario(fallback="Ok."), "--session-id", "slow", "first")
    lone.await_state("slow", "idle")
    worker = read_health(lone.home).process.pid
    os.kill(worker, signal.SIGSTOP)
    process = lone.start("send", "slow", "--detach", "second")
    try:
        assert process.stderr
        assert "Not yet confirmed" in process.stderr.readline()
    finally:
        os.kill(worker, signal.SIGCONT)
    process.communicate(timeout=60)
    assert process.returncode == 0
    eventually(lambda: lone.json("show", "slow", "--json")["snapshot"]["state"]["turns"] == 2, 30, "2 turns")


def _phase(cli: Cli, session: str) -> str:
    ended = cli("show", session, "--json")
    snapshot = json.loads(ended.stdout).get("snapshot") if ended.returncode == 0 else None
    return str(snapshot["phase"]) if snapshot else ""


def _prompts(ended: "subprocess.CompletedProcess[str]") -> list[str]:
    lines = [json.loads(line) for line in ended.stdout.splitlines()]
    return [line["message"]["content"][0]["text"] for line in lines if line["type"] == "user"]


async def _start_faulty(cli: Cli, session: str) -> None:
    sender = Sender(cli.home)
    given = SessionInput(
        session=session, cwd=str(Path(cli.folder)), host=cli.home.host().id, store=await sender.store_id(),
        settings=await sender.settings(SessionSettings()), public_key=public_key(cli.home),
        prompts=(await sender.prompt("hi", new_request()),), test_fault="made to fail",
    )  # fmt: skip
    sessions = await open_sessions(cli.home, {})
    await sessions.start_session(given, model="m", title="t", started="2026-01-01T00:00:00Z")
