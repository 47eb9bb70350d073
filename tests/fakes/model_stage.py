"""A session at its first prompt before a rehearsal model: real HTTP, the real SDK, real files."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from activities.events import read_events
from activities.model.call import ModelCalls
from activities.model.client import AnthropicEndpoint
from activities.stores.objects import FolderStore
from activities.transcript import Transcript
from activities.world import World
from tests.fakes.stores import GatedStore
from tests.fakes.world import SilentBeat, make_world
from worker.rehearsal.scenario import Scenario
from worker.rehearsal.server import Rehearsal, rehearse
from workflows.contracts.messages import Block, Message
from workflows.contracts.model import ModelReply, ModelRequest
from workflows.contracts.permissions import Decision, Verdict
from workflows.contracts.settings import SessionContext, SessionSettings
from workflows.contracts.tools import CallStatus, ToolSpec
from workflows.contracts.transcript import MessageBody, NoticeBody, OutcomeBody, canonical
from workflows.core.view import messages_of

SESSION = "s1"
AT = "2026-01-01T00:00:00Z"
TOOLS = (
    ToolSpec(name="Read", description="Reads.", input_schema={"type": "object"}, may_run_beside_others=True),
    ToolSpec(name="Write", description="Writes.", input_schema={"type": "object"}),
)
_BEAT: ContextVar[SilentBeat] = ContextVar("beat")


@dataclass
class Stage:
    """One session; each `ask` is an attempt of an activity."""

    world: World
    model: Rehearsal
    request: ModelRequest
    """The first request of the session."""

    calls: ModelCalls = field(default_factory=ModelCalls)

    async def ask(self, request: ModelRequest | None = None, beat: SilentBeat | None = None) -> ModelReply:
        """One attempt."""
        _BEAT.set(beat or SilentBeat())
        return await self.calls.ask_model(self.world, request or self.request)

    async def blocks(self, reply: ModelReply) -> tuple[Block, ...]:
        """The blocks of a reply's entry."""
        return (await self.body(reply.head)).blocks

    async def body(self, head: str) -> MessageBody:
        """The message that an entry holds."""
        body = (await self.world.transcript.entry(head)).body
        assert isinstance(body, MessageBody)
        return body

    async def shown(self, head: str) -> tuple[Message, ...]:
        """What the model would be shown at that head, folded anew."""
        return messages_of(link.entry for link in await self.world.transcript.read(head))

    async def outcome(self, exchange: int, call: str, text: str = "done") -> str:
        """A stored outcome of one call."""
        shown = {"kind": "text", "text": text}
        body = OutcomeBody.model_validate(
            {
                "exchange": exchange,
                "place": 0,
                "tool": "Read",
                "call": call,
                "digest": "0" * 64,
                "verdict": Verdict(decision=Decision.ALLOW, by="mode"),
                "status": CallStatus.OK,
                "content": (shown,),
            }
        )
        return await self.world.store.put(canonical(body.model_dump(mode="json")))

    async def after(self, reply: ModelReply, **changes: Any) -> ModelRequest:
        """The next request, behind that reply."""
        given = {"exchange": self.request.exchange + 1, "head": reply.head, "prompt": "", **changes}
        return self.request.model_copy(update=given)

    def told(self, kind: str = "") -> list[dict[str, Any]]:
        """The events of the feed, of one kind if asked."""
        events = read_events(self.world.home.events, SESSION)
        return [event for event in events if kind in {"", event["kind"]}]

    def gated(self) -> "tuple[Stage, GatedStore]":
        """The same stage, whose store can be closed and filled from now on."""
        store = GatedStore(self.world.store)
        world = replace(self.world, store=store, transcript=Transcript(store))
        return replace(self, world=world, calls=ModelCalls()), store

    def another_worker(self) -> "Stage":
        """The same host seen by a worker that remembers nothing."""
        return replace(self, calls=ModelCalls())


@asynccontextmanager
async def model_stage(
    folder: Path, scenario: dict[str, Any], settings: dict[str, Any] | None = None, **played: Any
) -> AsyncIterator[Stage]:
    """A session whose first prompt waits to be sent to that scenario's model."""
    async with rehearse(Scenario.model_validate(scenario), **played) as model:
        stage = await open_stage(folder, model, model.url, settings)
        endpoint = stage.world.model
        try:
            yield stage
        finally:
            assert isinstance(endpoint, AnthropicEndpoint)
            await endpoint.close()


async def open_stage(folder: Path, model: Any, url: str, settings: dict[str, Any] | None = None) -> Stage:
    """The same with a model that is played elsewhere; the folder keeps objects, journal and feed."""
    store = FolderStore(folder / "objects")
    world = make_world(folder, store=store, model=AnthropicEndpoint({}))
    world = replace(world, beat=_BEAT.get)
    given = SessionSettings.model_validate(
        {"model": "rehearsal", "base_url": url, "idle_seconds": 20, **(settings or {})}
    )
    context = SessionContext(session=SESSION, cwd="/", host="h", settings=given, system=("You help.",), tools=TOOLS)
    opened = NoticeBody(what="opened")
    request = ModelRequest(
        session=SESSION,
        exchange=1,
        head=await world.transcript.append("", AT, [opened]),
        context=await store.put(canonical(context.model_dump(mode="json"))),
        at=AT,
        prompt=await store.put(b"list it"),
        turn=1,
    )
    return Stage(world, model, request)
