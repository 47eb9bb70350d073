"""Joining late, without a feed, and through another endpoint of the model."""

import json
from pathlib import Path

import pytest

from tests.fakes.command_line import Cli, bash
from worker.rehearsals import start_rehearsal

pytestmark = [pytest.mark.journey, pytest.mark.timeout(180)]


def test_a_watcher_who_comes_late_sees_what_a_live_one_saw(cli: Cli) -> None:
    model = cli.scenario(replies=[bash("sleep 2; echo out"), "At last."])
    cli.detached(model, "--session-id", "late", "--allowed-tools", "Bash", "--once", "go")
    live = cli.start("watch", "late")
    seen, told = live.communicate(timeout=60)
    assert live.returncode == 0, told
    again = cli("watch", "late")
    assert _counting(again.stdout) == _counting(seen)
    assert "At last." in seen


def test_a_session_whose_feed_is_lost_is_rebuilt_from_its_transcript(cli: Cli) -> None:
    cli.detached(cli.scenario(replies=["Kept in the chain."]), "--session-id", "lost", "--once", "go")
    cli.await_state("lost", "closed")
    for feed in cli.home.events.glob("lost.*"):
        feed.unlink()
    ended = cli("watch", "lost")
    assert ended.returncode == 0, ended.stderr
    assert "Kept in the chain." in ended.stdout
    assert "lost or out of reach" in ended.stdout


def test_a_model_of_another_endpoint_is_reached_by_a_worker_that_runs_already(cli: Cli, tmp_path: Path) -> None:
    scenario = tmp_path / "other.json"
    scenario.write_text(json.dumps({"fallback": "From elsewhere."}))
    other = Cli(cli.home, cli.folder, {"ANTHROPIC_BASE_URL": start_rehearsal(cli.home, scenario)})
    ended = other("run", "--once", "--session-id", "other", "-p", "hi")
    assert (ended.returncode, ended.stdout) == (0, "From elsewhere.\n"), ended.stderr
    assert cli.json("show", "other", "--json")["state"] == "closed"


def _counting(text: str) -> list[str]:
    """The lines that say what was said and done, without how long it took."""
    return [line.split(" - ")[0] for line in text.splitlines() if line.startswith((">", "*", "=", "At"))]
