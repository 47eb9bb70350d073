"""perdure up, status and down say what is, and end with the documented codes."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
import typer
from typer.testing import CliRunner, Result

from activities.stores.home import Home
from cli.commands import engine as commands
from tests.fakes.sleeping_worker import WORKER, end_engine
from worker import engine
from workflows.contracts.errors import ExitCode

pytestmark = pytest.mark.journey

APP = typer.Typer()
for command in (commands.up, commands.down, commands.status):
    APP.command()(command)


@pytest.fixture(autouse=True)
def home(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Home]:
    for name in ("TEMPORAL_ADDRESS", "TEMPORAL_PROFILE", "TEMPORAL_CONFIG_FILE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.setenv("PERDURE_HOME", str(tmp_path / "[home]"))
    home = Home(tmp_path / "[home]")
    yield home
    end_engine(home)


def run(*words: str) -> Result:
    return CliRunner(env={"COLUMNS": "300"}).invoke(APP, words)


def test_an_engine_that_is_down_is_exit_code_5() -> None:
    shown = run("status")
    assert shown.exit_code == ExitCode.ENGINE_UNREACHABLE
    assert "`perdure up` starts it" in shown.stdout
    assert run("status", "--json").exit_code == ExitCode.ENGINE_UNREACHABLE
    assert run("down").stdout == "The engine was not up.\n"


def test_up_again_says_so_and_status_shows_where_everything_is(home: Home) -> None:
    state = engine.ensure_up(home, WORKER)
    assert engine.wait_for_worker(home, 20)
    again = run("up")
    assert (again.exit_code, again.stdout.splitlines()[0]) == (0, "The engine was already up.")
    shown = run("status")
    assert shown.exit_code == 0
    for word in (state.address, state.ui_url, str(home.root), str(home.logs), "polling", "serving"):
        assert word in shown.stdout
    told = json.loads(run("status", "--json").stdout)
    assert (told["is_serving"], told["address"], told["server"]["pid"]) == (True, state.address, state.server.pid)
    assert run("down").stdout == "The engine is down.\n"
    assert run("status").exit_code == ExitCode.ENGINE_UNREACHABLE


def test_a_named_server_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TEMPORAL_ADDRESS", "other.example:7233")
    assert "Sessions go to other.example:7233 instead, named by TEMPORAL_ADDRESS." in run("status").stdout
