"""Streaming Markdown -> what of it can be printed for good: whole top-level blocks, pieces of very long ones."""

from dataclasses import dataclass
from functools import cache
from itertools import pairwise
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from markdown_it import MarkdownIt
    from markdown_it.token import Token

LONG = 40
"""Lines of an open block from which its beginning is printed for good."""
KEPT = 14
"""Lines of it that stay open then; a little more than the live area shows."""
ENDLESS = 400
"""Lines from which also a block is cut that looks better whole: a table, one item of a list."""


@dataclass(frozen=True)
class Chunk:
    """Markdown that can be rendered by itself."""

    source: str
    goes_on: bool = False
    """It continues the block before it: no blank line between them."""


@dataclass(frozen=True)
class Split:
    """What can be printed for good, and what stays open."""

    closed: tuple[Chunk, ...]
    rest: str
    """Source of what stays open; a cut fence begins again in it."""
    goes_on: bool = False
    """The rest continues a block whose beginning is closed."""


@cache
def _parser() -> "MarkdownIt":
    from markdown_it import MarkdownIt

    parser = MarkdownIt("commonmark").enable("table").disable("html_block")
    # Where blocks begin is all that is asked; what is inside them costs most of the time.
    parser.core.ruler.enableOnly(["normalize", "block"])
    return parser


def split(source: str, *, goes_on: bool = False) -> Split:
    """Take the closed blocks off the beginning of safe source; only whole lines decide anything."""
    end = source.rfind("\n") + 1
    whole, partial = source[:end], source[end:]
    lines = whole.splitlines(keepends=True)
    blocks = [token for token in _parser().parse(whole) if token.level == 0 and token.nesting >= 0 and token.map]
    if not blocks:
        return Split((), source, goes_on)
    starts = [0, *(_first_line(block) for block in blocks[1:])]
    closed = [_chunk(lines[start:stop]) for start, stop in pairwise(starts)]
    open_lines = lines[starts[-1] :]
    if _is_closed(blocks[-1], lines):
        return Split(_joined([*closed, _chunk(open_lines)], goes_on=goes_on), partial)
    piece, open_lines = _shortened(blocks[-1], open_lines)
    rest = "".join(open_lines) + partial
    closed += piece
    return Split(_joined(closed, goes_on=goes_on), rest, bool(piece) or (goes_on and not closed))


def _joined(closed: list[Chunk], *, goes_on: bool) -> tuple[Chunk, ...]:
    return (Chunk(closed[0].source, goes_on), *closed[1:]) if closed else ()


def _chunk(lines: list[str]) -> Chunk:
    return Chunk("".join(lines).strip("\n"))


def _first_line(block: "Token") -> int:
    return block.map[0] if block.map else 0


def _is_closed(block: "Token", lines: list[str]) -> bool:
    """Whether no further line can belong to the last block."""
    match block.type:
        case "heading_open" | "hr":
            return True
        case "fence":
            last = lines[block.map[1] - 1].strip() if block.map and block.map[1] - 1 > block.map[0] else ""
            return len(last) >= len(block.markup) and not last.strip(block.markup[0])
        case "paragraph_open" | "table_open":
            return not lines[-1].strip()
        case _:
            return False


def _shortened(block: "Token", lines: list[str]) -> tuple[list[Chunk], list[str]]:
    """Cut the beginning off a long open block; nothing and the same lines if it is short or better whole."""
    if len(lines) <= LONG:
        return [], lines
    if block.type == "fence":
        return _cut_fence(block, lines)
    if block.type in {"table_open", "bullet_list_open", "ordered_list_open", "blockquote_open"}:
        cut = _item_start(lines) if block.type.endswith("list_open") else 0
        cut = cut or (len(lines) - KEPT if len(lines) > ENDLESS else 0)
    else:
        cut = len(lines) - KEPT
    return ([_chunk(lines[:cut])], lines[cut:]) if cut else ([], lines)


def _cut_fence(block: "Token", lines: list[str]) -> tuple[list[Chunk], list[str]]:
    opening, cut = lines[0], len(lines) - KEPT
    head = "".join(lines[:cut]) + block.markup
    return [Chunk(head)], [opening, *lines[cut:]]


def _item_start(lines: list[str]) -> int:
    """The last line before the kept ones where an item of the outermost list begins; 0 for none."""
    tokens = _parser().parse("".join(lines))
    starts = [_first_line(token) for token in tokens if token.type == "list_item_open" and token.level == 1]
    return max((start for start in starts if start <= len(lines) - KEPT), default=0)
