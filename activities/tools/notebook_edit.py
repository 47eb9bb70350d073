"""NotebookEdit: change, add or take away one cell of a notebook."""

from pathlib import Path
from typing import Literal

from pydantic import Field, JsonValue

from activities.safety.changes import Change, check_seen, link_note, short_diff
from activities.safety.changing import ChangesFile
from activities.safety.secrets import put_back
from activities.stores.notebook_edits import CellEdit, Edited, edited
from activities.stores.notebooks import NOTEBOOK_BYTES
from activities.stores.regular_files import Version, read_version, shown, unusable
from activities.stores.text_files import decode, encode
from activities.tool import Call, ToolInput
from workflows.contracts.errors import ToolError

_DONE = {"replace": "Changed", "insert": "Inserted", "delete": "Deleted"}


class Input(ToolInput):
    notebook_path: str = Field(description="The .ipynb file: absolute, or relative to the workspace.")
    new_source: str = Field(description="The cell's whole new source; empty with delete.")
    cell_id: str = Field(
        default="",
        description="Id or number of the cell, as Read shows it. With insert, the cell behind which the new one comes; "
        "without one it comes first.",
    )
    cell_type: Literal["", "code", "markdown", "raw"] = Field(
        default="", description="Type of the cell; needed with insert, else the one it has is kept."
    )
    edit_mode: Literal["replace", "insert", "delete"] = Field(default="replace")


class NotebookEdit(ChangesFile[Input]):
    """Change one cell of a Jupyter notebook (.ipynb).

    - The notebook must have been read in this session and be unchanged since.
    - `replace` puts `new_source` in place of the cell's whole source; a code cell's outputs are cleared.
    - `insert` adds a cell behind the one that `cell_id` names, `delete` takes that one away.
    - All else in the file, its layout included, stays as it is.
    """

    name = "NotebookEdit"
    input = Input

    def summary(self, given: Input) -> str:
        return f"{shown(given.notebook_path)} ({given.edit_mode} cell {given.cell_id or 'at the beginning'})"

    def file(self, given: Input) -> str:
        return given.notebook_path

    def plan(self, call: Call, path: Path, given: Input) -> Change:
        _check(path, given)
        before = read_version(path)
        if before is None:
            raise ToolError(f"{unusable(path, FileNotFoundError())} To create a notebook, use Write.")
        check_seen(call, path, before)
        if len(before.data) > NOTEBOOK_BYTES:
            raise ToolError(f"{shown(path)} has more than {NOTEBOOK_BYTES:,} bytes. Change it with a program.")
        given = put_back(call, path, before, given)
        text, coding = decode(before.data)
        wanted = CellEdit(given.edit_mode, given.cell_id, given.new_source, given.cell_type, call.key[:8])
        made = edited(text, wanted)
        return Change(path, before, encode(made.text, coding), _told(path, given, made, before), _facts(made))


def _check(path: Path, given: Input) -> None:
    if path.suffix.lower() != ".ipynb":
        raise ToolError(f"{shown(path)} is no notebook (.ipynb). Use Edit.")
    if given.edit_mode == "insert" and not given.cell_type:
        raise ToolError("A new cell needs a cell_type: code, markdown or raw. Nothing was changed.")
    if given.edit_mode != "insert" and not given.cell_id:
        raise ToolError(f"{given.edit_mode} needs a cell_id, an id or a number as Read shows it. Nothing was changed.")


def _told(path: Path, given: Input, made: Edited, before: Version) -> str:
    place = f"cell {made.number} ({made.cell_type})"
    return f"{_DONE[given.edit_mode]} {place} of {shown(path)}.{link_note(before)}"


def _facts(made: Edited) -> dict[str, JsonValue]:
    return {"diff": short_diff(made.old, made.new), "cell": made.number, "cell_type": made.cell_type}
