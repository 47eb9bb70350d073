"""Edit: replace an exact piece of text in a file."""

from pathlib import Path

from pydantic import Field, JsonValue

from activities.safety.changes import Change, check_seen, link_note, short_diff
from activities.safety.changing import ChangesFile
from activities.safety.replacements import Wanted, check_differs, replaced
from activities.safety.secrets import put_back
from activities.stores.regular_files import Version, read_version, shown, unusable
from activities.stores.text_files import UTF8, decode, encode, unified
from activities.tool import Call, ToolInput
from workflows.contracts.errors import ToolError
from workflows.contracts.messages import Text
from workflows.contracts.tools import ToolOutcome


class Input(ToolInput):
    file_path: str = Field(description="File to change: absolute, or relative to the workspace.")
    old_string: str = Field(description="The text to replace, exactly as it is in the file, without line numbers.")
    new_string: str = Field(description="The text to put in its place; it must differ.")
    replace_all: bool = Field(default=False, description="Replace every place where old_string stands.")


class Edit(ChangesFile[Input]):
    """Replace an exact piece of text in a file.

    - The file must have been read in this session and be unchanged since; otherwise the call is refused.
    - `old_string` must be in the file exactly once, blanks and indentation included; add lines around it until it is
      unique, or set `replace_all`. If it is not there, the nearest region is shown with its line numbers.
    - Line endings need no care: a newline in `old_string` matches LF, CRLF and CR. Lines that stay keep their endings,
      new ones get those of their neighbours. Encoding, byte order mark, final newline and mode bits are kept.
    - If `old_string` is gone and `new_string` stands there, the edit counts as already applied; nothing is changed.
    - A mark such as `[secret:github:1a2b]` in what you read hides a secret of the file. Written in a change to that
      same file it stands for the secret, which stays as it is.
    - With an empty `old_string` a file that is missing or empty is filled with `new_string`.
    - Only the lines around the change are shown afterwards. Files of up to 256 MiB can be edited.
    """

    name = "Edit"
    input = Input

    def summary(self, given: Input) -> str:
        many = ", every place" if given.replace_all else ""
        lines = unified(given.old_string).count("\n") + 1, unified(given.new_string).count("\n") + 1
        return f"{shown(given.file_path)} ({lines[0]} → {lines[1]} lines{many})"

    def file(self, given: Input) -> str:
        return given.file_path

    def plan(self, call: Call, path: Path, given: Input) -> Change | ToolOutcome:
        before = read_version(path)
        given = put_back(call, path, before, given)
        wanted = Wanted(given.old_string, given.new_string, given.replace_all)
        check_differs(wanted)
        if before is not None:
            check_seen(call, path, before)
            return _replaced(path, before, wanted) if wanted.old else _into_empty(path, before, given)
        if wanted.old:
            missing = unusable(path, FileNotFoundError())
            raise ToolError(f"{missing} To create it, give an empty old_string, or use Write.")
        return _filled(path, None, encode(given.new_string, UTF8), unified(given.new_string))


def _replaced(path: Path, before: Version, wanted: Wanted) -> Change | ToolOutcome:
    raw, coding = decode(before.data)
    made = replaced(path, raw, wanted)
    if made.is_applied:
        return _told_applied(path, made.line)
    count = f" at {made.places} places, first at line {made.line}" if made.places > 1 else f" at line {made.line}"
    told = f"Changed {shown(path)}{count}.{link_note(before)}\n{made.shown}"
    facts: dict[str, JsonValue] = {"diff": made.diff, "line": made.line, "places": made.places}
    return Change(path, before, encode(made.raw, coding), told, facts)


def _into_empty(path: Path, before: Version, given: Input) -> Change:
    text, coding = decode(before.data)
    if text:
        raise ToolError(f"{shown(path)} is not empty, so old_string may not be. Use Write to replace all of it.")
    return _filled(path, before, encode(given.new_string, coding), given.new_string)


def _filled(path: Path, before: Version | None, data: bytes, new: str) -> Change:
    told = f"{'Filled' if before else 'Created'} {shown(path)} ({len(data):,} bytes)."
    return Change(path, before, data, told, {"diff": short_diff("", new)})


def _told_applied(path: Path, line: int) -> ToolOutcome:
    told = (
        f"Already applied: {shown(path)} holds new_string at line {line}, and no other old_string. "
        "Nothing was changed. If another place was meant, read the file and give more lines around it."
    )
    return ToolOutcome(content=(Text(text=told),), data={"already_applied": True})
