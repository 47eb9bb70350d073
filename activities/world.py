"""World: everything an activity may touch, passed in, never global."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field
from typing import Protocol

from pydantic import JsonValue

from activities.events import EventLog
from activities.stores.home import Home, Host
from activities.stores.journal import Journal
from activities.stores.objects import ObjectStore
from activities.stores.seen import SeenFiles
from activities.transcript import Transcript
from workflows.contracts.events import Happened
from workflows.contracts.model import ModelReply
from workflows.contracts.tools import ToolOutcome


class ModelEndpoint(Protocol):
    """The far end of the wire: one streamed request to a Messages API."""

    def stream(
        self, body: dict[str, JsonValue], base_url: str
    ) -> AbstractAsyncContextManager[AsyncIterator[dict[str, JsonValue]]]:
        """Send the body; yields the API's stream events as plain JSON objects. Raises the SDK's own errors."""
        ...


class Beat(Protocol):
    """How an activity tells that it lives, and learns that it shall stop."""

    def say(self, *details: str) -> None:
        """Tell the engine these details with the next beat."""
        ...

    @property
    def details(self) -> tuple[str, ...]:
        """What the attempt before said last."""
        ...

    @property
    def attempt(self) -> int:
        """Number of this attempt, from 1."""
        ...

    @property
    def cancelled(self) -> asyncio.Event:
        """Set when the workflow asked for the end of this activity."""
        ...

    @property
    def worker(self) -> str:
        """Identity of the worker."""
        ...


class Histories(Protocol):
    """Where the history of a workflow run is read."""

    async def fetch(self, workflow_id: str, run_id: str) -> bytes:
        """The run's history up to now, as JSON bytes."""
        ...


@dataclass(frozen=True)
class World:
    """One worker's surroundings."""

    home: Home
    host: Host
    store: ObjectStore
    transcript: Transcript
    journal: Journal
    model: ModelEndpoint
    histories: Histories
    beat: Callable[[], Beat]
    """The beat of the activity that runs now."""
    environment: dict[str, str] = field(default_factory=dict)
    """The worker's environment; commands get a part of it."""
    flights: dict[str, asyncio.Task[ModelReply]] = field(default_factory=dict)
    """Model calls under way in this worker, by session and exchange."""
    prefetched: dict[str, asyncio.Task[ToolOutcome]] = field(default_factory=dict)
    """Safe tools started while their reply still streams, by effect key."""
    logs: dict[str, EventLog] = field(default_factory=dict)
    """Open event logs, by session."""

    def publish(self, session: str, *events: Happened) -> None:
        """Tell whoever watches the session."""
        if session not in self.logs:
            self.logs[session] = EventLog(self.home.events, session, self.host.id)
        self.logs[session].publish([event.model_dump(mode="json") for event in events])

    def seen(self, session: str) -> SeenFiles:
        """Which files the session has read on this host."""
        return SeenFiles(self.home.journal / session / "seen.ndjson")
