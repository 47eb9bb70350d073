"""The live area at the end of an ordinary scrolling terminal: rows above it are printed once and never touched."""

import os
from collections.abc import Callable, Mapping, Sequence

from cli.display.cells import anchored, cells

HIDE, SHOW = "\x1b[?25l", "\x1b[?25h"
ERASE_BELOW, ERASE_RIGHT = "\x1b[J", "\x1b[K"
NO_WRAP, DO_WRAP = "\x1b[?7l", "\x1b[?7h"
RESET = "\x1b[0m"
INTO_SIGHT = "\x1b7\x1b8"
"""Saving and restoring the cursor moves it only where an emulator left it outside a screen that shrank."""
_REFLOWING = (
    "TMUX", "VTE_VERSION", "KITTY_WINDOW_ID", "WEZTERM_PANE", "ALACRITTY_WINDOW_ID", "WT_SESSION",
    "GHOSTTY_RESOURCES_DIR", "KONSOLE_VERSION", "ITERM_SESSION_ID", "TERM_PROGRAM",
)  # fmt: skip


def reflows(env: Mapping[str, str] = os.environ) -> bool:
    """Whether this terminal is known to wrap its rows anew when its width changes."""
    return env.get("TERM", "").startswith(("tmux", "screen")) or any(env.get(name) for name in _REFLOWING)


class Live:
    """Draws rows below everything printed so far, changing only what differs, by relative moves.

    Where the terminal wraps rows anew at a resize, the cursor rests on the first live row: it moves with its row, so
    the area's beginning is found again. Other terminals cut rows and drop some at the top; there it rests on the last.
    """

    def __init__(self, write: Callable[[str], None], *, rests_on_top: bool = False) -> None:
        self.drawn = 0
        """Characters of the newest frame."""
        self._write = write
        self._rests_on_top = rests_on_top
        self._rows: list[str] = []
        self._at = 0
        self._size = (0, 0)
        self._is_open = False

    @property
    def height(self) -> int:
        """Rows of the live area now."""
        return len(self._rows)

    def frame(self, closed: Sequence[str], live: Sequence[str], size: tuple[int, int]) -> None:
        """Print `closed` rows for good where the live area begins, and `live` ones below; nothing if all is so.

        `size` is the terminal's width and height; the live rows are fewer than its height.
        """
        out: list[str] = [] if self._is_open else [HIDE, "\r", ERASE_BELOW]
        if self._is_open and self._size != size:
            # Where each row went is up to the terminal; where the area begins is known.
            out += [INTO_SIGHT, self._to(0), ERASE_BELOW]
            self._rows = []
        elif closed and self._rests_on_top:
            # Such a terminal may have wrapped the rows anew and not have said so yet (tmux waits 0.25 s): what is
            # printed for good must not lean on where they stand.
            out.append(ERASE_BELOW)
            self._rows = []
        self._size, self._is_open = size, True
        out += self._changes(closed, live)
        self._write_out(out)

    def redraw(self) -> None:
        """Draw everything at the next frame: the program was stopped, and others wrote to the terminal."""
        self._rows, self._at, self._is_open = [], 0, False

    def close(self, closed: Sequence[str], size: tuple[int, int]) -> None:
        """Print the last rows, erase the live area and give the cursor back on a line of its own."""
        if self._is_open or closed:
            self.frame(closed, [], size)
            self._write_out([self._to(0), SHOW])
        self._is_open = False

    def _write_out(self, out: list[str]) -> None:
        text = "".join(out)
        self.drawn = len(text)
        if text:
            self._write(text)

    def _changes(self, closed: Sequence[str], live: Sequence[str]) -> list[str]:
        wanted, old = [*closed, *live], self._rows
        out: list[str] = []
        wraps = True
        for place, row in enumerate(wanted):
            before = old[place] if place < len(old) else None
            if row == before:
                continue
            if place >= len(closed) and wraps:
                out.append(NO_WRAP)
                wraps = False
            out += [self._to(place), self._changed(before, row)]
        if len(old) > len(wanted):
            out += [self._to(len(wanted)), ERASE_BELOW]
        if not wraps:
            out.append(DO_WRAP)
        if out or closed:
            out.append(self._to(len(closed) if self._rests_on_top else max(len(closed), len(wanted) - 1)))
        self._rows = list(live)
        self._at -= len(closed)
        return out

    def _to(self, place: int) -> str:
        """To the first column of that row; rows that are not there yet are made."""
        steps, self._at = place - self._at, place
        if steps < 0:
            return f"\r\x1b[{-steps}A" if steps < -1 else "\r\x1b[A"
        return "\r" + "\n" * steps

    def _changed(self, before: str | None, row: str) -> str:
        """What turns the row before, with the cursor at its beginning, into this one."""
        width = self._size[0]
        kept = 0 if before is None else _same(before, row)
        column = cells(row[:kept])
        move = f"\x1b[{column + 1}G" if column else ""
        text = anchored(row, width)[len(anchored(row[:kept], width)) :]
        is_shorter = before is not None and cells(row) < min(width, cells(before))
        return f"{move}{text}{ERASE_RIGHT if is_shorter else ''}"


def _same(before: str, row: str) -> int:
    """Length of the common beginning behind which no style is on and no cell is half."""
    pairs = enumerate(zip(before, row, strict=False))
    kept = next((place for place, (old, new) in pairs if old != new), min(len(before), len(row)))
    escape = row.rfind("\x1b", 0, kept)
    if escape >= 0 and (escape + len(RESET) > kept or not row.startswith(RESET, escape)):
        kept = escape
    while kept and not (row[kept - 1 : kept + 1].isascii() and before[kept : kept + 1].isascii()):
        kept -= 1
    return kept
