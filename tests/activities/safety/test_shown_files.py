"""What a command printed of one file counts as read, and nothing else does."""

import os
from pathlib import Path

import pytest

from activities.safety.shown_files import shown_file
from tests.activities.tool_calls.stage import Stage, text, use
from workflows.contracts.tools import CallStatus


@pytest.mark.parametrize(
    ("command", "file"),
    [
        ("cat f", "f"),
        ("cat -n 'a b'", "a b"),
        ("head -n 5 f", "f"),
        ("tail -c 10 sub/f", "sub/f"),
        ("sed -n '1,5p' f", "f"),
        ("grep -n -A 3 word f", "f"),
        ("cat f g", ""),
        ("cat f | wc -l", ""),
        ("cat f > g", ""),
        ("cat < f", ""),
        ("cat $f", ""),
        ("cat *", ""),
        ("cd sub && cat f", ""),
        ("sed 's/a/b/' f", ""),
        ("sed -n -i p f", ""),
        ("grep -r word", ""),
        ("./cat f", ""),
        ("wc f", ""),
        ("(cat f)", ""),
        ("cat f &", ""),
        ("cat ${", ""),
    ],
)
def test_the_one_file_that_a_command_shows(command: str, file: str) -> None:
    assert shown_file(command) == file


async def edited(stage: Stage, command: str) -> CallStatus:
    """How an edit ends after that command."""
    _, shown = await stage.run(use("Bash", command=command))
    _, body = await stage.run(use("Edit", file_path="f", old_string="one", new_string="two"), exchange=2)
    assert "has not been read" in text(body) or body.status == CallStatus.OK, text(shown)
    return body.status


@pytest.fixture
def stage(tmp_path: Path) -> Stage:
    made = Stage(tmp_path)
    (made.workspace / "f").write_text("one\n")
    os.utime(made.workspace / "f", (1e9, 1e9))
    return made


async def test_a_file_that_a_command_showed_may_be_edited(stage: Stage) -> None:
    assert await edited(stage, "cat f") == CallStatus.OK


async def test_a_search_that_found_nothing_showed_nothing(stage: Stage) -> None:
    assert await edited(stage, "grep other f") == CallStatus.ERROR


async def test_a_file_that_changed_since_the_command_began_was_not_shown(stage: Stage) -> None:
    later = 2**32
    os.utime(stage.workspace / "f", (later, later))
    assert await edited(stage, "cat f") == CallStatus.ERROR
