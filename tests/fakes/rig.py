"""RIG: a real engine, a real worker and a rehearsal model, for sessions that are killed in the middle."""

import asyncio
import os
import secrets
import signal
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Any

from temporalio.client import Client, WorkflowHandle

from activities.stores.home import Home
from activities.stores.objects import FolderStore, open_store
from activities.transcript import Link, Transcript
from tests.fakes.held import usual
from tests.fakes.waiting import eventually_async
from worker.connection import connect, resolve_address
from worker.engine import down, ensure_up
from worker.engine_state import read_state
from worker.health import read_health
from worker.person_key import person_key
from worker.rehearsal.scenario import Scenario
from worker.rehearsal.server import Rehearsal, rehearse
from workflows.contracts.ids import SHARED_QUEUE, TASK_TIMEOUT, session_workflow
from workflows.contracts.permissions import Answer, Approval, Chosen, Mode, answer_bytes, signed_bytes
from workflows.contracts.session import Close, Interrupt, Prompt, SessionInput, SessionResult, Snapshot, Submit, Taken
from workflows.contracts.settings import SessionSettings, Thresholds
from workflows.contracts.transcript import OutcomeBody, canonical
from workflows.session import SessionWorkflow

Told = dict[str, Any]


@dataclass
class Talk:
    """One session of the rig."""

    rig: "Rig"
    session: str
    cwd: Path
    handle: WorkflowHandle[SessionWorkflow, SessionResult]

    async def result(self, seconds: float = 60.0) -> SessionResult:
        """How it ended; the session must have been started with `once`, or be closed."""
        return await asyncio.wait_for(self.handle.result(), seconds)

    async def snapshot(self) -> Snapshot:
        """What it says of itself; a query may time out once after a kill."""
        for _ in range(20):
            try:
                return await self.handle.query(SessionWorkflow.snapshot, rpc_timeout=_RPC)
            except Exception:  # noqa: BLE001 - after a kill the first queries fail in several ways
                await asyncio.sleep(0.25)
        return await self.handle.query(SessionWorkflow.snapshot)

    async def until(self, phase: str, seconds: float = 30.0) -> Snapshot:
        """Wait until its phase is this one."""
        return await self.when(lambda snapshot: snapshot.phase == phase, seconds, f"phase {phase}")

    async def when(self, holds: Callable[[Snapshot], bool], seconds: float = 30.0, what: str = "") -> Snapshot:
        """Wait until this holds of what it says of itself."""

        async def reached() -> Snapshot | None:
            snapshot = await self.snapshot()
            return snapshot if holds(snapshot) else None

        return await eventually_async(reached, seconds, what)

    async def send(self, prompt: str) -> Taken:
        """Another prompt."""
        digest = await self.rig.store.put(prompt.encode())
        given = Submit(request=secrets.token_hex(8), digest=digest, title=prompt[:80])
        return await self.handle.execute_update(SessionWorkflow.submit, given)

    async def interrupt(self) -> Taken:
        """End the turn."""
        return await self.handle.execute_update(SessionWorkflow.interrupt, Interrupt(request=secrets.token_hex(8)))

    async def answer(self, approval: str, digest: str, *, allow: bool, text: str = "") -> Taken:
        """A signed answer to an open question."""
        unsigned = Answer(
            request=secrets.token_hex(8), approval=approval, digest=digest, allow=allow, text=text, by="tester"
        )
        signature = person_key(self.rig.home).sign(answer_bytes(self.session, unsigned)).hex()
        given = unsigned.model_copy(update={"signature": signature})
        return await self.handle.execute_update(SessionWorkflow.answer, given)

    async def choose(self, asked: Approval, *chosen: Chosen, mode: Mode | None = None) -> Taken:
        """A signed yes to what a question shows, with what was chosen."""
        unsigned = Answer(
            request=secrets.token_hex(8),
            approval=asked.id,
            digest=asked.digest,
            allow=True,
            by="tester",
            content=asked.content,
            chosen=chosen,
            mode=mode,
        )
        signature = person_key(self.rig.home).sign(answer_bytes(self.session, unsigned)).hex()
        given = unsigned.model_copy(update={"signature": signature})
        return await self.handle.execute_update(SessionWorkflow.answer, given)

    async def close(self, reason: str = "") -> Taken:
        """End the session."""
        request = secrets.token_hex(8)
        said = signed_bytes(self.session, "close", request, reason, "tester")
        signature = person_key(self.rig.home).sign(said).hex()
        given = Close(request=request, reason=reason, by="tester", signature=signature)
        return await self.handle.execute_update(SessionWorkflow.close, given)

    async def links(self, head: str = "") -> list[Link]:
        """The whole chain, oldest first; up to the state's head when none is given."""
        return await Transcript(self.rig.store).read(head or (await self.snapshot()).state.head)

    async def outcomes(self, head: str = "") -> list[OutcomeBody]:
        """The outcomes in the chain."""
        return [link.entry.body for link in await self.links(head) if isinstance(link.entry.body, OutcomeBody)]


@dataclass
class Rig:
    """An engine with one worker in its own PERDURE_HOME."""

    home: Home
    client: Client
    store: FolderStore

    async def start(
        self,
        model: Rehearsal | str,
        prompt: str = "do it",
        *,
        cwd: Path,
        mode: Mode = Mode.BYPASS,
        thresholds: Thresholds | None = None,
        settings: Mapping[str, Any] | None = None,
        once: bool = True,
        session: str = "",
        host: str = "",
        fault: str = "",
    ) -> Talk:
        """Start a session on a rehearsal model."""
        url = model if isinstance(model, str) else model.url
        given_settings = {"model": "rehearsal", "base_url": url, "mode": mode, **dict(settings or {})}
        frozen = SessionSettings(**{"sandbox": usual(), **given_settings})
        name = session or f"t{secrets.token_hex(4)}"
        given = SessionInput(
            session=name,
            cwd=str(cwd),
            host=host or self.home.host().id,
            store=await self.store.store_id(),
            settings=await self.store.put(canonical(frozen.model_dump(mode="json"))),
            public_key=person_key(self.home).public_key().public_bytes_raw().hex(),
            prompts=(Prompt(request="first", digest=await self.store.put(prompt.encode()), title=prompt[:80]),),
            thresholds=thresholds or Thresholds(),
            mode=mode,
            once=once,
            test_fault=fault,
        )
        handle = await self.client.start_workflow(
            SessionWorkflow.run,
            given,
            id=session_workflow(name),
            task_queue=SHARED_QUEUE,
            task_timeout=TASK_TIMEOUT,
        )
        return Talk(self, name, cwd, handle)

    def worker_pid(self) -> int:
        """Pid of the worker that polls."""
        return read_health(self.home).process.pid

    def server_pid(self) -> int:
        """Pid of the Temporal server."""
        return read_state(self.home).server.pid

    def kill_worker(self) -> int:
        """SIGKILL the worker; the supervisor starts another."""
        pid = self.worker_pid()
        os.kill(pid, signal.SIGKILL)
        return pid

    def kill_server(self) -> int:
        """SIGKILL the server; the supervisor starts it again."""
        pid = self.server_pid()
        os.kill(pid, signal.SIGKILL)
        return pid


_RPC = timedelta(seconds=3)


@asynccontextmanager
async def rig(home: Home) -> AsyncIterator[Rig]:
    """An engine for as long as the block runs; nothing of it is left afterwards."""
    home.ensure()
    await asyncio.to_thread(ensure_up, home)
    try:
        store = open_store(home.store_url({}))
        assert isinstance(store, FolderStore)
        yield Rig(home, await connect(resolve_address(_plain(), home)), store)
    finally:
        await asyncio.to_thread(down, home)


def _plain() -> dict[str, str]:
    return {name: value for name, value in os.environ.items() if not name.startswith("TEMPORAL_")}


@asynccontextmanager
async def played(scenario: Told, **options: Any) -> AsyncIterator[Rehearsal]:
    """A rehearsal model of a scenario given as a dict."""
    async with rehearse(Scenario.model_validate(scenario), **options) as model:
        yield model
