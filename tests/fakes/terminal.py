"""A terminal that keeps what scrolled off, and counts what it was sent."""

import re

import pyte

SEQUENCE = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|[^\[])")
ALLOWED = re.compile(r"\x1b[78]|\x1b\[(?:\?25[lh]|\?7[lh]|\d*[AGJK]|[0-9;]*m)")


class Terminal:
    """An emulated screen of that many columns and rows, with scrollback."""

    def __init__(self, columns: int = 80, rows: int = 24) -> None:
        self._screen = pyte.HistoryScreen(columns, rows, history=100_000, ratio=0.5)
        self._stream = pyte.Stream(self._screen)
        self.sent = ""
        self.writes: list[int] = []

    def write(self, text: str) -> None:
        """Show this; a bare newline goes down without going left, as on a raw line."""
        self.sent += text
        self.writes.append(len(text.encode()))
        self._stream.feed(text)

    def size(self) -> tuple[int, int]:
        """Columns and rows."""
        return self._screen.columns, self._screen.lines

    def resize(self, columns: int, rows: int) -> None:
        """Another size: rows are cut at the right, and dropped at the top where they do not fit."""
        self._screen.resize(rows, columns)

    def screen(self) -> list[str]:
        """The rows that are visible, without blanks at their ends."""
        return [row.rstrip() for row in self._screen.display]

    def scrollback(self) -> list[str]:
        """The rows that scrolled off, oldest first."""
        rows = []
        for line in self._screen.history.top:
            last = max((column for column, cell in line.items() if cell.data.strip()), default=-1)
            rows.append("".join(line[column].data for column in range(last + 1)).rstrip())
        return rows

    def everything(self) -> list[str]:
        """Scrollback and screen, without blank rows at the end."""
        rows = [*self.scrollback(), *self.screen()]
        while rows and not rows[-1]:
            rows.pop()
        return rows

    def cursor_is_hidden(self) -> bool:
        """Whether the cursor is hidden now."""
        return bool(self._screen.cursor.hidden)

    def strange_sequences(self) -> list[str]:
        """Control sequences that an inline program must not send."""
        found = SEQUENCE.findall(self.sent)
        return [each for each in found if not ALLOWED.fullmatch(each) or each in {"\x1b[2J", "\x1b[3J"}]
