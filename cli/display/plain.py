"""A watched session where there is no terminal: plain lines, each printed once, no control codes at all."""

from collections.abc import Callable

from cli.display.cells import in_full, safe
from cli.display.inline import ended_rows
from cli.display.permissions import question_rows
from cli.display.status import status_rows
from cli.display.theme import Theme
from cli.display.tools import closed_rows
from cli.display.transcript import prompt_rows, thinking_row
from cli.watch import Ended, Item, Prompted, Said, Screen, Told, ToolRun, drained, printed

WIDTH = 2000
"""Cells of a line; whoever reads it breaks it as they like."""
STILL_SECONDS = 30
"""How often it is told that nothing happens."""


class PlainView:
    """Prints text as whole lines as they are complete, and all else as lines of their own."""

    def __init__(self, write: Callable[[str], None], session: str = "") -> None:
        self._write = write
        self._session = session
        self._theme = Theme(colour=False)
        self._asked: set[str] = set()
        self._state = ""
        self._told_at: float | None = None

    def load(self) -> None:
        """Nothing is needed."""

    def draw(self, screen: Screen, now: float) -> Screen:
        """Print what is new; the screen without it."""
        lines, screen = self._closed(screen)
        block = screen.open
        if block is not None and not block.thinking and screen.may_print_open and "\n" in block.text:
            whole, _, rest = block.text.rpartition("\n")
            lines += safe(whole).split("\n")
            screen = printed(screen, rest, len(whole) + 1)
        lines += self._waits(screen, now, is_busy=bool(lines))
        self._print(lines)
        return screen

    def close(self, screen: Screen, now: float) -> Screen:
        """Print what is left, and the state unless a turn has just ended."""
        lines, screen = self._closed(screen)
        if screen.open is not None and screen.open.text and not screen.open.thinking:
            lines += safe(screen.open.text).split("\n")
            screen = printed(screen, "", len(screen.open.text))
        if screen.ended is None and not screen.closed:
            lines += status_rows(screen, now, WIDTH, self._theme)
        self._print(lines)
        return screen

    def redraw(self) -> None:
        """Lines stay as they are."""

    def pause(self) -> float:
        """As often as a terminal is drawn."""
        return 1 / 30

    def _print(self, lines: list[str]) -> None:
        if lines:
            self._write("".join(f"{line.expandtabs()}\n" for line in lines))

    def _closed(self, screen: Screen) -> tuple[list[str], Screen]:
        return [line for item in screen.pending for line in self._item(item)], drained(screen)

    def _item(self, item: Item) -> list[str]:
        match item:
            case Said(thinking=True):
                return [thinking_row(item.text, WIDTH, self._theme)]
            case Said():
                return safe(item.text).removesuffix("\n").split("\n")
            case Prompted():
                return prompt_rows(item.text, WIDTH, self._theme)
            case ToolRun():
                return closed_rows(item, WIDTH, self._theme)
            case Told():
                return [f"- {line}" for line in in_full(item.text).split("\n")]
            case Ended():
                return ended_rows(item, WIDTH, self._theme)

    def _waits(self, screen: Screen, now: float, *, is_busy: bool) -> list[str]:
        """Each question once; the state when something else is waited for, and now and then while nothing happens."""
        new = [each for each in screen.questions if each.approval not in self._asked]
        self._asked |= {each.approval for each in new}
        session = screen.session or self._session
        lines = [row for each in new for row in question_rows(each, session, WIDTH, self._theme)]
        state = f"{screen.waiting_for}{screen.retry.at if screen.retry else ''}"
        is_over = screen.ended is not None or screen.closed
        is_still = self._told_at is not None and now - self._told_at >= STILL_SECONDS and not is_over
        if (state != self._state and state) or (is_still and not is_busy):
            lines += status_rows(screen, now, WIDTH, self._theme)
        if lines or is_busy or self._told_at is None:
            self._told_at = now
        self._state = state
        return lines
