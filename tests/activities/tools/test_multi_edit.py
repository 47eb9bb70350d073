"""MultiEdit makes all of its edits or none, by Edit's rules, and once."""

from pathlib import Path
from typing import Any

import pytest

from activities.stores.digests import digest_of
from activities.stores.vault import Vault
from activities.tools.multi_edit import MultiEdit
from activities.tools.read import Read
from activities.world import World
from tests.fakes.world import make_call, text_of, use
from workflows.contracts.errors import ToolError


@pytest.fixture
def file(tmp_path: Path) -> Path:
    (tmp_path / "work").mkdir()
    return tmp_path / "work" / "f"


def edit(old: str, new: str, **more: object) -> dict[str, object]:
    return {"old_string": old, "new_string": new, **more}


async def edited(world: World, file: Path, *edits: dict[str, object], **call: Any) -> Any:
    if file.exists():
        await use(make_call(world, file.parent), Read(), file_path="f")
    return await use(make_call(world, file.parent, "MultiEdit", **call), MultiEdit(), file_path="f", edits=edits)


async def test_each_edit_is_made_in_what_the_one_before_it_left(world: World, file: Path) -> None:
    file.write_bytes(b"one\r\ntwo\r\nthree\r\n")
    outcome = await edited(world, file, edit("two", "2\n2b"), edit("2b", "3"), edit("e", "E", replace_all=True))
    assert file.read_bytes() == b"onE\r\n2\r\n3\r\nthrEE\r\n"
    assert "3 of 3 edits made" in text_of(outcome)
    (effect,) = outcome.effects
    assert effect.before == digest_of(b"one\r\ntwo\r\nthree\r\n")
    assert Vault(world.home).unlock(await world.store.get(effect.before_object)) == b"one\r\ntwo\r\nthree\r\n"


@pytest.mark.parametrize(
    ("bad", "why"),
    [
        (edit("nowhere to be found", "x"), "Edit 2 of 2: old_string is not in"),
        (edit("o", "x"), "Edit 2 of 2: old_string stands at"),
        (edit("same", "same"), "Edit 2 of 2: old_string and new_string are the same"),
        (edit("", "x"), "Edit 2 of 2: old_string is empty"),
    ],
)
async def test_one_edit_that_does_not_fit_leaves_the_file_as_it_was(
    world: World, file: Path, bad: dict[str, object], why: str
) -> None:
    file.write_text("one\ntwo\nfoo\n")
    with pytest.raises(ToolError, match=why):
        await edited(world, file, edit("one", "1"), bad)
    assert file.read_text() == "one\ntwo\nfoo\n"


async def test_a_file_that_was_not_read_or_has_changed_since_is_refused(world: World, file: Path) -> None:
    file.write_text("one\n")
    call = make_call(world, file.parent, "MultiEdit")
    with pytest.raises(ToolError, match="has not been read"):
        await use(call, MultiEdit(), file_path="f", edits=[edit("one", "1")])
    await use(make_call(world, file.parent), Read(), file_path="f")
    file.write_text("one more\n")
    with pytest.raises(ToolError, match="has changed since"):
        await use(call, MultiEdit(), file_path="f", edits=[edit("one", "1")])


async def test_a_missing_file_is_created_by_a_first_edit_without_old_text(world: World, file: Path) -> None:
    outcome = await edited(world, file, edit("", "a\nb\n"), edit("b", "c"))
    assert file.read_text() == "a\nc\n"
    assert outcome.effects[0].kind == "create"


async def test_edits_that_are_there_already_are_told_and_nothing_is_written(world: World, file: Path) -> None:
    file.write_text("new text\nsecond text\n")
    outcome = await edited(world, file, edit("old", "new text"), edit("first text", "second text"))
    assert outcome.data["already_applied"] is True
    assert "[edit 1: already applied, new_string stands at line 1]" in text_of(outcome)
    assert outcome.effects == ()


async def test_a_repeat_after_the_effect_tells_what_was_done_and_does_not_do_it_again(world: World, file: Path) -> None:
    file.write_text("a\n")
    first = await edited(world, file, edit("a", "aa"), edit("aa", "aaa"))
    second = await edited(world, file, edit("a", "aa"), edit("aa", "aaa"), is_repeat=True)
    assert file.read_text() == "aaa\n"
    assert second == first
