"""A session ends as it was told to, and only then: no fault of a store, a host or a request ends it or drops a word."""

import asyncio
import shutil
import tempfile
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio
from temporalio.api.enums.v1 import EventType
from temporalio.client import Client, WorkflowExecutionStatus, WorkflowFailureError, WorkflowUpdateFailedError
from temporalio.exceptions import ApplicationError

from activities.stores.home import Home
from tests.fakes.stand_ins import DIGEST, Stand, bare_engine, failing
from tests.fakes.waiting import eventually_async
from workflows.contracts.errors import FailureKind
from workflows.contracts.model import MOST_CALLS, CallRef, ModelRequest
from workflows.contracts.session import Submit, TurnEnd
from workflows.contracts.session_steps import ArchiveRequest, SettleRequest
from workflows.contracts.tools import EndRequest, ToolRequest
from workflows.session import SessionWorkflow

pytestmark = [pytest.mark.journey, pytest.mark.timeout(150), pytest.mark.asyncio(loop_scope="module")]

READ, BASH = CallRef(tool="Read", beside=True), CallRef(tool="Bash")
PROMPT = "cd" * 32


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def engine() -> AsyncIterator[tuple[Client, Home]]:
    root = Path(tempfile.mkdtemp(prefix="pd-"))
    try:
        home = Home(root / "home")
        async with bare_engine(home) as client:
            yield client, home
    finally:
        shutil.rmtree(root, ignore_errors=True)


@pytest_asyncio.fixture(loop_scope="module")
async def stand(engine: tuple[Client, Home]) -> AsyncIterator[Stand]:
    stand = Stand(*engine)
    async with stand.shared():
        yield stand


async def test_a_prompt_that_comes_while_a_session_ends_is_refused_not_dropped(stand: Stand) -> None:
    is_closing, may_go_on = asyncio.Event(), asyncio.Event()

    async def wait(request: SettleRequest) -> None:
        if request.what == "closed":
            is_closing.set()
            await may_go_on.wait()

    stand.on_settle = wait
    async with stand.on_host():
        talk = await stand.start()
        await asyncio.wait_for(is_closing.wait(), 30)
        with pytest.raises(WorkflowUpdateFailedError) as refused:
            await talk.execute_update(SessionWorkflow.submit, Submit(request="late", digest=PROMPT))
        may_go_on.set()
        result = await asyncio.wait_for(talk.result(), 30)
    assert "closing" in str(refused.value.cause)
    assert result.reason == "done"


async def test_a_prompt_that_comes_while_a_cancelled_session_ends_is_refused_too(stand: Stand) -> None:
    is_closing, may_go_on = asyncio.Event(), asyncio.Event()

    async def wait(_request: SettleRequest) -> None:
        if stand.settled[-1].what != "turn_ended":
            is_closing.set()
            await may_go_on.wait()

    stand.on_settle = wait
    async with stand.on_host():
        talk = await stand.start(once=False)
        await eventually_async(lambda: len(stand.settled) == 1, 30, "the turn ended")
        await talk.cancel()
        await asyncio.wait_for(is_closing.wait(), 30)
        with pytest.raises(WorkflowUpdateFailedError):
            await talk.execute_update(SessionWorkflow.submit, Submit(request="late", digest=PROMPT))
        may_go_on.set()
        with pytest.raises(WorkflowFailureError):
            await asyncio.wait_for(talk.result(), 30)


async def test_a_stop_hook_that_cannot_be_run_is_told_with_the_end_of_the_turn(stand: Stand) -> None:
    stand.hooks, stand.on_hooks = ("Stop",), failing(FailureKind.BUG, 1, for_good=True)
    async with stand.on_host():
        result = await asyncio.wait_for((await stand.start()).result(), 30)
    assert (result.end, stand.settled[0].text) == (TurnEnd.DONE, "the hooks of Stop could not be run: planted bug")


async def test_a_hook_of_the_end_that_cannot_be_run_is_told_with_the_end_of_the_session(stand: Stand) -> None:
    stand.hooks, stand.on_hooks = ("SessionEnd",), failing(FailureKind.BUG, 1, for_good=True)
    async with stand.on_host():
        await asyncio.wait_for((await stand.start()).result(), 30)
    assert stand.settled[-1].what == "closed"
    assert stand.settled[-1].why == "the hooks of SessionEnd could not be run: planted bug"


async def test_a_disk_that_is_full_at_the_end_is_waited_for(stand: Stand) -> None:
    stand.on_archive = failing(FailureKind.DISK_FULL, 6)
    async with stand.on_host():
        result = await asyncio.wait_for((await stand.start()).result(), 90)
    assert (result.reason, result.unarchived, len(stand.archived)) == ("done", "", 7)


async def test_a_history_that_can_never_be_kept_is_told_and_ends_the_session_well(stand: Stand) -> None:
    stand.on_archive = failing(FailureKind.BUG, 1, for_good=True)
    async with stand.on_host():
        result = await asyncio.wait_for((await stand.start()).result(), 30)
    assert (result.end, result.unarchived) == (TurnEnd.DONE, "planted bug")


async def test_a_disk_that_is_full_puts_a_new_run_off_and_the_work_goes_on(stand: Stand) -> None:
    stand.calls = (READ,) * 30

    async def full(_request: ArchiveRequest) -> None:
        if not stand.asked[1:]:
            raise ApplicationError("planted", type=FailureKind.DISK_FULL)

    stand.on_archive = full
    async with stand.on_host():
        talk = await stand.start(roll_events=20, side_by_side=5)
        result = await asyncio.wait_for(talk.result(), 90)
    assert (result.end, result.totals.calls) == (TurnEnd.DONE, 30)
    assert (await talk.describe()).run_id == talk.first_execution_run_id


async def test_of_a_thousand_calls_the_first_128_run_and_each_is_answered(stand: Stand) -> None:
    stand.calls, stand.beyond = (READ,) * MOST_CALLS, 1000 - MOST_CALLS
    async with stand.on_host():
        result = await asyncio.wait_for((await stand.start(side_by_side=50)).result(), 90)
    assert (result.end, result.totals.calls) == (TurnEnd.DONE, MOST_CALLS)
    assert (stand.asked[1].entry, stand.asked[1].beyond) == (DIGEST, 1000 - MOST_CALLS)
    assert len(stand.asked[1].waiting) == MOST_CALLS


async def test_a_call_that_is_too_large_to_ask_for_fails_alone(stand: Stand) -> None:
    stand.calls = (READ, CallRef(tool="Read", beside=True, broken="ü" * 40_000))
    whys: list[str] = []

    async def note(request: EndRequest) -> None:
        whys.append(request.why)

    stand.on_end = note
    async with stand.on_host():
        result = await asyncio.wait_for((await stand.start()).result(), 30)
    assert (result.end, len(stand.asked[1].waiting)) == (TurnEnd.DONE, 2)
    assert "its largest field is 'broken'" in whys[0]


async def test_a_prompt_that_is_none_is_refused_and_the_next_one_runs(stand: Stand) -> None:
    async with stand.on_host():
        talk = await stand.start(once=False)
        await eventually_async(lambda: len(stand.settled) == 1, 30, "the turn ended")
        digest = "x" * 70_000
        with pytest.raises(WorkflowUpdateFailedError):
            await talk.execute_update(SessionWorkflow.submit, Submit(request="r", digest=digest))
        await talk.execute_update(SessionWorkflow.submit, Submit(request="r", digest=PROMPT))
        await eventually_async(lambda: len(stand.asked) == 2, 30, "the good prompt ran")
        await stand.close(talk)
        assert (await asyncio.wait_for(talk.result(), 30)).reason == "enough"


async def test_a_close_waits_for_a_host_that_is_gone_only_so_long(stand: Stand) -> None:
    stand.calls = (BASH,)
    began = asyncio.Event()

    async def die(_request: ToolRequest) -> None:
        began.set()
        raise ApplicationError("the host is going")

    stand.on_tool = die
    async with stand.on_host():
        talk = await stand.start(once=False, end_patience=2)
        await asyncio.wait_for(began.wait(), 30)
    await stand.close(talk)
    result = await asyncio.wait_for(talk.result(), 30)
    ended = next(request for request in stand.settled if request.what == "interrupted")
    assert (result.reason, ended.lost, ended.unanswered) == ("enough", (0,), ())


async def test_a_call_that_only_reads_needs_no_host_to_end(stand: Stand) -> None:
    stand.calls = (READ,)
    began = asyncio.Event()

    async def die(_request: ToolRequest) -> None:
        began.set()
        raise ApplicationError("the host is going")

    stand.on_tool = die
    async with stand.on_host():
        talk = await stand.start(once=False)
        await asyncio.wait_for(began.wait(), 30)
    await stand.close(talk)
    await asyncio.wait_for(talk.result(), 30)
    ended = next(request for request in stand.settled if request.what == "interrupted")
    assert (ended.lost, ended.unanswered) == ((), (0,))


async def test_a_call_that_cannot_be_ended_leaves_the_results_of_the_others(stand: Stand) -> None:
    stand.calls = (READ, READ, READ)

    async def fail(request: ToolRequest | EndRequest) -> None:
        if request.place == 1:
            raise ApplicationError("planted", type=FailureKind.BUG, non_retryable=True)

    stand.on_tool, stand.on_end = fail, fail
    async with stand.on_host():
        result = await asyncio.wait_for((await stand.start()).result(), 30)
    assert result.end == TurnEnd.DONE
    assert stand.asked[1].waiting == (f"{0:064x}", f"{2:064x}")
    assert (stand.asked[1].lost, stand.asked[1].entry) == ((1,), DIGEST)


async def test_what_can_never_be_written_is_named_and_the_session_goes_on(stand: Stand) -> None:
    stand.calls = (READ,)

    async def fail_first(request: ModelRequest | SettleRequest) -> None:
        if isinstance(request, SettleRequest) and request.waiting:
            raise ApplicationError("planted", type=FailureKind.BUG, non_retryable=True)
        if isinstance(request, ModelRequest) and request.waiting:
            raise ApplicationError("planted", type=FailureKind.STORE, non_retryable=True)

    stand.on_settle, stand.on_ask = fail_first, fail_first
    async with stand.on_host():
        result = await asyncio.wait_for((await stand.start()).result(), 30)
    assert (result.reason, result.end) == ("done", TurnEnd.FAILED)
    told = next(request for request in stand.settled if request.unwritten)
    assert (told.waiting, told.unwritten, told.why) == ((), (f"{0:064x}",), "planted")


async def test_a_chain_that_cannot_go_on_is_final(stand: Stand) -> None:
    stand.on_settle = failing(FailureKind.STORE, 9, for_good=True)
    async with stand.on_host():
        with pytest.raises(WorkflowFailureError) as failure:
            await asyncio.wait_for((await stand.start()).result(), 30)
    assert isinstance(failure.value.cause, ApplicationError)
    assert failure.value.cause.type == FailureKind.STORE


async def test_a_start_that_is_none_ends_at_once(stand: Stand) -> None:
    handle = await stand.client.start_workflow(
        "SessionWorkflow", {"session": 7}, id="session-none", task_queue="perdure"
    )
    with pytest.raises(WorkflowFailureError) as failure:
        await asyncio.wait_for(handle.result(), 20)
    assert "session" in str(failure.value.cause)


async def test_a_checkpoint_of_a_newer_worker_is_left_for_a_newer_worker(stand: Stand) -> None:
    start = {"session": "newer", "cwd": "/w", "host": "h", "store": "s", "settings": DIGEST, "public_key": "55"}
    given = {**start, "state": {"mode": "a-newer-mode"}}
    handle = await stand.client.start_workflow("SessionWorkflow", given, id="session-newer", task_queue="perdure")

    async def is_tried_again() -> bool | None:
        events = (await handle.fetch_history()).events
        return any(event.event_type == EventType.EVENT_TYPE_WORKFLOW_TASK_FAILED for event in events)

    found: bool = await eventually_async(is_tried_again, 30, "its workflow task failed")
    assert found
    assert (await handle.describe()).status == WorkflowExecutionStatus.RUNNING
    await handle.terminate()
