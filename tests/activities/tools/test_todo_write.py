"""TodoWrite hands the whole list on."""

from pathlib import Path

import pytest
from pydantic import ValidationError

from activities.tools.todo_write import TodoWrite
from tests.fakes.world import make_call, make_world, text_of, use


def todo(content: str, status: str) -> dict[str, str]:
    return {"content": content, "status": status, "activeForm": content}


async def test_the_list_is_confirmed_and_handed_on(tmp_path: Path) -> None:
    todos = [todo("a", "completed"), todo("b", "in_progress"), todo("c", "pending")]
    told = await use(make_call(make_world(tmp_path), tmp_path), TodoWrite(), todos=todos)
    assert text_of(told) == "The list has 3 to-dos now: 1 pending, 1 in_progress, 1 completed."
    assert told.data["todos"] == todos


async def test_two_in_progress_are_taken_with_a_warning(tmp_path: Path) -> None:
    todos = [todo("a", "in_progress"), todo("b", "in_progress")]
    told = await use(make_call(make_world(tmp_path), tmp_path), TodoWrite(), todos=todos)
    assert "More than one" in text_of(told)


async def test_an_unknown_status_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ValidationError):
        await use(make_call(make_world(tmp_path), tmp_path), TodoWrite(), todos=[todo("a", "done")])


def test_the_model_is_told_the_fields_by_their_names() -> None:
    schema = TodoWrite().spec().input_schema
    assert "activeForm" in str(schema)
    assert "in_progress" in str(schema)
