"""MultiEdit: replace several exact pieces of text in one file, all of them or none."""

from pathlib import Path

from pydantic import Field, JsonValue

from activities.safety.changes import DIFF_CHARACTERS, Change, check_seen, link_note
from activities.safety.changing import ChangesFile
from activities.safety.replacements import Made, Wanted, check_differs, replaced
from activities.safety.secrets import put_back
from activities.stores.regular_files import read_version, shown, unusable
from activities.stores.text_files import UTF8, decode, encode
from activities.tool import Call, ToolInput
from workflows.contracts.errors import ToolError
from workflows.contracts.messages import Text
from workflows.contracts.tools import ToolOutcome

MOST_EDITS = 200


class One(ToolInput):
    old_string: str = Field(description="The text to replace, exactly as it is after the edits before this one.")
    new_string: str = Field(description="The text to put in its place; it must differ.")
    replace_all: bool = Field(default=False, description="Replace every place where old_string stands.")


class Input(ToolInput):
    file_path: str = Field(description="File to change: absolute, or relative to the workspace.")
    edits: tuple[One, ...] = Field(
        min_length=1,
        max_length=MOST_EDITS,
        description="The edits, made one after the other, each in what the last gave.",
    )


class MultiEdit(ChangesFile[Input]):
    """Replace several exact pieces of text in one file: all of them, or none.

    - The rules of Edit hold for each: the file must have been read and be unchanged since, `old_string` must stand
      there exactly once or `replace_all` be set, line endings and encoding are kept.
    - The edits are made in the given order, each in the text that the ones before it left.
    - If one of them does not fit, nothing is changed, and which one it was is told.
    - An edit whose `new_string` stands there already, and whose `old_string` is gone, counts as applied.
    - With an empty `old_string`, first in the list, a file that is missing or empty is filled.
    """

    name = "MultiEdit"
    input = Input
    by_default = False

    def summary(self, given: Input) -> str:
        return f"{shown(given.file_path)} ({len(given.edits)} edits)"

    def file(self, given: Input) -> str:
        return given.file_path

    def plan(self, call: Call, path: Path, given: Input) -> Change | ToolOutcome:
        before = read_version(path)
        given = put_back(call, path, before, given)
        wanted = [_named(number, one, len(given.edits)) for number, one in enumerate(given.edits, 1)]
        for one in wanted:
            check_differs(one)
        if before is not None:
            check_seen(call, path, before)
        elif wanted[0].old:
            missing = unusable(path, FileNotFoundError())
            raise ToolError(f"{missing} To create it, give a first edit with an empty old_string, or use Write.")
        old, coding = decode(before.data) if before else ("", UTF8)
        raw, made = _all(path, old, wanted)
        told = _told(path, made)
        if raw == old and before is not None:
            return ToolOutcome(content=(Text(text=told),), data={"already_applied": True})
        facts: dict[str, JsonValue] = {"diff": _diff(made), "edits": len(made)}
        return Change(path, before, encode(raw, coding), f"{told}{link_note(before)}", facts)


def _named(number: int, one: One, count: int) -> Wanted:
    name = f"Edit {number} of {count}: "
    return Wanted(one.old_string, one.new_string, one.replace_all, name)


def _all(path: Path, raw: str, wanted: list[Wanted]) -> tuple[str, list[Made]]:
    made: list[Made] = []
    for place, one in enumerate(wanted):
        if one.old:
            made.append(replaced(path, raw, one))
        elif place or raw:
            raise ToolError(
                f"{one.name}old_string is empty, which only the first edit of a missing or empty file may be. "
                "Nothing was changed."
            )
        else:
            made.append(Made(one.new, 1, 1, diff=f"(filled with {len(one.new):,} characters)"))
        raw = made[-1].raw
    return raw, made


def _told(path: Path, made: list[Made]) -> str:
    lines = [f"Changed {shown(path)}: {sum(not each.is_applied for each in made)} of {len(made)} edits made."]
    for number, each in enumerate(made, 1):
        if each.is_applied:
            lines.append(f"[edit {number}: already applied, new_string stands at line {each.line}]")
        else:
            times = f", {each.places} places" if each.places > 1 else ""
            lines += [f"[edit {number}, line {each.line}{times}]", *([each.shown] if each.shown else [])]
    return "\n".join(lines)


def _diff(made: list[Made]) -> str:
    whole = "".join(each.diff for each in made)
    return whole if len(whole) <= DIFF_CHARACTERS else f"{whole[:DIFF_CHARACTERS]}\n[cut]"
