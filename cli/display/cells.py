"""Text from anywhere -> rows that fit a terminal: control sequences out, tabs spread, widths in cells."""

import re
import shlex
from collections.abc import Iterator

from wcwidth import clip, iter_graphemes, wcwidth
from wcwidth import width as _width

_STRINGS = r"(?:\x1b[\]PX^_]|[\x9d\x90\x98\x9e\x9f])[^\x07\x1b\x9c\n]*(?:\x07|\x1b\\|\x9c)?"
_CSI = r"(?:\x1b\[|\x9b)[0-?]*[ -/]*[@-~]?"
_ESCAPES = re.compile(rf"{_STRINGS}|{_CSI}|\x1b[ -/]*[0-~]?")
_BIDI = [*range(0x200E, 0x2010), *range(0x202A, 0x202F), *range(0x2066, 0x206A), 0xFEFF]
_GONE = {
    **dict.fromkeys(_BIDI, ""),
    **dict.fromkeys([*range(9), *range(14, 32), *range(0x7F, 0xA0)], ""),
    **dict.fromkeys((11, 12, 0x2028, 0x2029), " "),
    **dict.fromkeys(range(0xD800, 0xE000), "\ufffd"),
    0: "\u2400",
}
_SUSPECT = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff\ud800-\udfff]")
_UNSEEN = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\xad\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b\u200e\u200f\u2028-\u202e"
    "\u2060-\u206f\u2800\u3164\ud800-\udfff\ufeff\uffa0\ufff0-\ufffb\U000e0000-\U000e0fff]"
    "|(?<![^\x00-\x7f])[\u200c\u200d]|[\u200c\u200d](?![^\x00-\x7f])"
)
"""Joiners are seen as what they join, but for those that join nothing."""
_STYLED = re.compile(r"\x1b\[[0-9;]*m")
TAB = 8


def safe(text: str) -> str:
    """The same text without anything that steers a terminal; newlines and tabs stay, a lone CR starts a line."""
    if not _SUSPECT.search(text):
        return text
    return _ESCAPES.sub("", text.replace("\r\n", "\n").replace("\r", "\n")).translate(_GONE)


def safe_output(text: str) -> str:
    """What a program printed, made safe: of a line that it overwrote by CR, the last state."""
    if "\r" not in text:
        return safe(text)
    return safe("\n".join(_last_state(line) for line in text.replace("\r\n", "\n").split("\n")))


def _last_state(line: str) -> str:
    states = [state for state in line.split("\r") if state]
    return states[-1] if states else ""


def in_full(text: str) -> str:
    """What a person decides about: what steers a terminal or is not seen stands there as a picture or a number.

    Nothing is left out, since a program that runs it reads that too; newlines and tabs stay.
    """
    return _UNSEEN.sub(_picture, text.replace("\r\n", "\n"))


def _picture(found: re.Match[str]) -> str:
    number = ord(found[0])
    if number < 32:
        return chr(0x2400 + number)
    return "\ufffd" if 0xD800 <= number < 0xE000 else f"<U+{number:04X}>"


def one_line(text: str) -> str:
    """The same as one line: its lines joined by blanks."""
    return " ".join(in_full(text).split())


def as_typed(*words: str) -> str:
    """A command line to be pasted: quoted as a shell reads it, and nothing in it that steers a terminal."""
    return in_full(shlex.join(words))


def cells(row: str) -> int:
    """Terminal cells of a row; colours count nothing."""
    return len(row) if row.isascii() and "\x1b" not in row else _width(row)


def fit(row: str, width: int) -> str:
    """The row, cut to the width with an ellipsis where it is longer."""
    if cells(row) <= width:
        return row
    cut = clip(row, 0, max(0, width - 1)).rstrip()
    return f"{cut}…" if width > 0 else ""


def spread(line: str) -> str:
    """The line with its tabs as blanks."""
    if "\t" not in line:
        return line
    spread_out, column = "", 0
    for piece in re.split("(\t)", line):
        piece = " " * (TAB - column % TAB) if piece == "\t" else piece  # noqa: PLW2901  the tab's place in the line
        spread_out += piece
        column += cells(piece)
    return spread_out


def wrap(text: str, width: int) -> list[str]:
    """Safe text as rows of at most `width` cells, broken at blanks where there are some."""
    width = max(1, width)
    return [row for line in text.split("\n") for row in _wrapped(spread(line), width)]


def _wrapped(line: str, width: int) -> Iterator[str]:
    while cells(line) > width:
        cut = _cut(line, width)
        blank = line.rfind(" ", 1, cut + 1)
        if blank > 0 and line[:blank].strip():
            yield line[:blank].rstrip()
            line = line[blank + 1 :]
        else:
            yield line[:cut]
            line = line[cut:]
    yield line.rstrip()


def _cut(line: str, width: int) -> int:
    """Index behind the last cluster that fits; at least one."""
    head = line[: width * 12]
    # A code point behind the last one that fits may belong to it.
    if head[: width + 1].isascii():
        return width
    column = index = 0
    for cluster in iter_graphemes(head):
        column += cells(cluster)
        if column > width and index:
            break
        index += len(cluster)
    return index


def anchored(row: str, width: int) -> str:
    """The row with an absolute column behind each cell of several code points.

    A terminal that gives such a cell another width then spoils that cell and not the row.
    """
    if row.isascii():
        return row
    placed, column, start = "", 0, 0
    for style in [*_STYLED.finditer(row), None]:
        text = row[start : style.start() if style else len(row)]
        for cluster in iter_graphemes(text):
            column += _cluster_cells(cluster)
            placed += cluster
            if len(cluster) > 1 and column < width:
                placed += f"\x1b[{column + 1}G"
        if style:
            placed += style.group()
            start = style.end()
    return placed


def _cluster_cells(cluster: str) -> int:
    return max(0, wcwidth(cluster)) if len(cluster) == 1 else cells(cluster)


def decided_by(by: str, rule: str) -> str:
    """Who or what decided about a call: its kind and the rule, which may name the kind itself."""
    return rule if rule.startswith(f"{by}:") else f"{by} {rule}".rstrip()


def counted(count: int, one: str, several: str = "") -> str:
    """A number and what it counts."""
    return f"{count:,} {one if count == 1 else several or one + 's'}"


_CRASHES = {
    "found": "a crash hit it: its outcome was found again",
    "attached": "a crash hit it: the command ran on and was found again",
    "repeated": "a crash hit it: it was repeated, which is harmless",
    "unknown": "a crash hit it: whether it happened is not known",
    "ended": "it was ended from outside",
}


def crash_told(crash: str) -> str:
    """What a crash or an interrupt did to a call, in words."""
    return _CRASHES.get(crash, crash)
