"""The embedded engine comes up, stays up and goes down, on the real server."""

import json
import os
import signal
import socket
import sqlite3
import subprocess
import sys
import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from activities.stores.home import Home
from tests.fakes.sleeping_worker import KEPT_WORKER, WORKER, end_engine, processes_of
from worker import engine, server_api
from worker.engine_state import EngineState, Ports, database_path, read_state, state_path, write_state
from worker.health import read_health
from worker.process_table import end_all, running, wait_until
from workflows.contracts.errors import EngineUnreachable, ExitCode, UserError

pytestmark = pytest.mark.journey

START = {"workflowType": {"name": "X"}, "taskQueue": {"name": "perdure"}}
UP_CODE = """
import json, pathlib, sys
from activities.stores.home import Home
from worker import engine
state = engine.ensure_up(Home(pathlib.Path(sys.argv[1])), tuple(json.loads(sys.argv[2])))
print(state.supervisor.pid, state.address)
"""


@pytest.fixture
def home(tmp_path: Path) -> Iterator[Home]:
    """A home that has no engine yet; whatever a test starts in it is ended."""
    home = Home(tmp_path / "home")
    yield home
    end_engine(home)


@pytest.fixture
def up(home: Home) -> EngineState:
    """An engine that serves, with a worker that only sleeps."""
    return engine.ensure_up(home, WORKER)


def start_workflow(state: EngineState, workflow: str) -> None:
    server_api.ask(state.ports.http, "POST", f"/namespaces/default/workflows/{workflow}", START)


def up_in_another_process(home: Home, folder: Path) -> "subprocess.Popen[str]":
    command = [sys.executable, "-I", "-c", UP_CODE, str(home.root), json.dumps(WORKER)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=folder)


def test_a_run_that_closes_at_once_is_kept_for_ninety_days(home: Home) -> None:
    state = engine.ensure_up(home, WORKER)
    start_workflow(state, "brief")
    server_api.ask(state.ports.http, "POST", "/namespaces/default/workflows/brief/terminate", {"reason": "test"})

    def deletions() -> list[str]:
        with sqlite3.connect(f"file:{database_path(home)}?mode=ro", uri=True) as database:
            rows = database.execute("SELECT visibility_timestamp FROM timer_tasks").fetchall()
        return [row[0] for row in rows]

    def kept_for(days: int) -> int:
        limit = (datetime.now(UTC) + timedelta(days=days)).isoformat(" ")
        return sum(when > limit for when in deletions())

    assert server_api.read_namespace(state.ports.http).retention_days == 90
    assert wait_until(lambda: kept_for(88) == 1, 10), deletions()


def test_two_processes_that_start_it_at_once_get_the_same_engine(home: Home, tmp_path: Path) -> None:
    both = [up_in_another_process(home, tmp_path) for _ in range(2)]
    told = [process.communicate(timeout=40)[0] for process in both]
    assert told[0] == told[1] != ""
    assert sum("worker.supervisor" in words for words in processes_of(home)) == 1


def test_a_killed_server_comes_back_on_its_ports_with_what_it_knew(home: Home, up: EngineState) -> None:
    start_workflow(up, "kept")
    os.kill(up.server.pid, signal.SIGKILL)
    assert wait_until(lambda: read_state(home).server.pid not in (0, up.server.pid), 15)
    again = engine.ensure_up(home, WORKER)
    assert (again.ports, again.supervisor, again.server.restarts) == (up.ports, up.supervisor, 1)
    assert "KILL" in again.server.last_error
    answer = server_api.ask(again.ports.http, "GET", "/namespaces/default/workflows/kept")
    assert answer["workflowExecutionInfo"]["execution"]["workflowId"] == "kept"


@pytest.mark.parametrize("moment_s", [0.0, 0.03, 0.06, 0.12])
def test_a_server_killed_while_it_makes_its_database_does_no_harm(home: Home, tmp_path: Path, moment_s: float) -> None:
    starter = up_in_another_process(home, tmp_path)
    try:
        assert wait_until(lambda: any("start-dev" in words for words in processes_of(home)), 20)
        time.sleep(moment_s)
        for one in [*running()]:
            if one.environment.get("PERDURE_HOME") == str(home.root):
                end_all([one.identity], grace_s=0.0)
    finally:
        starter.kill()
        starter.communicate(timeout=10)
    assert engine.ensure_up(home, WORKER).is_serving


def test_a_killed_worker_is_started_again(home: Home, up: EngineState) -> None:
    assert engine.wait_for_worker(home, 20)
    old = engine.status(home).worker.pid
    os.kill(old, signal.SIGKILL)

    def polls_again() -> bool:
        now = engine.status(home)
        return now.is_polling and now.worker.pid != old

    assert wait_until(polls_again, 20)
    assert engine.status(home).worker.restarts == 1


def test_what_a_killed_supervisor_leaves_goes_on_and_is_adopted(home: Home, up: EngineState) -> None:
    assert engine.wait_for_worker(home, 20)
    worker = engine.status(home).worker.pid
    os.kill(up.supervisor.pid, signal.SIGKILL)
    assert wait_until(lambda: not up.supervisor.identity.is_alive, 5)
    assert not engine.status(home).is_serving
    again = engine.ensure_up(home, WORKER)
    assert again.supervisor.pid != up.supervisor.pid
    assert (again.server.pid, again.worker.pid) == (up.server.pid, worker)
    os.kill(worker, signal.SIGKILL)
    assert wait_until(lambda: engine.status(home).worker.pid not in (0, worker), 20)


def test_the_child_of_an_adopted_worker_is_no_stray(home: Home) -> None:
    up = engine.ensure_up(home, KEPT_WORKER)
    assert engine.wait_for_worker(home, 20)
    polling = read_health(home).process
    assert polling.pid != up.worker.pid
    os.kill(up.supervisor.pid, signal.SIGKILL)
    assert wait_until(lambda: not up.supervisor.identity.is_alive, 5)
    again = engine.ensure_up(home, KEPT_WORKER)
    assert again.worker.pid == up.worker.pid
    assert polling.is_alive


def test_down_ends_what_a_killed_supervisor_left_even_without_a_state_file(home: Home, up: EngineState) -> None:
    assert engine.wait_for_worker(home, 20)
    os.kill(up.supervisor.pid, signal.SIGKILL)
    assert wait_until(lambda: not up.supervisor.identity.is_alive, 5)
    ended = engine.down(home)
    assert {up.server.pid, up.worker.pid} <= {*ended}
    assert processes_of(home) == []


def test_a_server_that_nobody_wrote_down_is_ended_before_another_starts(home: Home, up: EngineState) -> None:
    os.kill(up.supervisor.pid, signal.SIGKILL)
    assert wait_until(lambda: not up.supervisor.identity.is_alive, 5)
    state_path(home).unlink()
    again = engine.ensure_up(home, WORKER)
    assert not up.server.identity.is_alive
    assert sum("start-dev" in words for words in processes_of(home)) == 1
    assert again.is_serving


def test_a_pid_that_now_is_somebody_elses_is_left_alone(home: Home) -> None:
    home.ensure()
    bystander = subprocess.Popen(["sleep", "60"])
    try:
        first = engine.ensure_up(home, WORKER)
        engine.down(home)
        stale = {"pid": bystander.pid, "start_mark": "1"}
        content = json.loads(state_path(home).read_text())
        for part in ("supervisor", "server", "worker"):
            content[part] |= stale
        state_path(home).write_text(json.dumps(content | {"is_serving": True, "boot_id": first.boot_id}))
        assert engine.status(home).supervisor.pid == 0
        assert engine.ensure_up(home, WORKER).ports == first.ports
        engine.down(home)
        assert bystander.poll() is None
    finally:
        bystander.kill()
        bystander.wait()


def test_a_port_that_another_program_took_is_exchanged_and_told(home: Home) -> None:
    home.ensure()
    with socket.create_server(("127.0.0.1", 0)) as other:
        taken = other.getsockname()[1]
        write_state(home, EngineState(ports=Ports(taken, 0, 0)))
        state = engine.ensure_up(home, WORKER)
        assert state.ports.grpc != taken
        assert f"port {taken} was taken" in state.notices[-1]


@pytest.mark.parametrize("content", [b"\0" * 600, b'{"ports": {"gr', b"[]", b'{"ports": 3}'])
def test_a_damaged_state_file_is_kept_aside_and_made_anew(home: Home, content: bytes) -> None:
    home.ensure()
    state_path(home).write_bytes(content)
    assert not engine.status(home).is_serving
    assert engine.ensure_up(home, WORKER).is_serving
    kept = [path.read_bytes() for path in home.engine.glob("engine.json.damaged-*")]
    assert kept == [content]
    assert "damaged" in read_state(home).notices[-1]


def test_a_state_file_damaged_under_a_running_engine_is_made_anew(home: Home, up: EngineState) -> None:
    state_path(home).write_bytes(b"\0" * 600)
    assert engine.ensure_up(home, WORKER).supervisor == up.supervisor
    assert read_state(home).server.pid == up.server.pid


@pytest.mark.parametrize("content", [b"\0" * 100_000, b"SQLite format 3\0" + b"\xff" * 9_000])
def test_a_damaged_database_is_one_line_and_nothing_goes_on_trying(home: Home, content: bytes) -> None:
    home.ensure()
    database_path(home).write_bytes(content)
    with pytest.raises(EngineUnreachable, match=r"temporal\.db is damaged") as caught:
        engine.ensure_up(home, WORKER)
    assert "\n" not in str(caught.value)
    assert caught.value.exit_code == ExitCode.ENGINE_UNREACHABLE
    assert processes_of(home) == []
    assert database_path(home).read_bytes() == content


def test_down_leaves_nothing_and_calls_its_hooks_around_the_end(home: Home, up: EngineState) -> None:
    seen: list[tuple[str, bool]] = []

    def hook(name: str) -> None:
        seen.append((name, up.server.identity.is_alive))

    ended = engine.down(home, [lambda _: hook("before")], [lambda _: hook("after")])
    assert seen == [("before", True), ("after", False)]
    assert {up.supervisor.pid, up.server.pid, up.worker.pid} <= {*ended}
    assert processes_of(home) == []
    assert engine.down(home) == ()
    assert read_state(home).ports == up.ports


def test_a_failing_hook_does_not_keep_the_engine_up(home: Home, up: EngineState) -> None:
    def fail(_: Home) -> None:
        raise UserError("no")

    with pytest.raises(UserError):
        engine.down(home, [fail])
    assert processes_of(home) == []


def test_a_hostile_folder_changes_nothing(home: Home, tmp_path: Path) -> None:
    hostile = tmp_path / "hostile"
    for package in ("workflows", "activities", "worker", "cli", "json"):
        (hostile / package).mkdir(parents=True)
        (hostile / package / "__init__.py").write_text(
            f"open({str(tmp_path / 'caught')!r}, 'w')\nraise SystemExit(3)\n"
        )
    (hostile / "temporal").write_text("#!/bin/sh\nexit 3\n")
    (hostile / "temporal").chmod(0o700)
    process = up_in_another_process(home, hostile)
    process.communicate(timeout=40)
    assert process.returncode == 0
    assert engine.wait_for_worker(home, 20)
    assert not (tmp_path / "caught").exists()
    assert Path((home.root / "seen" / "folder").read_text()) == home.root


def test_a_server_that_stopped_for_good_is_said_with_its_own_words(home: Home) -> None:
    home.ensure()
    database_path(home).mkdir()
    with pytest.raises(EngineUnreachable, match=r"server does not start: ended with exit code 1: .*server\.log"):
        engine.ensure_up(home, WORKER)
    assert processes_of(home) == []


def test_processes_of_another_home_are_left_alone(home: Home, up: EngineState, tmp_path: Path) -> None:
    other = Home(tmp_path / "other")
    engine.ensure_up(other, WORKER)
    end_engine(other)
    assert engine.status(home).is_serving
