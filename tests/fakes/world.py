"""A small real world for tests of activities: a home and stores in a temporary folder, a model that is never asked."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

from activities.stores.home import Home
from activities.stores.journal import Journal, effect_key
from activities.stores.objects import MemoryStore, ObjectStore
from activities.tool import Call, Tool, ToolInput
from activities.transcript import Transcript
from activities.world import Beat, Histories, ModelEndpoint, RunHistory, World
from tests.fakes.held import usual
from workflows.contracts.settings import SessionSettings
from workflows.contracts.tools import ToolOutcome

SESSION = "s1"
Given = TypeVar("Given", bound=ToolInput)


class NoModel:
    """The far end of a wire that no test of tools needs."""

    def stream(self, body: bytes, base_url: str) -> AbstractAsyncContextManager[AsyncIterator[dict[str, Any]]]:
        """Nothing is ever asked here."""
        raise AssertionError("a test without a model asked the model")


class NoHistories:
    """An engine that has no runs."""

    async def fetch(self, workflow_id: str, run_id: str) -> RunHistory:
        """An empty history."""
        return RunHistory(b'{"events": []}', 0)


@dataclass
class SilentBeat:
    """A beat that keeps what it is told."""

    said: list[tuple[str, ...]] = field(default_factory=list)
    details: tuple[str, ...] = ()
    attempt: int = 1
    cancelled: asyncio.Event = field(default_factory=asyncio.Event)
    worker: str = "test-worker"

    def say(self, *details: str) -> None:
        """Keep it."""
        self.said.append(details)


def make_world(
    folder: Path,
    store: ObjectStore | None = None,
    model: ModelEndpoint | None = None,
    histories: Histories | None = None,
    beat: Beat | None = None,
) -> World:
    """A world with PERDURE_HOME in that folder; objects in memory unless a store is given."""
    home = Home(folder / "home")
    home.ensure()
    store = store or MemoryStore()
    told = beat or SilentBeat()
    return World(
        home=home,
        host=home.host(),
        store=store,
        transcript=Transcript(store),
        journal=Journal(home.journal),
        model=model or NoModel(),
        histories=histories or NoHistories(),
        beat=lambda: told,
    )


def make_call(
    world: World, workspace: Path, tool: str = "Read", place: int = 0, *, is_repeat: bool = False, **changed: Any
) -> Call:
    """A call in that workspace, which is made when it is missing; the same place and tool are the same call."""
    workspace.mkdir(parents=True, exist_ok=True)
    key = effect_key(SESSION, 1, place, tool, "{}")
    given: dict[str, Any] = {
        "world": world,
        "session": SESSION,
        "exchange": 1,
        "place": place,
        "key": key,
        "record": world.journal.call(SESSION, key),
        "workspace": workspace.resolve(),
        "cwd": workspace.resolve(),
        "seen": world.seen(SESSION),
        "settings": SessionSettings(sandbox=usual()),
        "is_repeat": is_repeat,
    }
    return Call(**{**given, **changed})


async def use(call: Call, tool: Tool[Given], **given: Any) -> ToolOutcome:
    """Run a tool with what a model would give it."""
    return await tool.run(call, tool.input.model_validate(given))


def text_of(outcome: ToolOutcome) -> str:
    """All text of an outcome, as the model reads it."""
    return "\n".join(part.text for part in outcome.content if part.kind == "text")
