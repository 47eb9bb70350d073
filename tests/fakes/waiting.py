"""Bounded waits: a test waits for what must come, never for a fixed time."""

import asyncio
import time
from collections.abc import Awaitable, Callable
from typing import TypeVar

Found = TypeVar("Found")

PAUSE = 0.02
"""Seconds between two looks."""


def eventually(predicate: Callable[[], Found | None], seconds: float = 15, what: str = "") -> Found:
    """The first true value of the predicate; an AssertionError that names it once the seconds are over."""
    end = time.monotonic() + seconds
    while not (found := predicate()):
        if time.monotonic() > end:
            raise AssertionError(_too_late(predicate, seconds, what))
        time.sleep(PAUSE)
    return found


async def eventually_async(
    predicate: Callable[[], Awaitable[Found | None] | Found | None], seconds: float = 15, what: str = ""
) -> Found:
    """The same on an event loop, for a predicate that may be a coroutine function; a look that hangs is cut too."""
    try:
        async with asyncio.timeout(seconds):
            while True:
                looked = predicate()
                found = await looked if isinstance(looked, Awaitable) else looked
                if found:
                    return found
                await asyncio.sleep(PAUSE)
    except TimeoutError:
        raise AssertionError(_too_late(predicate, seconds, what)) from None


def _too_late(predicate: Callable[[], object], seconds: float, what: str) -> str:
    return f"{what or getattr(predicate, '__qualname__', predicate)}: not true within {seconds} s"
