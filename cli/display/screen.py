"""The frame loop: events in, frames out, whoever draws them."""

import asyncio
import inspect
import os
import signal
import time
from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from typing import Protocol, TextIO

from cli.display.inline import InlineView, Size
from cli.display.live import Live, reflows
from cli.display.plain import PlainView
from cli.display.theme import Theme, wants_colour
from cli.watch import Screen, reduce
from workflows.contracts.events import Event

TICK_SECONDS = 1.0
"""How often ages and countdowns are drawn anew while nothing happens."""
STATUS_SECONDS = 3.0
"""How often the engine is asked what it waits for while no event comes."""
_AHEAD = 4096

StatusSource = Callable[[], tuple[str, str] | Awaitable[tuple[str, str]]]
"""What the session waits for and its phase, as the engine says; either may be empty."""


class View(Protocol):
    """Whoever draws screens."""

    def load(self) -> None:
        """Import what drawing needs."""

    def draw(self, screen: Screen, now: float) -> Screen:
        """Bring the output up to date; the screen without what is printed for good."""
        ...

    def close(self, screen: Screen, now: float) -> Screen:
        """Print what is left and leave the output in order."""
        ...

    def redraw(self) -> None:
        """Others wrote to the output."""

    def pause(self) -> float:
        """Seconds from one frame to the next, at least."""
        ...


def view_for(out: TextIO, session: str = "") -> View:
    """A live view on a terminal, plain lines elsewhere."""
    write = writer(out)
    if not is_terminal(out):
        return PlainView(write, session)
    live = Live(write, rests_on_top=reflows())
    return InlineView(live, lambda: size_of(out), Theme(colour=wants_colour()), session)


def is_terminal(out: TextIO) -> bool:
    """Whether control codes are understood there."""
    return out.isatty() and os.environ.get("TERM", "dumb") not in {"dumb", ""}


def size_of(out: TextIO) -> Size:
    """Width and height of the terminal; 80 × 24 where it does not say."""
    with suppress(OSError, ValueError):
        size = os.get_terminal_size(out.fileno())
        if size.columns > 0 and size.lines > 0:
            return size.columns, size.lines
    return 80, 24


def writer(out: TextIO) -> Callable[[str], None]:
    """Writes a whole frame at once; what the output's encoding lacks is replaced."""
    encoding = out.encoding if isinstance(getattr(out, "encoding", None), str) else "utf-8"

    def write(text: str) -> None:
        out.write(text.encode(encoding, "replace").decode(encoding))
        out.flush()

    return write


async def watch_events(
    events: AsyncIterator[Event],
    out: TextIO,
    until: Callable[[Event], bool],
    *,
    screen: Screen | None = None,
    status_source: StatusSource | None = None,
    view: View | None = None,
) -> Screen:
    """Draw a session until an event for which `until` is true, or the last one; the screen then.

    However it ends, the output is left in order: on a terminal the live area is finished and the cursor is shown.
    """
    screen = screen or Screen()
    loop = _Frames(view or view_for(out, screen.session), screen, until, status_source)
    pump = asyncio.create_task(loop.pump(events))
    try:
        with _signals(loop):
            await loop.run(pump)
    finally:
        loop.close()
        pump.cancel()
        await asyncio.gather(pump, return_exceptions=True)
    return loop.screen


class _Frames:
    """Collects events as they come and draws at most thirty times a second."""

    def __init__(
        self, view: View, screen: Screen, until: Callable[[Event], bool], status_source: StatusSource | None
    ) -> None:
        self.view = view
        self.screen = screen
        self._until = until
        self._status_source = status_source
        self._events: deque[Event] = deque()
        self._news = asyncio.Event()
        self._room = asyncio.Event()
        self._is_over = False
        self._heard = self._asked = time.monotonic()

    async def pump(self, events: AsyncIterator[Event]) -> None:
        """Take events in, a bounded number ahead of the drawing."""
        try:
            async for event in events:
                self._events.append(event)
                self._news.set()
                while len(self._events) >= _AHEAD:
                    self._room.clear()
                    await self._room.wait()
        finally:
            self._news.set()

    async def run(self, pump: "asyncio.Task[None]") -> None:
        """Draw until it is over."""
        loading = asyncio.create_task(asyncio.to_thread(self.view.load))
        drawn = -1.0
        while not self._is_over:
            await self._wait(drawn)
            self._take()
            self._is_over = self._is_over or (pump.done() and not self._events)
            drawn = time.monotonic()
            self.screen = self.view.draw(self.screen, time.time())
            await self._ask_engine()
        await loading
        if pump.done() and not pump.cancelled():
            pump.result()

    async def _wait(self, drawn: float) -> None:
        """Until there is something to draw: at once after a pause, else when the next frame is due."""
        with suppress(TimeoutError):
            await asyncio.wait_for(self._news.wait(), TICK_SECONDS if drawn >= 0 else 0)
        await asyncio.sleep(max(0.0, drawn + self.view.pause() - time.monotonic()))

    def _take(self) -> None:
        self._news.clear()
        while self._events and not self._is_over:
            event = self._events.popleft()
            self.screen = replace(reduce(self.screen, event), waiting_for="")
            self._heard = time.monotonic()
            self._is_over = self._until(event)
        self._room.set()

    async def _ask_engine(self) -> None:
        now = time.monotonic()
        if self._status_source is None or min(now - self._heard, now - self._asked) < STATUS_SECONDS:
            return
        self._asked = now
        try:
            answer = self._status_source()
            async with asyncio.timeout(STATUS_SECONDS):
                waiting_for, phase = await answer if inspect.isawaitable(answer) else answer
        except Exception as error:  # noqa: BLE001  whatever the engine's trouble is, the watcher is told and goes on
            waiting_for, phase = f"the engine, which does not answer ({type(error).__name__})", ""
        if time.monotonic() - self._heard >= STATUS_SECONDS:
            self.screen = replace(self.screen, waiting_for=waiting_for, phase=phase or self.screen.phase)

    def wake(self) -> None:
        """Draw soon: the terminal has another size, or the program was stopped."""
        self._news.set()

    def resumed(self) -> None:
        """The program was stopped and goes on."""
        self.view.redraw()
        self.wake()

    def close(self) -> None:
        """Leave the output in order, once."""
        view, self.view = self.view, _Closed()
        self.screen = view.close(self.screen, time.time())

    def terminated(self) -> None:
        """Leave the output in order, then end as the signal wants it."""
        self.close()
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        os.kill(os.getpid(), signal.SIGTERM)


class _Closed:
    """Draws nothing any more."""

    def load(self) -> None:
        """Nothing."""

    def draw(self, screen: Screen, now: float) -> Screen:  # noqa: ARG002  as every view
        """Nothing is drawn."""
        return screen

    def close(self, screen: Screen, now: float) -> Screen:  # noqa: ARG002  as every view
        """It is closed."""
        return screen

    def redraw(self) -> None:
        """Nothing."""

    def pause(self) -> float:
        """As good as for ever."""
        return 1.0


@contextmanager
def _signals(frames: _Frames) -> Iterator[None]:
    """Hear of another size, of being continued, and of termination where nobody else listens for it."""
    wanted = {signal.SIGWINCH: frames.wake, signal.SIGCONT: frames.resumed}
    if signal.getsignal(signal.SIGTERM) == signal.SIG_DFL:
        wanted[signal.SIGTERM] = frames.terminated
    loop = asyncio.get_running_loop()
    heard: list[signal.Signals] = []
    try:
        # Outside the main thread, and on loops without signals, sizes are seen at the next tick.
        with suppress(ValueError, RuntimeError):
            for number, act in wanted.items():
                loop.add_signal_handler(number, act)
                heard.append(number)
        yield
    finally:
        for number in heard:
            loop.remove_signal_handler(number)
