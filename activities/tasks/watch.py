"""watch_task, end_task: wait for what a background task has to tell."""

import asyncio
import time
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from activities.processes.attach import end_command, ended, is_running, last_look
from activities.processes.command import CommandEnd, EndKind
from activities.processes.output import read_output, stored_bytes
from activities.tasks.words import told_end, told_lines
from activities.world import World
from workflows.contracts.tasks import TaskKind, Watched, WatchRequest

LOOK_S = 0.1
QUIET_S = 0.5
"""Lines that come closer together are told together."""
BETWEEN_S = 5.0
"""A session hears of a task's lines at most so often."""


async def watch_task(world: World, request: WatchRequest) -> Watched:
    """Wait until the task has ended, there are lines that its session wants to hear of, or the wait is cancelled."""
    folder = world.journal.call(request.session, request.task.key).folder
    lines = _Lines(folder, request.offset, is_first=request.number == 1)
    stop = world.beat().cancelled
    end: CommandEnd | None = None
    while end is None and is_running(folder):
        if stop.is_set():
            return Watched(offset=request.offset)
        if request.task.kind == TaskKind.MONITOR and (until := lines.due()) > request.offset:
            return await told_lines(world, request, until)
        with suppress(TimeoutError):
            await asyncio.wait_for(stop.wait(), LOOK_S)
        end = ended(folder)
    if end is None:
        end = await asyncio.to_thread(last_look, folder)
    return await told_end(world, request, end)


async def end_task(world: World, request: WatchRequest) -> Watched:
    """End the task, if it still runs, and tell how it ended."""
    end = await end_command(world.journal.call(request.session, request.task.key).folder)
    never = CommandEnd(kind=EndKind.CANCELLED, is_started=False, note="it was ended before it began")
    return await told_end(world, request, end or never)


@dataclass
class _Lines:
    """What was printed and not told yet."""

    folder: Path
    offset: int
    is_first: bool
    began: float = field(default_factory=time.monotonic)
    size: int = 0
    grown: float = 0.0
    waits_since: float = 0.0

    def due(self) -> int:
        """Where the lines end that are to be told now; the old offset when it is not time or there is no whole line."""
        now, size = time.monotonic(), stored_bytes(self.folder)
        if size <= self.offset:
            return self.offset
        if size != self.size:
            self.waits_since = self.waits_since or now
            self.size, self.grown = size, now
        is_told_together = now - self.grown >= QUIET_S or now - self.waits_since >= BETWEEN_S
        if not is_told_together or not (self.is_first or now - self.began >= BETWEEN_S):
            return self.offset
        return self.offset + read_output(self.folder, self.offset, size - self.offset).rfind(b"\n") + 1
