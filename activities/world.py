"""World: everything an activity may touch, passed in, never global."""

import asyncio
import logging
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, Protocol

from activities.events import EventLog
from activities.lsp.servers import LanguageServers
from activities.processes.spawn import spawn_runner
from activities.stores.home import MANAGED_SETTINGS, Home, Host
from activities.stores.journal import Journal
from activities.stores.maskers import Maskers
from activities.stores.masking import Masker
from activities.stores.objects import ObjectStore
from activities.stores.seen import SeenFiles
from activities.transcript import Transcript
from workflows.contracts.errors import UserError
from workflows.contracts.events import Happened
from workflows.contracts.messages import ToolUse
from workflows.contracts.model import ModelRequest
from workflows.contracts.settings import SessionContext
from workflows.contracts.tools import ToolOutcome

log = logging.getLogger(__name__)

_SESSIONS_HELD = 64
"""Sessions whose files a worker keeps open."""


class ModelEndpoint(Protocol):
    """The far end of the wire: one streamed request to a Messages API."""

    def stream(
        self, body: bytes, base_url: str
    ) -> AbstractAsyncContextManager[AsyncIterator[dict[str, Any]]]:  # Any: the provider's JSON
        """Send the body, JSON bytes; yields the API's stream events as plain JSON objects. Raises the SDK's errors."""
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


@dataclass(frozen=True)
class RunHistory:
    """The history of a workflow run up to now."""

    data: bytes
    """JSON, as Temporal's own tools write and read it."""
    events: int


class Histories(Protocol):
    """Where the history of a workflow run is read."""

    async def fetch(self, workflow_id: str, run_id: str) -> RunHistory:
        """The run's history up to now."""
        ...


@dataclass(frozen=True)
class Early:
    """A safe call that runs before its activity."""

    task: asyncio.Task[ToolOutcome | None]
    noted: dict[Path, str]
    """Files it has read, with their digests."""


class StartEarly(Protocol):
    """Decides whether a call may run while its reply still streams, and starts it."""

    def __call__(
        self, world: "World", request: ModelRequest, context: SessionContext, place: int, use: ToolUse, /
    ) -> None:
        """`place` is the call's index among the reply's calls; all calls before it may run beside others."""
        ...


def _never(_world: "World", _request: ModelRequest, _context: SessionContext, _place: int, _use: ToolUse, /) -> None:
    """Start nothing early."""


def _same(_world: "World", context: SessionContext, /) -> SessionContext:
    """Every tool stays."""
    return context


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
    engine: str = ""
    """Which server gives the orders; a session is looked for only at the one that knows it."""
    environment: Mapping[str, str] = field(default_factory=dict)
    """The worker's environment; commands get a part of it."""
    managed_settings: tuple[Path, ...] = MANAGED_SETTINGS
    """Files of whoever runs the machine."""
    early: dict[str, Early] = field(default_factory=dict)
    """Safe calls started while their reply still streams, by effect key."""
    start_early: StartEarly = _never
    """Told of each complete tool use of a reply that still streams."""
    allowed_now: Callable[["World", SessionContext], SessionContext] = _same
    """The context of the next request: without tools that the provider runs and a rule forbids by now."""
    start_runner: Callable[[Path], None] = spawn_runner
    """Starts the runner of a command's folder and waits for its claim."""
    logs: dict[str, EventLog] = field(default_factory=dict)
    """Open event logs, by session, the one used last at the end."""
    read_files: dict[str, SeenFiles] = field(default_factory=dict)
    """Which files each session has read on this host, the one used last at the end."""

    languages: LanguageServers = field(default_factory=LanguageServers)
    """The language servers of this worker."""

    def publish(self, session: str, *events: Happened) -> None:
        """Tell whoever watches the session. A feed that cannot be written stops no work: the log says so."""
        log_of = self.logs.pop(session, None) or EventLog(self.home.events, session, self.host.id)
        self.logs[session] = log_of
        while len(self.logs) > _SESSIONS_HELD:
            self.logs.pop(next(iter(self.logs))).close()
        try:
            # What an event quotes was masked where it was made; keys that are known are looked for once more.
            known = self.masker(session)
            log_of.publish(
                [
                    {name: known.json_known(value) for name, value in event.model_dump(mode="json").items()}
                    for event in events
                ]
            )
        except UserError as error:
            log.warning("an event of session %s was not told: %s", session, error)

    def masker(self, session: str) -> Masker:
        """Masks what is secret for the session on this host."""
        return self._maskers.of(session)

    @cached_property
    def _maskers(self) -> Maskers:
        return Maskers(self.home, self.environment)

    def seen(self, session: str) -> SeenFiles:
        """Which files the session has read on this host."""
        files = self.read_files.pop(session, None) or SeenFiles(self.home.journal / session / "seen.ndjson")
        self.read_files[session] = files
        while len(self.read_files) > _SESSIONS_HELD:
            self.read_files.pop(next(iter(self.read_files)))
        return files
