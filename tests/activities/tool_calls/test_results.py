"""A large result is shown in part; the whole is an object."""

import pytest

from activities.stores.objects import MemoryStore
from activities.tool_calls.results import cleaned, trim
from tests.fakes.world import text_of
from workflows.contracts.messages import Image, Text
from workflows.contracts.tools import Effect, ToolOutcome
from workflows.contracts.transcript import canonical

PICTURE = Image(media_type="image/png", digest="d" * 64, size=1)


async def test_a_result_within_its_limit_stays_as_it_is() -> None:
    outcome = ToolOutcome(content=(Text(text="x" * 1_900),))
    assert await trim(outcome, 1_000, MemoryStore()) == outcome


@pytest.mark.parametrize("letter", ["x", "ü", "😀"])
async def test_a_large_result_keeps_its_beginning_and_end_and_names_the_whole(letter: str) -> None:
    store = MemoryStore()
    whole = f"first\n{letter * 9_000}\nlast"
    told = await trim(ToolOutcome(content=(PICTURE, Text(text=whole))), 1_000, store)
    assert text_of(told).startswith("first\n")
    assert text_of(told).endswith("\nlast")
    assert f"[8,011 of 9,011 characters left out; all of it: Read result:{told.full}]" in text_of(told)
    assert (await store.get(told.full)).decode() == whole
    assert told.size == len(whole.encode())
    assert told.content[1:] == (PICTURE,)


async def test_a_whole_that_is_stored_already_is_not_stored_again() -> None:
    outcome = ToolOutcome(content=(Text(text="x" * 9_000),), full="f" * 64, size=10**7)
    told = await trim(outcome, 1_000, MemoryStore())
    assert (told.full, told.size) == ("f" * 64, 10**7)


def test_what_no_store_takes_is_replaced_everywhere() -> None:
    odd = "a\ud83d\0"
    outcome = ToolOutcome(
        content=(Text(text=odd), PICTURE), effects=(Effect(kind="read", path=odd),), cwd=odd, data={odd: [odd, 1]}
    )
    told = cleaned(outcome)
    assert canonical(told.model_dump(mode="json"))
    assert told.content == (Text(text="a\ufffd\u2400"), PICTURE)
    assert told.data == {"a\ufffd\u2400": ["a\ufffd\u2400", 1]}
