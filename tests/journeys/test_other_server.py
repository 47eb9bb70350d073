"""A Temporal server that somebody else runs, as it comes: TEMPORAL_ADDRESS, `perdure worker`, another store."""

import json
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from tests.fakes.command_line import Cli, bash
from tests.fakes.stranger import home_for
from tests.fakes.waiting import eventually
from worker.health import read_health

pytestmark = [pytest.mark.journey, pytest.mark.timeout(180)]


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A dev server without our search attributes and without settings of ours."""
    port, http = _free(), _free()
    command = [
        str(Path(sys.executable).parent / "temporal"),
        "server",
        "start-dev",
        "--headless",
        "--log-level",
        "error",
    ]
    folder = tmp_path_factory.mktemp("server")
    server = subprocess.Popen(
        [*command, "--port", str(port), "--http-port", str(http)], cwd=folder, stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL, stdin=subprocess.DEVNULL,
    )  # fmt: skip
    try:
        yield f"127.0.0.1:{port}"
    finally:
        server.terminate()
        server.wait(30)


@pytest.fixture
def cli(address: str, tmp_path: Path) -> Iterator[Cli]:
    with home_for(is_up=False) as home:
        yield Cli(home, tmp_path, {"TEMPORAL_ADDRESS": address})


@pytest.fixture
def worker(cli: Cli) -> Iterator["subprocess.Popen[str]"]:
    process = cli.start("worker")
    eventually(lambda: read_health(cli.home).is_polling, 60, "the worker polls")
    yield process
    process.send_signal(signal.SIGTERM)
    process.communicate(timeout=30)


def test_a_whole_session_runs_there(cli: Cli, worker: "subprocess.Popen[str]") -> None:
    model = cli.scenario(replies=[bash("echo there > made"), "Done.", "More."])
    ended = cli("run", "--model", model, "--allowed-tools", "Bash", "--session-id", "there", "-p", "go")
    assert (ended.returncode, ended.stdout) == (0, "Done.\n"), ended.stderr
    assert (cli.folder / "made").exists()
    assert cli("send", "there", "-p", "more").stdout == "More.\n"
    assert [one["id"] for one in cli.json("ls", "--json")] == ["there"]
    assert cli("audit", "there", "--verify").returncode == 0
    assert cli("close", "there").returncode == 0
    assert cli.json("show", "there", "--json")["state"] == "closed"
    assert "answers" in cli("doctor").stdout
    _ended(worker)


def test_a_session_with_another_store_fails_with_what_to_set(cli: Cli, worker: "subprocess.Popen[str]") -> None:
    other = replace(cli, more={**cli.more, "PERDURE_STORE": str(cli.folder / "other")})
    ended = other("run", "--model", cli.scenario(replies=["x"]), "--output-format", "json", "go")
    told = json.loads(ended.stdout)
    assert (ended.returncode, told["exit_code"]) == (1, 1)
    assert "PERDURE_STORE" in told["error"]


def test_a_worker_with_another_store_than_the_open_sessions_refuses_to_poll(
    cli: Cli, worker: "subprocess.Popen[str]"
) -> None:
    assert cli("run", "--model", cli.scenario(replies=["Done."]), "--session-id", "open", "-p", "go").returncode == 0
    _ended(worker)
    other = replace(cli, more={**cli.more, "PERDURE_STORE": str(cli.folder / "other")})
    ended = other("worker")
    assert (ended.returncode, ended.stderr.count("\n")) == (1, 1), ended.stderr
    assert "PERDURE_STORE" in ended.stderr
    with_worker = cli.start("worker")
    eventually(lambda: read_health(cli.home).is_polling, 60, "the right worker polls")
    assert cli("close", "open").returncode == 0
    _ended(with_worker)


def _ended(worker: "subprocess.Popen[str]") -> None:
    """Ctrl-C ends a worker in the foreground, in good order."""
    worker.send_signal(signal.SIGINT)
    _, told = worker.communicate(timeout=30)
    assert worker.returncode == 0, told
    assert "Traceback" not in told


def _free() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
