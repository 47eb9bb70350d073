"""What nobody waits for is ended, what nobody can ask for any more is removed; all else is left alone."""

import asyncio
import os
import time
from collections.abc import AsyncIterator
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest
import pytest_asyncio
from temporalio import workflow
from temporalio.client import Client
from temporalio.worker import UnsandboxedWorkflowRunner, Worker

from activities.processes.attach import end_command, is_running, start
from activities.processes.command import CommandSpec
from activities.stores.environments import keep_environment, kept_environment
from activities.stores.home import Home
from activities.stores.journal import CallRecord
from activities.world import World
from tests.fakes.sleeping_worker import WORKER, end_engine
from tests.fakes.waiting import eventually_async
from tests.fakes.world import make_world
from worker import engine
from worker.connection import connect, resolve_address
from worker.orphans import end_orphans, forget_closed, is_awaited
from workflows.contracts.ids import session_workflow
from workflows.contracts.model import CallRef
from workflows.contracts.session import CallState, OpenCall, SessionState, Totals, Turn

NOW, NEVER = timedelta(seconds=0), timedelta(days=7)


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def client(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Client]:
    """A client of a server without a worker that polls."""
    home = Home(tmp_path_factory.mktemp("orphans") / "home")
    await asyncio.to_thread(engine.ensure_up, home, WORKER)
    yield await connect(resolve_address({"HOME": str(home.root)}, home))
    await asyncio.to_thread(end_engine, home)


@pytest.fixture
def world(tmp_path: Path) -> World:
    return replace(make_world(tmp_path), engine="mine")


def record(world: World, session: str, **intent: object) -> CallRecord:
    """A call that was begun."""
    call = world.journal.call(session, os.urandom(32).hex())
    call.write_intent({"tool": "Bash", "engine": "mine", **intent})
    return call


async def running(world: World, session: str, **intent: object) -> CallRecord:
    """A call whose command runs."""
    call = record(world, session, **intent)
    spec = CommandSpec(key=call.key, argv=("sleep", "60"), cwd="/", environment={"PATH": "/usr/bin:/bin"})
    await asyncio.to_thread(start, call.folder, spec)
    await eventually_async(lambda: is_running(call.folder))
    return call


async def started(client: Client, session: str) -> None:
    await client.start_workflow("SessionWorkflow", id=session_workflow(session), task_queue="nobody")


async def closed(client: Client, session: str) -> None:
    await started(client, session)
    await client.get_workflow_handle(session_workflow(session)).terminate()


@pytest.mark.journey
@pytest.mark.asyncio(loop_scope="module")
async def test_the_command_of_a_closed_session_is_ended(client: Client, world: World) -> None:
    await closed(client, "over")
    call = await running(world, "over", engine="")
    assert await end_orphans(client, world) == ["over"]
    await eventually_async(lambda: not is_running(call.folder))


@pytest.mark.journey
@pytest.mark.asyncio(loop_scope="module")
async def test_the_command_of_a_session_that_this_server_has_forgotten_is_ended(client: Client, world: World) -> None:
    await running(world, "forgotten")
    assert await end_orphans(client, world) == ["forgotten"]


@pytest.mark.journey
@pytest.mark.asyncio(loop_scope="module")
@pytest.mark.parametrize("theirs", ["embedded", ""])
async def test_a_session_that_only_another_server_knows_goes_on(client: Client, world: World, theirs: str) -> None:
    call = await running(world, "elsewhere", engine=theirs)
    assert await end_orphans(client, world) == []
    assert is_running(call.folder)
    call.write_intent({"tool": "Bash", "engine": "mine"})
    assert await end_orphans(client, world) == ["elsewhere"]


@workflow.defn(name="SessionWorkflow")
class OddSession:
    """A session that tells of itself in a way which nobody here can read."""

    @workflow.run
    async def run(self) -> None:
        await workflow.wait_condition(lambda: False)

    @workflow.query
    def snapshot(self) -> str:
        return "nothing that can be read"


@pytest.mark.journey
@pytest.mark.asyncio(loop_scope="module")
async def test_a_session_that_cannot_be_read_keeps_no_other_from_being_looked_at(client: Client, world: World) -> None:
    await client.start_workflow("SessionWorkflow", id=session_workflow("a-odd"), task_queue="odd")
    await closed(client, "b-over")
    odd, _over = await running(world, "a-odd"), await running(world, "b-over")
    runner = UnsandboxedWorkflowRunner()
    async with Worker(client, task_queue="odd", workflows=[OddSession], workflow_runner=runner):
        assert await end_orphans(client, world) == ["b-over"]
    assert is_running(odd.folder)
    await end_command(odd.folder)


@pytest.mark.journey
@pytest.mark.asyncio(loop_scope="module")
async def test_only_sessions_that_closed_long_ago_are_forgotten(client: Client, world: World) -> None:
    await closed(client, "old")
    await started(client, "open")
    for session, server in (("old", "mine"), ("open", "mine"), ("gone", "mine"), ("theirs", "other")):
        record(world, session, engine=server)
        keep_environment(world.home, session, {"PATH": "/bin"})
    assert await forget_closed(client, world, NEVER) == []
    assert await forget_closed(client, world, NOW) == ["gone", "old"]
    assert world.journal.sessions() == ["open", "theirs"]
    assert [kept_environment(world.home, session) for session in ("old", "open")] == [None, {"PATH": "/bin"}]


@pytest.mark.journey
@pytest.mark.asyncio(loop_scope="module")
async def test_a_session_that_closed_just_now_keeps_an_old_journal(client: Client, world: World) -> None:
    await closed(client, "brief")
    call = record(world, "brief")
    long_ago = time.time() - 10 * 24 * 3600
    os.utime(call.path.parent, (long_ago, long_ago))
    assert await forget_closed(client, world, NEVER) == []


def in_exchange(*calls: CallState) -> SessionState:
    """A session whose third reply has these calls."""
    opened = tuple(OpenCall(ref=CallRef(tool="Bash"), state=state) for state in calls)
    return SessionState(turn=Turn(number=1, calls=opened), totals=Totals(exchanges=3))


@pytest.mark.parametrize(
    ("intent", "awaited"),
    [
        ({"exchange": 3, "place": 0}, True),
        ({"exchange": 3, "place": 1}, False),
        ({"exchange": 3, "place": 2}, False),
        ({"exchange": 2, "place": 0}, False),
        ({"exchange": 4, "place": 0}, True),
        ({}, True),
    ],
)
def test_a_session_waits_for_the_open_calls_of_its_newest_reply(
    world: World, intent: dict[str, object], awaited: bool
) -> None:
    state = in_exchange(CallState.PENDING, CallState.DONE)
    assert is_awaited(state, record(world, "s", **intent)) is awaited


def test_a_session_between_two_turns_waits_for_no_call(world: World) -> None:
    assert not is_awaited(SessionState(totals=Totals(exchanges=3)), record(world, "s", exchange=3, place=0))
