"""Text as a file keeps it: encoding, byte order mark and line endings survive a change."""

import codecs
import re
from bisect import bisect_left
from dataclasses import dataclass
from difflib import SequenceMatcher

from workflows.contracts.errors import ToolError

# The marks of UTF-32 begin with those of UTF-16: longest first.
MARKS = (
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
BREAK = re.compile(r"\r\n|\r|\n")
CRLF = re.compile(r"\r\n")


@dataclass(frozen=True)
class Coding:
    """How the characters of a file are bytes."""

    name: str
    """Python's name of the encoding, without the mark."""
    mark: bytes = b""
    """The byte order mark at the start, if any."""

    @property
    def is_guess(self) -> bool:
        """Neither a mark nor valid UTF-8: read byte by byte as Latin-1."""
        return self.name == "latin-1"


UTF8 = Coding("utf-8")
LATIN1 = Coding("latin-1")


def marked_coding(start: bytes) -> Coding | None:
    """The coding that the first bytes of a file declare."""
    return next((Coding(name, mark) for mark, name in MARKS if start.startswith(mark)), None)


def decode(data: bytes) -> tuple[str, Coding]:
    """All characters of a file behind its mark, line endings as they are; `encode` gives the same bytes back."""
    for coding in (marked_coding(data), UTF8):
        if coding is not None:
            try:
                return data[len(coding.mark) :].decode(coding.name), coding
            except UnicodeDecodeError:
                continue
    return data.decode("latin-1"), LATIN1


def encode(text: str, coding: Coding) -> bytes:
    """The bytes of a text in a file of that coding. Raises ToolError for a character that it cannot hold."""
    try:
        return coding.mark + text.encode(coding.name)
    except UnicodeEncodeError as error:
        character = error.object[error.start]
        raise ToolError(
            f"The file's encoding ({coding.name}) cannot hold the character U+{ord(character):04X}. "
            "Write the change with characters of that encoding, or convert the file first."
        ) from error


def unified(text: str) -> str:
    """The same text with every line ending as one newline."""
    return text.replace("\r\n", "\n").replace("\r", "\n") if "\r" in text else text


class EndingText:
    """A text searched as if every line ending were a newline, and changed with each ending kept as it is."""

    def __init__(self, raw: str) -> None:
        self.raw = raw
        self.text = unified(raw)
        # Where each CRLF stands once the ones before it have become one character.
        self._shrunk = [match.start() - n for n, match in enumerate(CRLF.finditer(raw))] if "\r" in raw else []

    def line(self, place: int) -> int:
        """Number of the line, from 1, on which a place of `text` stands."""
        return self.text.count("\n", 0, place) + 1

    def replaced(self, places: list[int], old: str, new: str) -> str:
        """The raw text with `old` at each place of `text` turned into `new`; both with newlines only."""
        pieces = []
        done = 0
        for place in places:
            start, end = self._raw(place), self._raw(place + len(old))
            pieces += [self.raw[done:start], self._with_endings(start, end, new)]
            done = end
        return _joined([*pieces, self.raw[done:]])

    def _raw(self, place: int) -> int:
        return place + bisect_left(self._shrunk, place)

    def _with_endings(self, start: int, end: int, new: str) -> str:
        if "\n" not in new or "\r" not in self.raw:
            return new
        lines = new.split("\n")
        kept = _kept(self.raw[start:end], lines)
        added = self._neighbour(start, end)
        filled = []
        for line, ending in zip(lines[:-1], kept, strict=True):
            filled.append(line + (ending or added))
            added = ending if ending not in {"", "\r"} else added
        return _joined([*filled, lines[-1]])

    def _neighbour(self, start: int, end: int) -> str:
        """The ending of the nearest line around a stretch; a lone CR only where nothing else is near."""
        near = [BREAK.search(self.raw, end), self._last_break(start)]
        if start and self.raw[start - 1] in "\r\n":
            near.reverse()
        found = [match.group() for match in near if match is not None]
        return next((ending for ending in found if ending != "\r"), found[0] if found else "\n")

    def _last_break(self, end: int) -> re.Match[str] | None:
        place = max(self.raw.rfind("\n", 0, end), self.raw.rfind("\r", 0, end))
        if place < 0:
            return None
        is_pair = self.raw[place] == "\n" and place > 0 and self.raw[place - 1] == "\r"
        return BREAK.match(self.raw, place - 1 if is_pair else place)


def _joined(pieces: list[str]) -> str:
    """Pieces as one text in which no CR and LF that were two endings become one."""
    joined: list[str] = []
    last = ""
    for piece in filter(None, pieces):
        joined += ["\r", piece] if last == "\r" and piece.startswith("\n") else [piece]
        last = piece[-1]
    return "".join(joined)


def _kept(raw: str, new: list[str]) -> list[str]:
    """For each line of `new` but the last the ending that it has in the raw text; empty for a line that is added.

    Lines that stay keep theirs; those that are changed take over the endings of what they replace, in order.
    """
    old, endings = BREAK.split(raw), BREAK.findall(raw)
    kept = [""] * len(new)
    if len(set(endings)) == 1:
        return endings[:1] * (len(new) - 1)
    for kind, old_from, old_to, new_from, new_to in SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
        if kind in {"equal", "replace"}:
            some = endings[old_from:old_to][: new_to - new_from]
            kept[new_from : new_from + len(some)] = some
    return kept[:-1]
