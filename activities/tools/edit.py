"""Edit: replace an exact piece of text in a file."""

import asyncio
from pathlib import Path

from pydantic import Field, JsonValue

from activities.safety.changes import Change, carry_out, check_seen, found_done, short_diff
from activities.safety.paths import located, named, own_findings
from activities.stores.nearest import nearest_region, numbered
from activities.stores.regular_files import Version, read_version, shown, unusable
from activities.stores.text_files import UTF8, EndingText, decode, encode, unified
from activities.tool import Call, Tool, ToolInput
from workflows.contracts.errors import ToolError
from workflows.contracts.messages import Text, clean
from workflows.contracts.permissions import Finding
from workflows.contracts.tools import Repeat, ToolOutcome

AROUND = 3
"""Lines shown before and after a change."""
PLACES_TOLD = 10


class Input(ToolInput):
    file_path: str = Field(description="File to change: absolute, or relative to the workspace.")
    old_string: str = Field(description="The text to replace, exactly as it is in the file, without line numbers.")
    new_string: str = Field(description="The text to put in its place; it must differ.")
    replace_all: bool = Field(default=False, description="Replace every place where old_string stands.")


class Edit(Tool[Input]):
    """Replace an exact piece of text in a file.

    - The file must have been read in this session and be unchanged since; otherwise the call is refused.
    - `old_string` must be in the file exactly once, blanks and indentation included; add lines around it until it is
      unique, or set `replace_all`. If it is not there, the nearest region is shown with its line numbers.
    - Line endings need no care: a newline in `old_string` matches LF, CRLF and CR. Lines that stay keep their endings,
      new ones get those of their neighbours. Encoding, byte order mark, final newline and mode bits are kept.
    - If `old_string` is gone and `new_string` stands there, the edit counts as already applied; nothing is changed.
    - With an empty `old_string` a file that is missing or empty is filled with `new_string`.
    - Only the lines around the change are shown afterwards. Files of up to 256 MiB can be edited.
    """

    name = "Edit"
    input = Input
    edits_files = True
    repeat = Repeat.CHECKED
    timeout = 120

    def summary(self, given: Input) -> str:
        many = ", every place" if given.replace_all else ""
        lines = unified(given.old_string).count("\n") + 1, unified(given.new_string).count("\n") + 1
        return f"{shown(given.file_path)} ({lines[0]} → {lines[1]} lines{many})"

    def paths(self, call: Call, given: Input) -> tuple[Path, ...]:
        return (named(call, given.file_path),)

    def findings(self, call: Call, given: Input) -> tuple[Finding, ...]:
        return own_findings(call, self.paths(call, given))

    async def run(self, call: Call, given: Input) -> ToolOutcome:
        if (earlier := await found_done(call)) is not None:
            return earlier
        path = await asyncio.to_thread(located, call, given.file_path)
        planned = await asyncio.to_thread(_plan, call, path, given)
        return await carry_out(call, planned) if isinstance(planned, Change) else planned


def _plan(call: Call, path: Path, given: Input) -> Change | ToolOutcome:
    before = read_version(path)
    old, new = unified(given.old_string), unified(given.new_string)
    if old == new:
        raise ToolError("old_string and new_string are the same (line endings do not count). Nothing was changed.")
    if before is not None:
        check_seen(call, path, before)
        return _replaced(path, before, given) if old else _into_empty(path, before, given)
    if old:
        missing = unusable(path, FileNotFoundError())
        raise ToolError(f"{missing} To create it, give an empty old_string, or use Write.")
    return _filled(path, None, encode(given.new_string, UTF8), new)


def _replaced(path: Path, before: Version, given: Input) -> Change | ToolOutcome:
    raw, coding = decode(before.data)
    old, new = unified(given.old_string), unified(given.new_string)
    text = EndingText(raw)
    places = _places(text.text, old, is_all=given.replace_all)
    if (line := _applied(text, places, old, new)) is not None:
        return _told_applied(path, line)
    _check_places(path, text, places, old, is_all=given.replace_all)
    # In a file without any line ending the new text keeps its own.
    changed = text.replaced(places, old, new if "\n" in text.text else given.new_string)
    return _change(path, before, places, (text, old, new), encode(changed, coding))


def _into_empty(path: Path, before: Version, given: Input) -> Change:
    text, coding = decode(before.data)
    if text:
        raise ToolError(f"{shown(path)} is not empty, so old_string may not be. Use Write to replace all of it.")
    return _filled(path, before, encode(given.new_string, coding), given.new_string)


def _filled(path: Path, before: Version | None, data: bytes, new: str) -> Change:
    told = f"{'Filled' if before else 'Created'} {shown(path)} ({len(data):,} bytes)."
    return Change(path, before, data, told, {"diff": short_diff("", new)})


def _places(text: str, old: str, *, is_all: bool) -> list[int]:
    """Where it stands: without overlaps to replace all, with them to see whether it is unique."""
    step = len(old) if is_all else 1
    found: list[int] = []
    place = text.find(old)
    while place >= 0 and (is_all or len(found) <= PLACES_TOLD):
        found.append(place)
        place = text.find(old, place + step)
    return found


def _applied(text: EndingText, places: list[int], old: str, new: str) -> int | None:
    """Line at which the edit seems to be applied already: only the new text is there, or every old one is inside it."""
    if not places:
        is_telling = len(new.strip()) >= 4 or "\n" in new.strip("\n")
        there = text.text.find(new) if is_telling else -1
        return text.line(there) if there >= 0 else None
    inside = new.find(old)
    if inside < 0:
        return None
    if all(place >= inside and text.text.startswith(new, place - inside) for place in places[:1_000]):
        return text.line(places[0])
    return None


def _told_applied(path: Path, line: int) -> ToolOutcome:
    told = (
        f"Already applied: {shown(path)} holds new_string at line {line}, and no other old_string. "
        "Nothing was changed. If another place was meant, read the file and give more lines around it."
    )
    return ToolOutcome(content=(Text(text=told),), data={"already_applied": True})


def _check_places(path: Path, text: EndingText, places: list[int], old: str, *, is_all: bool) -> None:
    if not places:
        raise ToolError(_not_found(path, text.text, old))
    if len(places) > 1 and not is_all:
        lines = [str(text.line(place)) for place in places[:PLACES_TOLD]]
        more = " and more" if len(places) > PLACES_TOLD else ""
        raise ToolError(
            f"old_string stands at {len(places) if not more else 'many'} places in {shown(path)}: "
            f"lines {', '.join(lines[:-1])} and {lines[-1]}{more}. "
            "Add lines around the one you mean, or set replace_all."
        )


def _not_found(path: Path, text: str, old: str) -> str:
    region = nearest_region(text, old)
    told = f"old_string is not in {shown(path)}. Nothing was changed."
    if not region:
        return f"{told} Nothing in the file is like it: read the file again, or search with Grep."
    return clean(f"{told} Compare blanks, tabs and each character; the nearest region is:\n{region}")


def _change(path: Path, before: Version, places: list[int], what: tuple[EndingText, str, str], data: bytes) -> Change:
    text, old, new = what
    number = text.line(places[0])
    start = text.text.rfind("\n", 0, places[0]) + 1
    end = text.text.find("\n", places[0] + len(old))
    tail = text.text[places[0] + len(old) : end if end >= 0 else len(text.text)]
    lines = text.text[start : places[0]] + new + tail
    top, above = _lines_before(text.text, start)
    below = _lines_after(text.text, end)
    snippet = above + lines + below
    shown_part = numbered(snippet, 0, number - top, snippet.count("\n") + 1)
    count = f" at {len(places)} places, first at line {number}" if len(places) > 1 else f" at line {number}"
    links = before.facts.st_nlink - 1
    note = f" Other names of the same file ({links}, hard links) keep the old content." if links > 0 else ""
    facts: dict[str, JsonValue] = {
        "diff": short_diff(above + text.text[start : places[0]] + old + tail + below, snippet, number - top),
        "line": number,
        "places": len(places),
    }
    return Change(path, before, data, f"Changed {shown(path)}{count}.{note}\n{shown_part}", facts)


def _lines_before(text: str, start: int) -> tuple[int, str]:
    """How many lines of context stand before a place, and these lines; long ones are left out."""
    place = start
    count = 0
    while place > 0 and count < AROUND:
        previous = text.rfind("\n", 0, place - 1) + 1
        if place - previous > 2_000:
            break
        place = previous
        count += 1
    return count, text[place:start]


def _lines_after(text: str, end: int) -> str:
    """The lines of context behind the newline at `end`, that newline first."""
    if end < 0 or end + 1 >= len(text):
        return ""
    stop = end
    for _ in range(AROUND):
        following = text.find("\n", stop + 1)
        if following < 0 or following - stop > 2_000:
            break
        stop = following
    return text[end:stop]
