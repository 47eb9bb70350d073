"""One page of a text: numbered lines from an offset on, bounded in lines, characters and memory."""

import io
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TextIO

from workflows.contracts.errors import ToolError
from workflows.contracts.messages import clean

LINE_WIDTH = 2_000
"""Characters of a line that are shown."""
PAGE_CHARACTERS = 80_000
"""Characters of one page; about 20,000 tokens."""
SCANNED = 2 * 1024**3
"""Characters that are passed over before giving up."""
BLOCK = 256 * 1024


@dataclass(frozen=True)
class Page:
    """Some lines of a text."""

    text: str
    """Numbered as `cat -n` does, with an arrow between number and line."""
    first: int
    last: int
    """Number of the last line shown; `first - 1` when there is none."""
    total: int
    """Lines in all; 0 when they were not counted."""
    has_more: bool
    """Lines follow after the last one shown."""


def text_of(data: bytes, encoding: str = "utf-8") -> TextIO:
    """Bytes as a text with newlines only; what is not in the encoding is replaced visibly."""
    return io.TextIOWrapper(io.BytesIO(data), encoding=encoding, errors="replace")


def read_page(
    source: TextIO, offset: int, limit: int, *, fold: bool = False, stopped: Callable[[], bool] = lambda: False
) -> Page:
    """Lines `offset` to `offset + limit - 1`, from 1. Lines over LINE_WIDTH are cut, or with `fold` broken into lines.

    Memory stays flat whatever the text's size. Raises ToolError when the offset is too far away.
    """
    shown: list[str] = []
    size = scanned = number = 0
    for line, left_out in _lines(source, fold=fold):
        scanned += len(line) + left_out + 1
        if scanned > SCANNED or stopped():
            raise ToolError("This line is too far into the file for Read. Use Grep, or Bash with sed or tail.")
        if number + 1 < offset:
            number += 1
            continue
        if len(shown) == limit or size > PAGE_CHARACTERS:
            rest = None if fold else _rest(source, stopped)
            total = 0 if rest is None else number + 1 + rest
            return Page("\n".join(shown), offset, number, total, has_more=True)
        number += 1
        shown.append(f"{number:>6}→{clean(line)}" + (f" [{left_out:,} more characters]" if left_out else ""))
        size += len(shown[-1]) + 1
    return Page("\n".join(shown), offset, max(number, offset - 1), number, has_more=False)


def _lines(source: TextIO, *, fold: bool) -> Iterator[tuple[str, int]]:
    """Each line without its newline, at most LINE_WIDTH characters of it, and how many it has more."""
    carried = ""
    while piece := carried + source.readline(LINE_WIDTH + 1 - len(carried)):
        carried = ""
        if piece.endswith("\n") or len(piece) <= LINE_WIDTH:
            yield piece.removesuffix("\n"), 0
        elif fold:
            carried = piece[LINE_WIDTH:]
            yield piece[:LINE_WIDTH], 0
        else:
            yield piece[:LINE_WIDTH], len(piece) - LINE_WIDTH + _skip_line(source)


def _skip_line(source: TextIO) -> int:
    skipped = 0
    while piece := source.readline(BLOCK):
        skipped += len(piece)
        if piece.endswith("\n"):
            return skipped - 1
        if skipped > SCANNED:
            break
    return skipped


def _rest(source: TextIO, stopped: Callable[[], bool]) -> int | None:
    """Lines that follow the one that was read last; None when there are too many to count."""
    lines = scanned = 0
    last = "\n"
    while block := source.read(BLOCK):
        lines += block.count("\n")
        scanned += len(block)
        last = block
        if scanned > SCANNED or stopped():
            return None
    return lines + (not last.endswith("\n"))
