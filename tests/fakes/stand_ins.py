"""STAND: the session's own workflow on a real engine, with activities that do as a test orders."""

import asyncio
import secrets
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any

from temporalio import activity
from temporalio.client import Client, WorkflowHandle
from temporalio.exceptions import ApplicationError
from temporalio.worker import Worker

from activities.stores.home import Home
from worker.assemble import workflow_runner
from worker.connection import connect, resolve_address
from worker.engine import down, ensure_up
from worker.person_key import person_key
from workflows.contracts.extensions import HookDone, HookMoment
from workflows.contracts.ids import SHARED_QUEUE, host_queue
from workflows.contracts.model import CallRef, ModelReply, ModelRequest, StopReason
from workflows.contracts.permissions import signed_bytes
from workflows.contracts.session import Close, Prompt, SessionInput, SessionResult
from workflows.contracts.session_steps import Archived, ArchiveRequest, Opened, OpenRequest, Settled, SettleRequest
from workflows.contracts.settings import Thresholds
from workflows.contracts.tools import CallStatus, EndRequest, ToolDone, ToolRequest
from workflows.session import SessionWorkflow

DIGEST = "ab" * 32


async def _nothing(_request: Any) -> None:
    return None


@dataclass
class Stand:
    """What the activities do before they answer, and what they were asked."""

    client: Client
    home: Home
    host: str = field(default_factory=lambda: secrets.token_hex(8))
    calls: tuple[CallRef, ...] = ()
    """Calls of the first reply."""
    beyond: int = 0
    asked: list[ModelRequest] = field(default_factory=list)
    settled: list[SettleRequest] = field(default_factory=list)
    archived: list[ArchiveRequest] = field(default_factory=list)
    on_ask: Callable[[ModelRequest], Awaitable[None]] = _nothing
    on_settle: Callable[[SettleRequest], Awaitable[None]] = _nothing
    on_archive: Callable[[ArchiveRequest], Awaitable[None]] = _nothing
    on_tool: Callable[[ToolRequest], Awaitable[None]] = _nothing
    on_end: Callable[[EndRequest], Awaitable[None]] = _nothing
    hooks: tuple[str, ...] = ()
    """Events that have hooks."""
    on_hooks: Callable[[HookMoment], Awaitable[None]] = _nothing

    async def start(self, *, once: bool = True, **thresholds: Any) -> WorkflowHandle[SessionWorkflow, SessionResult]:
        """A session whose activities are these."""
        session = f"t{secrets.token_hex(4)}"
        given = SessionInput(
            session=session,
            cwd="/w",
            host=self.host,
            store="s",
            settings=DIGEST,
            public_key=person_key(self.home).public_key().public_bytes_raw().hex(),
            prompts=(Prompt(digest=DIGEST),),
            once=once,
            thresholds=Thresholds(**thresholds),
        )
        return await self.client.start_workflow(
            SessionWorkflow.run, given, id=f"session-{session}", task_queue=SHARED_QUEUE
        )

    async def close(self, handle: WorkflowHandle[SessionWorkflow, SessionResult]) -> None:
        """A signed close."""
        session = handle.id.removeprefix("session-")
        said = signed_bytes(session, "close", "c", "enough", "tester")
        signature = person_key(self.home).sign(said).hex()
        given = Close(request="c", reason="enough", by="tester", signature=signature)
        await handle.execute_update(SessionWorkflow.close, given)

    def activities(self) -> list[Callable[..., Any]]:
        """All but those of the host."""

        @activity.defn(name="ask_model")
        async def ask(request: ModelRequest) -> ModelReply:
            self.asked.append(request)
            await self.on_ask(request)
            calls = self.calls if len(self.asked) == 1 else ()
            stop = StopReason.TOOL_USE if calls else StopReason.END_TURN
            return ModelReply(head=DIGEST, stop=stop, calls=calls, beyond=self.beyond if calls else 0)

        @activity.defn(name="settle")
        async def settle(request: SettleRequest) -> Settled:
            self.settled.append(request)
            await self.on_settle(request)
            return Settled(head=DIGEST)

        @activity.defn(name="archive_history")
        async def archive(request: ArchiveRequest) -> Archived:
            self.archived.append(request)
            await self.on_archive(request)
            return Archived(head=DIGEST, history=DIGEST)

        return [ask, settle, archive]

    def host_activities(self) -> list[Callable[..., Any]]:
        """Those of the host."""

        @activity.defn(name="open_session")
        async def opened(_request: OpenRequest) -> Opened:
            return Opened(context=DIGEST, head=DIGEST, hooks=self.hooks)

        @activity.defn(name="run_hooks")
        async def hooks(request: HookMoment) -> HookDone:
            await self.on_hooks(request)
            return HookDone(head=DIGEST)

        @activity.defn(name="run_tool")
        async def run(request: ToolRequest) -> ToolDone:
            await self.on_tool(request)
            return ToolDone(outcome=f"{request.place:064x}", status=CallStatus.OK)

        @activity.defn(name="end_call")
        async def end(request: EndRequest) -> ToolDone:
            await self.on_end(request)
            return ToolDone(outcome=f"{request.place:064x}", status=CallStatus.CANCELLED)

        return [opened, hooks, run, end]

    @asynccontextmanager
    async def shared(self) -> AsyncIterator[None]:
        """Whatever needs no host is served as long as the block runs."""
        async with Worker(
            self.client,
            task_queue=SHARED_QUEUE,
            workflows=[SessionWorkflow],
            activities=self.activities(),
            workflow_runner=workflow_runner(),
            sticky_queue_schedule_to_start_timeout=timedelta(seconds=1),
        ):
            yield

    @asynccontextmanager
    async def on_host(self) -> AsyncIterator[None]:
        """The session's host is there as long as the block runs."""
        async with Worker(self.client, task_queue=host_queue(self.host), activities=self.host_activities()):
            yield


@asynccontextmanager
async def bare_engine(home: Home) -> AsyncIterator[Client]:
    """An engine without a worker of ours, for as long as the block runs."""
    home.ensure()
    await asyncio.to_thread(ensure_up, home, (sys.executable, "-c", "import time\ntime.sleep(900)"))
    try:
        yield await connect(resolve_address({}, home))
    finally:
        await asyncio.to_thread(down, home)


def failing(kind: str, times: int, *, for_good: bool = False) -> Callable[[Any], Awaitable[None]]:
    """Fail so many times, then no more."""
    left = [times]

    async def fail(_request: Any) -> None:
        left[0] -= 1
        if left[0] >= 0:
            raise ApplicationError(f"planted {kind}", type=kind, non_retryable=for_good)

    return fail
