"""Replace an exact piece of a text: found once or told why not, endings kept, what changed shown by its lines."""

from dataclasses import dataclass
from pathlib import Path

from activities.safety.changes import short_diff
from activities.stores.nearest import nearest_region, numbered
from activities.stores.regular_files import shown
from activities.stores.text_files import EndingText, unified
from workflows.contracts.errors import ToolError
from workflows.contracts.messages import clean

AROUND = 3
"""Lines shown before and after a change."""
PLACES_TOLD = 10
WIDEST = 2_000
"""Characters of a line above which it is no context of a change."""


@dataclass(frozen=True)
class Wanted:
    """One replacement, as a model gives it."""

    old: str
    new: str
    is_all: bool = False
    name: str = ""
    """How an error speaks of it, where there are several."""


@dataclass(frozen=True)
class Made:
    """What a replacement makes of a text."""

    raw: str
    """The whole text afterwards, line endings as the file has them."""
    line: int
    """Number of the line at which it is, the first of them."""
    places: int
    """How often it was replaced; 0 when it was there already."""
    shown: str = ""
    """The changed lines and those around them, numbered."""
    diff: str = ""

    @property
    def is_applied(self) -> bool:
        """The text held the new piece already, and no other old one."""
        return self.places == 0


def check_differs(wanted: Wanted) -> None:
    """Raises ToolError where nothing would change."""
    if unified(wanted.old) == unified(wanted.new):
        raise ToolError(
            f"{wanted.name}old_string and new_string are the same (line endings do not count). Nothing was changed."
        )


def replaced(path: Path, raw: str, wanted: Wanted) -> Made:
    """The text with the piece replaced. Raises ToolError when the piece is not there, or not once."""
    old, new = unified(wanted.old), unified(wanted.new)
    text = EndingText(raw)
    places = _places(text.text, old, is_all=wanted.is_all)
    if (line := _applied(text, places, old, new)) is not None:
        return Made(raw, line, 0)
    _check_places(path, text, places, wanted)
    # In a text without any line ending the new piece keeps its own.
    changed = text.replaced(places, old, new if "\n" in text.text else wanted.new)
    return _made(text, places, old, new, changed)


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
    """Line at which it seems to be applied already: only the new piece is there, or every old one is inside it."""
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


def _check_places(path: Path, text: EndingText, places: list[int], wanted: Wanted) -> None:
    if not places:
        raise ToolError(_not_found(path, text.text, wanted))
    if len(places) > 1 and not wanted.is_all:
        lines = [str(text.line(place)) for place in places[:PLACES_TOLD]]
        more = " and more" if len(places) > PLACES_TOLD else ""
        raise ToolError(
            f"{wanted.name}old_string stands at {len(places) if not more else 'many'} places in {shown(path)}: "
            f"lines {', '.join(lines[:-1])} and {lines[-1]}{more}. "
            "Add lines around the one you mean, or set replace_all."
        )


def _not_found(path: Path, text: str, wanted: Wanted) -> str:
    region = nearest_region(text, unified(wanted.old))
    told = f"{wanted.name}old_string is not in {shown(path)}. Nothing was changed."
    if not region:
        return f"{told} Nothing in the file is like it: read the file again, or search with Grep."
    return clean(f"{told} Compare blanks, tabs and each character; the nearest region is:\n{region}")


def _made(text: EndingText, places: list[int], old: str, new: str, changed: str) -> Made:
    number = text.line(places[0])
    start = text.text.rfind("\n", 0, places[0]) + 1
    end = text.text.find("\n", places[0] + len(old))
    tail = text.text[places[0] + len(old) : end if end >= 0 else len(text.text)]
    head = text.text[start : places[0]]
    top, above = _lines_before(text.text, start)
    below = _lines_after(text.text, end)
    snippet = above + head + new + tail + below
    return Made(
        raw=changed,
        line=number,
        places=len(places),
        shown=numbered(snippet, 0, number - top, snippet.count("\n") + 1),
        diff=short_diff(above + head + old + tail + below, snippet, number - top),
    )


def _lines_before(text: str, start: int) -> tuple[int, str]:
    """How many lines of context stand before a place, and these lines; long ones are left out."""
    place = start
    count = 0
    while place > 0 and count < AROUND:
        previous = text.rfind("\n", 0, place - 1) + 1
        if place - previous > WIDEST:
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
        if following < 0 or following - stop > WIDEST:
            break
        stop = following
    return text[end:stop]
