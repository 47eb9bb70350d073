"""Change one cell of a notebook's JSON text: all other bytes of it stay as they are."""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from workflows.contracts.errors import ToolError

Json = dict[str, Any]  # Any: a notebook's JSON

_BLANK = re.compile(r"[ \t\r\n]*")
_NUMBERED = re.compile(r"(?:cell[ -]?)?(\d+)")
_decode = json.JSONDecoder().raw_decode


@dataclass(frozen=True)
class CellEdit:
    """What shall become of which cell."""

    mode: str
    """replace | insert | delete."""
    cell: str
    """Id, or number as Read shows it; empty with insert for the beginning."""
    source: str
    cell_type: str
    """Empty for the one it has."""
    new_id: str
    """Id of a cell that is inserted, where cells have ids."""


@dataclass(frozen=True)
class Edited:
    """A notebook after one edit."""

    text: str
    number: int
    """Number of the cell, from 1, as it was or now is."""
    cell_type: str
    old: str
    """Source of the cell before; empty for a new one."""
    new: str


@dataclass(frozen=True)
class _Style:
    """How a notebook's JSON is laid out."""

    indent: str
    """One level; empty for JSON in one line."""
    newline: str
    is_ascii: bool

    def written(self, value: object, depth: int) -> str:
        """A value as it stands at that depth."""
        if not self.indent:
            separators = (", ", ": ")
            return json.dumps(value, ensure_ascii=self.is_ascii, separators=separators)
        text = json.dumps(value, ensure_ascii=self.is_ascii, indent=self.indent)
        return text.replace("\n", self.newline + self.indent * depth)


def edited(text: str, wanted: CellEdit) -> Edited:
    """The notebook's text after the edit. Raises ToolError for what is no notebook, or no cell of it."""
    book, cells = _parsed(text)
    style = _style(text)
    number = _number(cells, wanted)
    made = _changed(cells, number, wanted, has_ids=_has_ids(book, cells))
    after = {**book, "cells": made.cells}
    written = _spliced(text, number, wanted.mode, made, style)
    if written is None or _loaded(written) != after:
        # Two fields of one name, or a layout that nobody writes: the same notebook, laid out afresh.
        written = style.written(after, 0) + ("\n" if text.endswith("\n") else "")
    return Edited(written, number + 1, str(made.cell.get("cell_type", "")), made.old, wanted.source)


@dataclass(frozen=True)
class _Made:
    cells: list[Json]
    cell: Json
    """The cell that was changed, added or taken away."""
    fields: Json
    """Of a replaced cell those that are other than before."""
    old: str


def _parsed(text: str) -> tuple[Json, list[Json]]:
    book = _loaded(text)
    cells = book.get("cells") if isinstance(book, dict) else None
    if not isinstance(book, dict) or not isinstance(cells, list) or not all(isinstance(cell, dict) for cell in cells):
        raise ToolError("The file is no notebook: it has no JSON with a list of cells. Nothing was changed.")
    return book, cells


def _loaded(text: str) -> object:
    try:
        value: object = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return value


def _has_ids(book: Json, cells: list[Json]) -> bool:
    version = (book.get("nbformat"), book.get("nbformat_minor"))
    if isinstance(version[0], int) and isinstance(version[1], int):
        return version >= (4, 5)
    return any("id" in cell for cell in cells)


def _number(cells: list[Json], wanted: CellEdit) -> int:
    """Place of the cell in the list; of an inserted one the place it gets."""
    if wanted.mode == "insert" and not wanted.cell:
        return 0
    found = next((place for place, cell in enumerate(cells) if cell.get("id") == wanted.cell), None)
    if found is None and (match := _NUMBERED.fullmatch(wanted.cell)) and 0 < int(match[1]) <= len(cells):
        found = int(match[1]) - 1
    if found is None:
        known = ", ".join(f"{place} (id {cell['id']})" if "id" in cell else f"{place}" for place, cell in
                          enumerate(cells[:20], 1))  # fmt: skip
        raise ToolError(
            f"There is no cell {wanted.cell!r}; there are {len(cells)} cells: {known or 'none'}"
            f"{' …' if len(cells) > 20 else ''}. Give an id or a number as Read shows them. Nothing was changed."
        )
    return found + (wanted.mode == "insert")


def _changed(cells: list[Json], number: int, wanted: CellEdit, *, has_ids: bool) -> _Made:
    if wanted.mode == "insert":
        cell = _new_cell(wanted, has_ids=has_ids)
        return _Made([*cells[:number], cell, *cells[number:]], cell, {}, "")
    before = cells[number]
    old = _joined(before.get("source"))
    if wanted.mode == "delete":
        return _Made([*cells[:number], *cells[number + 1 :]], before, {}, old)
    cell_type = wanted.cell_type or str(before.get("cell_type", ""))
    fields: Json = {"cell_type": cell_type, "source": _like(before.get("source"), wanted.source)}
    cell = {**before, **fields}
    if cell_type == "code":
        # What was computed from the old source is no output of the new one.
        cell |= {"execution_count": None, "outputs": []}
    else:
        cell = {name: value for name, value in cell.items() if name not in {"execution_count", "outputs"}}
    changed = {name: value for name, value in cell.items() if name not in before or before[name] != value}
    if set(cell) != set(before):
        changed = cell
    return _Made([*cells[:number], cell, *cells[number + 1 :]], cell, changed, old)


def _new_cell(wanted: CellEdit, *, has_ids: bool) -> Json:
    code: Json = {"execution_count": None} if wanted.cell_type == "code" else {}
    outputs: Json = {"outputs": []} if wanted.cell_type == "code" else {}
    name: Json = {"id": wanted.new_id} if has_ids else {}
    return {
        "cell_type": wanted.cell_type,
        **code,
        **name,
        "metadata": {},
        **outputs,
        "source": wanted.source.splitlines(keepends=True),
    }


def _joined(source: object) -> str:
    return "".join(map(str, source)) if isinstance(source, list) else str(source or "")


def _like(old: object, source: str) -> object:
    """A source in the form of the old one: one text, or a list of lines."""
    return source if isinstance(old, str) else source.splitlines(keepends=True)


def _style(text: str) -> _Style:
    first = re.match(r"\s*\{(\r?\n)([ \t]+)\"", text)
    is_ascii = text.isascii() and "\\u" in text
    return _Style(first[2], first[1], is_ascii) if first else _Style("", "\n", is_ascii)


def _spliced(text: str, number: int, mode: str, made: _Made, style: _Style) -> str | None:
    """The text with only the bytes of that cell changed; None where they cannot be told apart."""
    try:
        start, end = dict(_members(text, _behind(text, 0)))["cells"]
        spans = list(_items(text, start))
    except (KeyError, ValueError, IndexError):
        return None
    if mode == "replace":
        return _with_fields(text, spans[number], made, style)
    if mode == "insert":
        return _with_cell(text, (start, end), spans, number, style.written(made.cell, 2), style)
    return _without_cell(text, (start, end), spans, number)


def _with_fields(text: str, span: tuple[int, int], made: _Made, style: _Style) -> str | None:
    if made.fields == made.cell:
        return text[: span[0]] + style.written(made.cell, 2) + text[span[1] :]
    members = dict(_members(text, span[0]))
    places = sorted(((members[name], value) for name, value in made.fields.items()), reverse=True, key=lambda at: at[0])
    for (start, end), value in places:
        text = text[:start] + style.written(value, 3) + text[end:]
    return text


def _with_cell(
    text: str, whole: tuple[int, int], spans: list[tuple[int, int]], number: int, cell: str, style: _Style
) -> str:
    blank = style.newline + style.indent * 2 if style.indent else ""
    if not spans:
        close = style.newline + style.indent if style.indent else ""
        return f"{text[: whole[0]]}[{blank}{cell}{close}]{text[whole[1] :]}"
    if number == 0:
        first = spans[0][0]
        return f"{text[:first]}{cell},{blank or ' '}{text[first:]}"
    end = spans[number - 1][1]
    return f"{text[:end]},{blank or ' '}{cell}{text[end:]}"


def _without_cell(text: str, whole: tuple[int, int], spans: list[tuple[int, int]], number: int) -> str:
    if len(spans) == 1:
        return f"{text[: whole[0]]}[]{text[whole[1] :]}"
    if number == 0:
        return text[: spans[0][0]] + text[spans[1][0] :]
    return text[: spans[number - 1][1]] + text[spans[number][1] :]


def _members(text: str, start: int) -> Iterator[tuple[str, tuple[int, int]]]:
    """Each member of the object that begins there, with where its value stands."""
    place = _behind(text, start + 1)
    while text[place] != "}":
        name, place = _decode(text, place)
        place = _behind(text, _behind(text, place) + 1)
        _, end = _decode(text, place)
        yield str(name), (place, end)
        place = _behind(text, end)
        if text[place] == ",":
            place = _behind(text, place + 1)


def _items(text: str, start: int) -> Iterator[tuple[int, int]]:
    """Where each item of the list that begins there stands."""
    place = _behind(text, start + 1)
    while text[place] != "]":
        _, end = _decode(text, place)
        yield place, end
        place = _behind(text, end)
        if text[place] == ",":
            place = _behind(text, place + 1)


def _behind(text: str, place: int) -> int:
    """The place behind blanks."""
    found = _BLANK.match(text, place)
    return found.end() if found else place
