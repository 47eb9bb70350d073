"""What watchers see of a reply while it comes: the first text at once, then a line every few milliseconds."""

import asyncio
from collections.abc import Callable
from contextlib import suppress

from workflows.contracts.errors import UserError
from workflows.contracts.events import BlockEnded, Happened, TextDelta, ThinkingDelta
from workflows.contracts.model import ModelRequest

EVERY = 0.015
"""Seconds between two lines of one block."""


class LiveFeed:
    """Gathers the pieces of a reply into few lines of the feed; a feed that takes no more never stops a reply."""

    def __init__(self, publish: Callable[[Happened], None], request: ModelRequest, attempt: int) -> None:
        self._publish = publish
        self._where = {"turn": request.turn, "exchange": request.exchange, "attempt": attempt}
        self._pieces: list[str] = []
        self._block = 0
        self._is_thought = False
        self._rest = ""
        self._last = 0.0
        self._timer: asyncio.TimerHandle | None = None

    def add(self, block: int, text: str, *, is_thought: bool) -> None:
        """Another piece of a text or thinking block."""
        if (block, is_thought) != (self._block, self._is_thought):
            self.flush()
            self._block, self._is_thought, self._rest = block, is_thought, ""
        text, self._rest = _parted(self._rest + text)
        if not text:
            return
        self._pieces.append(text)
        loop = asyncio.get_running_loop()
        wait = self._last + EVERY - loop.time()
        if wait <= 0:
            self.flush()
        elif self._timer is None:
            self._timer = loop.call_later(wait, self.flush)

    def ended(self, block: int, kind: str) -> None:
        """A block is complete."""
        self.flush()
        self._tell(BlockEnded(block=block, block_kind=kind))

    def flush(self) -> None:
        """Tell what is gathered now."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if not self._pieces:
            return
        text = "".join(self._pieces)
        self._pieces = []
        self._last = asyncio.get_running_loop().time()
        kind = ThinkingDelta if self._is_thought else TextDelta
        self._tell(kind(block=self._block, text=text))

    def _tell(self, event: Happened) -> None:
        # What counts is rebuilt from history and chain; the disk's complaint is raised where the reply is stored.
        with suppress(UserError):
            self._publish(event.model_copy(update=self._where))


def _parted(text: str) -> tuple[str, str]:
    """The text whose characters are whole, and half of one that waits for its other half."""
    if text.isascii():
        return text, ""
    rest = text[-1] if "\ud800" <= text[-1] <= "\udbff" else ""
    return whole_text(text[: len(text) - len(rest)]), rest


def whole_text(text: str) -> str:
    """The same text with the halves of characters joined; half a character alone becomes U+FFFD."""
    if text.isascii() or not any("\ud800" <= letter <= "\udfff" for letter in text):
        return text
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
