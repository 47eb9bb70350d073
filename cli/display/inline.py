"""A watched session in an ordinary scrolling terminal: what is closed is printed once, the rest is live."""

from collections.abc import Callable

from cli.display.blocks import Chunk, split
from cli.display.cells import fit, in_full, safe, wrap
from cli.display.live import Live
from cli.display.permissions import question_rows
from cli.display.status import ending, status_rows
from cli.display.theme import Theme
from cli.display.tools import closed_rows, running_row
from cli.display.transcript import load, prompt_rows, rendered, thinking_row
from cli.watch import Ended, Item, OpenBlock, Prompted, Said, Screen, Told, ToolRun, drained, moment, printed

FRAME_SECONDS = 1 / 30
SLOWEST_FRAME = 0.25
BYTES_PER_SECOND = 40_000
TAIL_ROWS = 12
TOOL_ROWS = 6
QUESTIONS = 2
RICH_UP_TO = 3000
"""Characters of an open block that are rendered as Markdown at each frame; a longer one is shown as it was written."""
_READABLE = 8192

Size = tuple[int, int]


class InlineView:
    """Draws screens; its width and height are asked at each frame, because both may change at any time."""

    def __init__(self, live: Live, size: Callable[[], Size], theme: Theme, session: str = "") -> None:
        self._live = live
        self._size = size
        self._theme = theme
        self._session = session
        self._group = ""
        self._goes_on = False
        self._is_loaded = False
        self._tail: tuple[str, int, list[str]] = ("", 0, [])

    def load(self) -> None:
        """Import what drawing needs; call it early, in a thread."""
        load()
        self._is_loaded = True

    def draw(self, screen: Screen, now: float) -> Screen:
        """Bring the terminal up to date; the screen without what is printed for good now."""
        width, height = self._size()
        rows, screen = self._closed(screen, width)
        self._live.frame(rows, self._live_rows(screen, now, width, height), (width, height))
        return screen

    def close(self, screen: Screen, now: float) -> Screen:
        """Print what is left, and the state as an ordinary line unless a turn has just ended."""
        width, height = self._size()
        rows, screen = self._closed(screen, width)
        if screen.open is not None:
            rows += self._said(Said(screen.open.text, screen.open.exchange, thinking=screen.open.thinking), width)
            screen = printed(screen, "", len(screen.open.text))
        if screen.ended is None and not screen.closed:
            rows += status_rows(screen, now, width, self._theme)
        self._live.close(rows, (width, height))
        return screen

    def redraw(self) -> None:
        """Others wrote to the terminal."""
        self._live.redraw()

    def pause(self) -> float:
        """A thirtieth of a second, more after a large frame: a slow line or a remote terminal keeps up."""
        return min(SLOWEST_FRAME, max(FRAME_SECONDS, self._live.drawn / BYTES_PER_SECOND))

    def _closed(self, screen: Screen, width: int) -> tuple[list[str], Screen]:
        rows = [row for item in screen.pending for row in self._item(item, width)]
        screen = drained(screen)
        block = screen.open
        if block is None or block.thinking or not screen.may_print_open or "\n" not in block.text:
            return rows, screen
        parts = split(safe(block.text), goes_on=self._goes_on)
        if not parts.closed:
            return rows, screen
        rows += self._chunks(parts.closed, width)
        self._goes_on = parts.goes_on
        return rows, printed(screen, parts.rest, max(1, len(block.text) - len(parts.rest)))

    def _item(self, item: Item, width: int) -> list[str]:
        match item:
            case Said():
                return self._said(item, width)
            case Prompted():
                rows = ["", *prompt_rows(item.text, width, self._theme)] if self._group else []
                rows = rows or prompt_rows(item.text, width, self._theme)
                self._group = "prompt"
                return rows
            case ToolRun():
                return self._grouped("tools", closed_rows(item, width, self._theme))
            case Told():
                rows = [self._theme.paint(item.tone, row) for row in wrap(in_full(f"- {item.text}"), width)]
                return self._grouped("told", rows)
            case Ended():
                return self._grouped("ended", ended_rows(item, width, self._theme))

    def _grouped(self, group: str, rows: list[str]) -> list[str]:
        """The rows, behind a blank one where another kind of thing was printed before."""
        before, self._group, self._goes_on = self._group, group, False
        return ["", *rows] if before not in {"", group} else rows

    def _said(self, said: Said, width: int) -> list[str]:
        if said.thinking:
            return self._grouped("tools", [thinking_row(said.text, width, self._theme)])
        parts = split(safe(said.text), goes_on=self._goes_on)
        chunks = parts.closed
        if parts.rest.strip():
            chunks = (*chunks, Chunk(parts.rest.strip("\n"), parts.goes_on))
        rows = self._chunks(chunks, width)
        self._goes_on = False
        return rows

    def _chunks(self, chunks: tuple[Chunk, ...], width: int) -> list[str]:
        rows: list[str] = []
        for chunk in chunks:
            drawn = rendered(chunk.source, width, self._theme)
            is_first = not self._group or (chunk.goes_on and self._group == "text")
            rows += drawn if is_first or not drawn else ["", *drawn]
            self._group = "text" if drawn else self._group
        return rows

    def _live_rows(self, screen: Screen, now: float, width: int, height: int) -> list[str]:
        """Text, calls, questions and status, in this order; the status is never what is left out."""
        left = max(1, height - 1)
        status = status_rows(screen, now, width, self._theme)[:left]
        left -= len(status)
        questions = self._questions(screen, width)[: max(0, left)]
        left -= len(questions)
        tools = self._tools(screen, now, width)[: max(0, left)]
        left -= len(tools)
        tail = self._tail_rows(screen.open, width)
        shown = min(TAIL_ROWS, left)
        return [*(tail[-shown:] if shown > 0 else []), *tools, *questions, *status]

    def _questions(self, screen: Screen, width: int) -> list[str]:
        session = screen.session or self._session
        rows = [
            row for each in screen.questions[:QUESTIONS] for row in question_rows(each, session, width, self._theme)
        ]
        more = len(screen.questions) - QUESTIONS
        return [*rows, self._theme.paint("ask", fit(f"? {more} more: perdure approvals", width))] if more > 0 else rows

    def _tools(self, screen: Screen, now: float, width: int) -> list[str]:
        shown = screen.tools if len(screen.tools) <= TOOL_ROWS else screen.tools[: TOOL_ROWS - 1]
        rows = [running_row(tool, _running_for(tool, now), width, self._theme) for tool in shown]
        more = len(screen.tools) - len(shown)
        return [*rows, self._theme.paint("tool", fit(f"> {more} more calls", width))] if more else rows

    def _tail_rows(self, block: OpenBlock | None, width: int) -> list[str]:
        if block is None or not block.text.strip():
            return []
        if self._tail[:2] != (block.text, width):
            self._tail = (block.text, width, self._drawn_tail(block, width))
        is_apart = self._group and not (self._group == "text" and self._goes_on)
        return ["", *self._tail[2]] if is_apart else self._tail[2]

    def _drawn_tail(self, block: OpenBlock, width: int) -> list[str]:
        if block.thinking:
            rows = wrap(safe(block.text[-4 * width :]), width)[-4:]
            return [self._theme.paint("thinking", row) for row in rows]
        if len(block.text) <= RICH_UP_TO and self._is_loaded:
            return rendered(block.text, width, self._theme)
        # Cut at steps, so that the rows do not move with each character.
        start = max(0, len(block.text) - _READABLE) // _READABLE * _READABLE
        return [row.rstrip() for row in wrap(safe(block.text[start:]).strip("\n"), width)]


def _running_for(tool: ToolRun, now: float) -> float | None:
    started = moment(tool.started)
    return None if started is None else float(int(max(0.0, now - started)))


def ended_rows(item: Ended, width: int, theme: Theme) -> list[str]:
    """How a turn ended and what it took."""
    event = item.event
    error = f": {event.error}" if event.error else ""
    rows = wrap(safe(f"= {event.reason}{error}"), width)
    rows = [theme.paint("ok" if event.reason == "done" else "error", row) for row in rows]
    return rows + [theme.paint("dim", row) for row in wrap(ending(event.totals), width)]
