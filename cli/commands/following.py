"""A session's events until what is waited for has come: from the feed, and from the engine where that is silent."""

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import suppress

from cli.reader import Reader
from cli.sessions import Sessions
from workflows.contracts.errors import EngineUnreachable, PerdureError, UserError
from workflows.contracts.events import Event, Notice, SessionClosed, TurnEnded
from workflows.contracts.session import SessionResult, SessionState, Snapshot, TurnEnd

LOOK_S = 2.0
"""How often the engine is asked whether the session still goes on."""
GRACE_S = 2.0
"""How long the feed may lag behind the engine before the engine's word counts."""
NO_FEED_S = 4.0
"""After this time without a feed the transcript is shown instead."""
PATIENCE_S = 300.0
"""How long a server that went away is waited for: it is started again, or its machine."""


class Following:
    """One session's events; ends by raising UserError when the session fails or the server stays away."""

    def __init__(self, reader: Reader, sessions: Sessions, session: str, *, turn: int = 0, from_seq: int = 0) -> None:
        """`turn`: the one whose end is waited for, earlier ones are not told; 0 for the end of the session."""
        self._reader = reader
        self._sessions = sessions
        self._session = session
        self._turn = turn
        self._from_seq = from_seq
        self._queue: asyncio.Queue[Event | PerdureError] = asyncio.Queue(1024)
        self._known = 0
        self._is_rebuilt = False
        self.ended: TurnEnded | None = None
        """How the newest turn ended, as far as it was told."""

    async def events(self) -> AsyncIterator[Event]:
        """Every event as it comes, and at last the end of the turn or session, whoever tells it."""
        stop = asyncio.Event()
        tasks = [asyncio.create_task(self._feed(stop)), asyncio.create_task(self._mind())]
        try:
            while True:
                event = await self._queue.get()
                if isinstance(event, PerdureError):
                    raise event
                if self._turn and 0 < event.turn < self._turn:
                    continue
                if isinstance(event, TurnEnded):
                    self.ended = event
                yield event
                if self.is_last(event):
                    return
        finally:
            stop.set()
            for task in tasks:
                task.cancel()
            with suppress(asyncio.CancelledError):
                await asyncio.gather(*tasks, return_exceptions=True)

    def is_last(self, event: Event) -> bool:
        """Whether nothing is waited for after this event."""
        return isinstance(event, SessionClosed) or (
            self._turn > 0 and isinstance(event, TurnEnded) and event.turn >= self._turn
        )

    async def status(self) -> tuple[str, str]:
        """What the session waits for, and its phase, as the engine says."""
        snapshot = await self._sessions.snapshot(self._session)
        if snapshot is None:
            return "a worker: none answers (perdure status tells more)", ""
        return snapshot.state.waiting_for, snapshot.phase

    async def _feed(self, stop: asyncio.Event) -> None:
        try:
            async for event in self._reader.follow(self._session, self._from_seq, stop):
                self._is_rebuilt = False
                await self._queue.put(event)
        except (OSError, PerdureError) as error:
            await self._queue.put(Notice(what="feed", text=f"the event feed cannot be read: {error}"))

    async def _mind(self) -> None:
        """Ask the engine now and then, so that a watcher ends even if no event ever comes."""
        started = heard = time.monotonic()
        is_away = False
        while True:
            await asyncio.sleep(LOOK_S)
            try:
                await self._look(time.monotonic() - started)
                heard, was_away, is_away = time.monotonic(), is_away, False
                if was_away:
                    await self._tell("the server answers again")
            except EngineUnreachable as error:
                if not is_away:
                    await self._tell(f"{error} Waiting for it; the session is kept.")
                is_away = True
                if time.monotonic() - heard > PATIENCE_S:
                    await self._queue.put(error)
            except PerdureError as error:
                await self._queue.put(error)
                return

    async def _look(self, waited: float) -> None:
        listed = await self._sessions.describe(self._session)
        if not listed.is_open:
            result = await self._ended()
            await asyncio.sleep(GRACE_S)
            await self._close(result)
            return
        if not self._turn and self._reader.has_feed(self._session):
            return
        snapshot = await self._sessions.snapshot(self._session)
        if snapshot is None:
            return
        if waited > NO_FEED_S and not self._reader.has_feed(self._session):
            await self._rebuild(snapshot.state.head)
        if self._turn and _is_over(snapshot.state, self._turn):
            await asyncio.sleep(GRACE_S)
            await self._end(snapshot)

    async def _ended(self) -> SessionResult:
        result = await self._sessions.result(self._session, LOOK_S)
        if result is None:
            raise UserError(f"Session {self._session} has ended and left no result; `perdure audit` shows its steps.")
        return result

    async def _close(self, result: SessionResult) -> None:
        if not self._reader.has_feed(self._session):
            await self._rebuild(result.head)
        if self.ended is None or self.ended.turn < result.turns:
            end = result.end or TurnEnd.INTERRUPTED
            if self._turn > result.turns:
                # The prompt never got its turn.
                end = TurnEnd.INTERRUPTED
            event = TurnEnded(
                turn=max(self._turn, result.turns), reason=end.value, error=result.error, totals=result.totals,
                head=result.head,
            )  # fmt: skip
            await self._queue.put(event)
        await self._queue.put(SessionClosed(reason=result.reason, head=result.head))

    async def _end(self, snapshot: Snapshot) -> None:
        state = snapshot.state
        if self.ended is not None and self.ended.turn >= self._turn:
            return
        reason = (state.last_end or TurnEnd.FAILED).value
        await self._queue.put(
            TurnEnded(turn=self._turn, reason=reason, error=state.last_error, totals=state.totals, head=state.head)
        )

    async def _rebuild(self, head: str) -> None:
        """Tell what the transcript holds, where no feed of the session is within reach."""
        if not head:
            return
        entries = await self._reader.entries(head, self._known)
        self._known += len(entries)
        from cli.watch import events_from_chain

        for event in events_from_chain(entries):
            is_source = isinstance(event, Notice) and event.what == "feed"
            if not (is_source and self._is_rebuilt):
                await self._queue.put(event)
            self._is_rebuilt = True

    async def _tell(self, text: str) -> None:
        await self._queue.put(Notice(what="engine", text=text))


def _is_over(state: SessionState, turn: int) -> bool:
    """Whether that turn has had its end."""
    running = state.turn.number if state.turn else 0
    return state.turns >= turn and (running == 0 or running > turn) and state.last_end is not None
