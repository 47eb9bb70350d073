"""A rehearsal model that notes how long each answer took it."""

import asyncio
import time
from asyncio import StreamReader, StreamWriter
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

from worker.rehearsal.http1 import HEAD_LIMIT, Connection, HttpRequest
from worker.rehearsal.record import Record
from worker.rehearsal.scenario import Scenario
from worker.rehearsal.server import Rehearsal

Accept = Callable[[StreamReader, StreamWriter], Awaitable[None]]


class TimedRehearsal(Rehearsal):
    """Notes of each request when it was read and when its answer was sent."""

    def __init__(self, scenario: Scenario, *, strict: bool = True) -> None:
        super().__init__(scenario, scenario.limits, Record(None, 64 * 1024 * 1024), strict=strict)
        self.arrivals: list[float] = []
        """Seconds since the epoch."""
        self.answers: list[float] = []
        """Milliseconds, in the order of arrival."""
        self.sizes: list[int] = []
        """Bytes of each request."""
        self.accept: Accept = self.serve
        """Called for each connection."""

    async def accepted(self, reader: StreamReader, writer: StreamWriter) -> None:
        """Answer one client as `accept` says now."""
        await self.accept(reader, writer)

    async def _messages(self, connection: Connection, request: HttpRequest) -> None:
        began = time.perf_counter()
        place = len(self.answers)
        self.arrivals.append(time.time())
        self.answers.append(0.0)
        self.sizes.append(len(request.body))
        await super()._messages(connection, request)
        self.answers[place] = (time.perf_counter() - began) * 1000


@asynccontextmanager
async def timed(scenario: dict[str, Any], *, strict: bool = True) -> AsyncIterator[TimedRehearsal]:
    """Serve a scenario on loopback while the block runs."""
    model = TimedRehearsal(Scenario.model_validate(scenario), strict=strict)
    server = await asyncio.start_server(model.accepted, "127.0.0.1", 0, limit=HEAD_LIMIT)
    model.url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    try:
        yield model
    finally:
        server.close()
        await model.stop()
        await server.wait_closed()
