"""What perdure writes into a workspace on a person's word stays there, whatever runs in it meanwhile."""

import json
from functools import partial
from pathlib import Path

import pytest

from activities.safety.sandbox.git_guard import Inventory, settle, take_inventory
from activities.settings.editing import append_items
from activities.stores.home import Home
from activities.stores.written import is_written


@pytest.fixture
def work(tmp_path: Path) -> Path:
    folder = tmp_path.resolve() / "work"
    folder.mkdir()
    return folder


def before(work: Path) -> Inventory:
    """As it comes back from the disk after a crash."""
    found: Inventory = json.loads(json.dumps(take_inventory(work)))
    return found


LOCAL = ".perdure/settings.local.json"


def after_a_word(work: Path, was: Inventory, home: Home) -> list[str]:
    moved = settle(work, was, work.parent / "quarantine", partial(is_written, home))
    return [str(Path(each.path).relative_to(work)) for each in moved]


def allow(work: Path, home: Home, rule: str) -> None:
    append_items(work / LOCAL, "permissions.allow", [rule], work, home)


@pytest.mark.parametrize("held", ["", '{"permissions": {"allow": ["Edit"]}}\n'])
def test_what_a_persons_word_writes_while_a_command_runs_stays(work: Path, held: str) -> None:
    home = Home(work.parent / "home")
    if held:
        (work / ".perdure").mkdir()
        (work / LOCAL).write_text(held)
    was = before(work)
    allow(work, home, "Bash(make)")
    assert after_a_word(work, was, home) == []
    allow(work, home, "Bash(ls)")
    allow(work, home, "Bash(make)")
    assert after_a_word(work, was, home) == []
    assert "Bash(ls)" in (work / LOCAL).read_text()


def test_what_a_command_writes_beside_it_or_into_it_is_moved(work: Path) -> None:
    home, was = Home(work.parent / "home"), before(work)
    allow(work, home, "Bash(make)")
    (work / ".perdure/settings.json").write_text("{}")
    assert after_a_word(work, was, home) == [".perdure/settings.json"]
    (work / LOCAL).write_text('{"permissions": {"allow": ["Bash"]}}')
    allow(work, home, "Bash(ls)")
    assert after_a_word(work, was, home) == [LOCAL]
    assert not (work / LOCAL).exists()


def test_an_older_writing_of_a_person_that_a_command_brings_back_is_moved(work: Path) -> None:
    home = Home(work.parent / "home")
    allow(work, home, "Bash(make)")
    older = (work / LOCAL).read_bytes()
    allow(work, home, "Bash(ls)")
    was = before(work)
    (work / LOCAL).write_bytes(older)
    assert after_a_word(work, was, home) == [LOCAL]
