"""A rehearsal model outlives who asked for it, and ends with the engine."""

import json
import urllib.request
from pathlib import Path

import pytest

from activities.stores.home import Home
from worker.rehearsals import end_rehearsals, start_rehearsal
from workflows.contracts.errors import UsageError


def answers(url: str) -> bool:
    try:
        with urllib.request.urlopen(f"{url}/healthz", timeout=10) as answer:
            return bool(answer.status == 200)
    except OSError:
        return False


def test_it_serves_until_it_is_ended(tmp_path: Path) -> None:
    home = Home(tmp_path / "home")
    scenario = tmp_path / "s.json"
    scenario.write_text(json.dumps({"fallback": "hi"}))
    try:
        url = start_rehearsal(home, scenario)
        assert answers(url)
    finally:
        end_rehearsals(home)
    assert not answers(url)
    assert list((home.engine / "rehearsals").iterdir()) == []


def test_a_mistake_in_the_file_is_told_and_leaves_nothing(tmp_path: Path) -> None:
    home = Home(tmp_path / "home")
    scenario = tmp_path / "s.json"
    scenario.write_text('{"replies": 3}')
    with pytest.raises(UsageError, match=r"s\.json"):
        start_rehearsal(home, scenario)
    assert list((home.engine / "rehearsals").iterdir()) == []
