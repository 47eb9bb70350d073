"""NotebookEdit changes one cell and no other byte of a notebook."""

import json
from pathlib import Path
from typing import Any

import pytest

from activities.tools.notebook_edit import NotebookEdit
from activities.tools.read import Read
from activities.world import World
from tests.fakes.world import make_call, text_of, use
from workflows.contracts.errors import ToolError

CODE = {
    "cell_type": "code",
    "execution_count": 3,
    "id": "aa",
    "metadata": {"tags": ["x"]},
    "outputs": [{"output_type": "stream", "name": "stdout", "text": ["7\n"]}],
    "source": ["x = 7\n", "print(x)"],
}
WORDS = {"cell_type": "markdown", "id": "bb", "metadata": {}, "source": ["# Größe\n", "π"]}
LAST: dict[str, Any] = {
    "cell_type": "code",
    "execution_count": None,
    "id": "cc",
    "metadata": {},
    "outputs": [],
    "source": "y",
}
BOOK = {"cells": [CODE, WORDS, LAST], "metadata": {"a": 1.50}, "nbformat": 4, "nbformat_minor": 5}

LAYOUTS = {
    "as Jupyter writes it": json.dumps(BOOK, indent=1, ensure_ascii=False) + "\n",
    "in one line": json.dumps(BOOK),
    "with four blanks and CRLF": json.dumps(BOOK, indent=4, ensure_ascii=False).replace("\n", "\r\n"),
    "with escapes and tabs": json.dumps(BOOK, indent="\t") + "\n\n",
    "with odd blanks": '{ "nbformat":4 , "nbformat_minor" : 5,\n\n"cells" :[ ' + " ,\n".join(
        json.dumps(cell) for cell in (CODE, WORDS, LAST)) + ' ], "metadata": {"a": 1.50}}',
}  # fmt: skip


@pytest.fixture
def file(tmp_path: Path) -> Path:
    (tmp_path / "work").mkdir()
    return tmp_path / "work" / "a.ipynb"


async def edited(world: World, file: Path, source: str, **given: Any) -> Any:
    await use(make_call(world, file.parent), Read(), file_path=file.name)
    call = make_call(world, file.parent, "NotebookEdit", is_repeat=given.pop("is_repeat", False))
    return await use(call, NotebookEdit(), notebook_path=file.name, new_source=source, **given)


def cells(file: Path) -> list[Any]:
    return list(json.loads(file.read_bytes())["cells"])


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("name", ["aa", "1", "cell 1"])
async def test_a_replaced_cell_gets_its_source_and_loses_its_outputs(
    world: World, file: Path, layout: str, name: str
) -> None:
    file.write_bytes(LAYOUTS[layout].encode())
    await edited(world, file, "x = 8\nprint('ä')", cell_id=name)
    changed = {**CODE, "source": ["x = 8\n", "print('ä')"], "outputs": [], "execution_count": None}
    assert cells(file) == [changed, WORDS, LAST]


@pytest.mark.parametrize("layout", LAYOUTS)
async def test_every_byte_around_a_changed_cell_stays(world: World, file: Path, layout: str) -> None:
    before = LAYOUTS[layout].encode()
    file.write_bytes(before)
    await edited(world, file, "new", cell_id="bb")
    after = file.read_bytes()
    head, tail = before.index(b'"source"', before.index(b'"bb"')), before.index(b"}", before.index(b"#"))
    assert after.startswith(before[:head])
    assert after.endswith(before[tail:])
    assert cells(file)[1] == {**WORDS, "source": ["new"]}


@pytest.mark.parametrize("layout", LAYOUTS)
async def test_an_inserted_cell_that_is_deleted_again_leaves_the_bytes_as_they_were(
    world: World, file: Path, layout: str
) -> None:
    before = LAYOUTS[layout].encode()
    file.write_bytes(before)
    await edited(world, file, "a\nb", cell_id="bb", cell_type="code", edit_mode="insert")
    new = cells(file)[2]
    assert (new["cell_type"], new["source"], new["outputs"]) == ("code", ["a\n", "b"], [])
    assert [cells(file)[place] for place in (0, 1, 3)] == [CODE, WORDS, LAST]
    assert new["id"]
    await edited(world, file, "", cell_id=new["id"], edit_mode="delete")
    assert file.read_bytes() == before


@pytest.mark.parametrize(("name", "left"), [("aa", [WORDS, LAST]), ("cc", [CODE, WORDS])])
async def test_a_deleted_cell_is_gone_and_the_others_stay(
    world: World, file: Path, name: str, left: list[object]
) -> None:
    file.write_text(json.dumps(BOOK, indent=1))
    await edited(world, file, "", cell_id=name, edit_mode="delete")
    assert cells(file) == left


async def test_the_first_cell_of_an_empty_notebook_is_inserted(world: World, file: Path) -> None:
    file.write_text('{\n "cells": [],\n "metadata": {},\n "nbformat": 4,\n "nbformat_minor": 4\n}\n')
    await edited(world, file, "hi", cell_type="markdown", edit_mode="insert")
    assert cells(file) == [{"cell_type": "markdown", "metadata": {}, "source": ["hi"]}]
    assert file.read_text().startswith('{\n "cells": [\n  {\n   "cell_type": "markdown",\n')


async def test_a_cell_that_becomes_text_has_no_outputs_any_more(world: World, file: Path) -> None:
    file.write_text(json.dumps(BOOK, indent=1))
    await edited(world, file, "words", cell_id="aa", cell_type="markdown")
    assert cells(file)[0] == {"cell_type": "markdown", "id": "aa", "metadata": {"tags": ["x"]}, "source": ["words"]}


@pytest.mark.parametrize(
    ("given", "why"),
    [
        ({"cell_id": "zz"}, "There is no cell 'zz'; there are 3 cells: 1 \\(id aa\\)"),
        ({"cell_id": "4"}, "There is no cell '4'"),
        ({}, "replace needs a cell_id"),
        ({"edit_mode": "insert"}, "needs a cell_type"),
    ],
)
async def test_what_names_no_cell_is_told_and_changes_nothing(
    world: World, file: Path, given: dict[str, str], why: str
) -> None:
    file.write_text(json.dumps(BOOK))
    with pytest.raises(ToolError, match=why):
        await edited(world, file, "x", **given)
    assert json.loads(file.read_text()) == BOOK


async def test_what_is_no_notebook_is_told(world: World, file: Path) -> None:
    file.write_text('{"cells": 3}')
    with pytest.raises(ToolError, match="no notebook"):
        await edited(world, file, "x", cell_id="1")


async def test_a_notebook_that_was_not_read_is_refused(world: World, file: Path) -> None:
    file.write_text(json.dumps(BOOK))
    call = make_call(world, file.parent, "NotebookEdit")
    with pytest.raises(ToolError, match="has not been read"):
        await use(call, NotebookEdit(), notebook_path="a.ipynb", new_source="x", cell_id="aa")


async def test_a_repeat_after_the_effect_inserts_no_second_cell(world: World, file: Path) -> None:
    file.write_text(json.dumps(BOOK))
    first = await edited(world, file, "x", cell_type="raw", edit_mode="insert")
    second = await edited(world, file, "x", cell_type="raw", edit_mode="insert", is_repeat=True)
    assert len(cells(file)) == 4
    assert second == first
    assert "Inserted cell 1 (raw)" in text_of(first)
