"""An activity ends as a small result or as a failure that says whether trying again can help."""

import asyncio
import errno
from collections.abc import Coroutine
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError
from temporalio.activity import ActivityCancellationDetails
from temporalio.exceptions import ApplicationError
from temporalio.testing import ActivityEnvironment

from activities.binding import ActivityBeat, Binding, current_beat
from activities.stores.claims import Claims, abandoned
from activities.stores.files import explain_os_error
from activities.world import World
from tests.fakes.world import make_world
from workflows.contracts.activity_specs import PAYLOAD_LIMIT, RUN_TOOL, ActivitySpec
from workflows.contracts.errors import (
    ChainError,
    DamagedObject,
    FailureKind,
    MissingObject,
    StepFailure,
    ToolError,
    UserError,
)
from workflows.contracts.model import Usage
from workflows.contracts.session_steps import Settled, SettleRequest
from workflows.contracts.tools import CallStatus, ToolDone, ToolRequest

QUICK = ActivitySpec("quick", SettleRequest, Settled, timeout=timedelta(minutes=1))
BEATING = ActivitySpec("beating", SettleRequest, Settled, timeout=None, heartbeat=timedelta(seconds=5))
ASKED = SettleRequest(session="s1", head="h", at="", what="closed")
ALL_IS_WELL = Settled(head="done")


class Bench:
    """Runs a function as Temporal would."""

    def __init__(self, folder: Path) -> None:
        self.world = make_world(folder)
        self.claims = Claims(folder / "claims")
        self.folder = folder
        self.environment = ActivityEnvironment()

    def start(self, function: Any, spec: Any = QUICK, given: Any = ASKED) -> "asyncio.Future[Any]":
        activity = Binding(spec, function).as_activity(self.world, "worker@here", self.claims)
        running: Coroutine[Any, Any, Any] = self.environment.run(activity, given)
        return asyncio.ensure_future(running)


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    return Bench(tmp_path)


async def test_a_result_comes_back_as_it_is(bench: Bench) -> None:
    async def well(world: World, request: SettleRequest) -> Settled:
        assert (world, request) == (bench.world, ASKED)
        return ALL_IS_WELL

    assert await bench.start(well) == ALL_IS_WELL


@pytest.mark.parametrize("letter", ["x", "ü", "😀"])
async def test_a_result_over_64_kb_is_a_clear_error_that_names_its_field(bench: Bench, letter: str) -> None:
    async def sized(_world: World, request: SettleRequest) -> Settled:
        return Settled(head=letter * int(request.text))

    width, around = len(letter.encode()), len(Settled(head="").model_dump_json())
    fits = (PAYLOAD_LIMIT - around) // width
    assert (await bench.start(sized, given=ASKED.model_copy(update={"text": str(fits)}))).head[0] == letter
    bench.environment = ActivityEnvironment()
    with pytest.raises(ApplicationError, match="its largest field is 'head'") as error:
        await bench.start(sized, given=ASKED.model_copy(update={"text": str(fits + 1)}))
    assert (error.value.type, error.value.non_retryable) == (FailureKind.PAYLOAD_TOO_LARGE, True)


async def test_another_input_than_the_specs_is_refused_at_once(bench: Bench) -> None:
    async def never(_world: World, _request: SettleRequest) -> Settled:
        raise AssertionError("it ran")

    with pytest.raises(ApplicationError, match="takes SettleRequest") as error:
        await bench.start(never, given=Usage())
    assert error.value.non_retryable


def a_validation_error() -> ValidationError:
    with pytest.raises(ValidationError) as error:
        Usage.model_validate({"input": "many"})
    return error.value


def from_the_disk(number: int) -> UserError:
    """What a store makes of an error of the disk."""
    try:
        raise explain_os_error(OSError(number, "no"), Path("/x")) from OSError(number, "no")
    except UserError as error:
        return error


@pytest.mark.parametrize(
    ("raised", "kind", "may_retry"),
    [
        (StepFailure(FailureKind.SERVER, "500", 3.5, retryable=True), FailureKind.SERVER, True),
        (StepFailure(FailureKind.BAD_REQUEST, "400"), FailureKind.BAD_REQUEST, False),
        (MissingObject("d", "gone"), FailureKind.STORE, False),
        (DamagedObject("d", "damaged"), FailureKind.STORE, False),
        (ChainError("no entry"), FailureKind.CHAIN, False),
        (a_validation_error(), FailureKind.CHAIN, False),
        (UserError("the disk is full", reason="disk_full"), FailureKind.DISK_FULL, True),
        (UserError("the bucket does not answer", reason="store"), FailureKind.STORE, True),
        (UserError("no such folder", reason="no_folder"), FailureKind.PERSON, False),
        (from_the_disk(errno.ENOSPC), FailureKind.DISK_FULL, True),
        (from_the_disk(errno.EMFILE), FailureKind.PERSON, True),
        (from_the_disk(errno.EROFS), FailureKind.PERSON, True),
        (from_the_disk(errno.EACCES), FailureKind.PERSON, True),
        (from_the_disk(errno.EIO), FailureKind.PERSON, True),
        (KeyError("x"), FailureKind.BUG, False),
        (TypeError("x"), FailureKind.BUG, False),
        (ZeroDivisionError("x"), FailureKind.BUG, False),
        (RecursionError("x"), FailureKind.BUG, False),
        (UnicodeEncodeError("utf-8", "\ud800", 0, 1, "surrogates"), FailureKind.BUG, False),
    ],
)
async def test_a_failure_says_its_kind_and_whether_to_try_again(
    bench: Bench, raised: Exception, kind: FailureKind, may_retry: bool
) -> None:
    async def failing(_world: World, _request: SettleRequest) -> Settled:
        raise raised

    with pytest.raises(ApplicationError) as error:
        await bench.start(failing)
    assert (error.value.type, error.value.non_retryable) == (kind, not may_retry)
    wanted = timedelta(seconds=3.5) if isinstance(raised, StepFailure) and raised.retry_after else None
    assert error.value.next_retry_delay == wanted


async def test_a_worker_with_another_store_leaves_the_step_to_be_tried_again(bench: Bench) -> None:
    async def reading(world: World, request: SettleRequest) -> Settled:
        return Settled(head=(await world.store.get(request.head)).decode())

    elsewhere = ASKED.model_copy(update={"context": "c" * 64, "head": "d" * 64})
    with pytest.raises(ApplicationError, match="set PERDURE_STORE") as error:
        await bench.start(reading, given=elsewhere)
    assert (error.value.type, error.value.non_retryable) == (FailureKind.STORE, False)
    assert (await bench.world.store.store_id())[:8] in error.value.message
    feed = "".join(path.read_text() for path in bench.world.home.events.iterdir())
    assert feed.count("set PERDURE_STORE") == 1


async def test_one_object_that_is_missing_from_the_sessions_own_store_is_final(bench: Bench) -> None:
    async def reading(world: World, request: SettleRequest) -> Settled:
        return Settled(head=(await world.store.get(request.head)).decode())

    here = ASKED.model_copy(update={"context": await bench.world.store.put(b"{}"), "head": "d" * 64})
    with pytest.raises(ApplicationError, match="is not in") as error:
        await bench.start(reading, given=here)
    assert (error.value.type, error.value.non_retryable) == (FailureKind.STORE, True)


@pytest.mark.parametrize("raised", [OSError("network"), ToolError("for the model"), RuntimeError("shutting down")])
async def test_what_may_pass_is_left_to_the_engines_retries(bench: Bench, raised: Exception) -> None:
    async def failing(_world: World, _request: SettleRequest) -> Settled:
        raise raised

    with pytest.raises(type(raised)):
        await bench.start(failing)


async def test_the_function_knows_its_attempt_its_worker_and_what_was_said_before(bench: Bench) -> None:
    bench.environment.info = replace(bench.environment.info, attempt=3, heartbeat_details=["a", "b"])
    seen: list[ActivityBeat] = []

    async def looking(_world: World, _request: SettleRequest) -> Settled:
        seen.append(current_beat())
        return ALL_IS_WELL

    await bench.start(looking)
    assert (seen[0].attempt, seen[0].worker, seen[0].details) == (3, "worker@here", ("a", "b"))


@pytest.mark.journey
async def test_a_long_activity_beats_with_what_it_said_last(bench: Bench) -> None:
    told: list[tuple[str, ...]] = []
    bench.environment.on_heartbeat = lambda *details: told.append(details)

    async def long(_world: World, _request: SettleRequest) -> Settled:
        current_beat().say("half")
        while len(told) < 2:
            await asyncio.sleep(0.01)
        return ALL_IS_WELL

    await asyncio.wait_for(bench.start(long, BEATING), 15)
    assert told[-1] == ("half",)


async def test_a_cancel_of_the_workflow_is_told_and_what_is_there_is_returned(bench: Bench) -> None:
    begun = asyncio.Event()

    async def interrupted(_world: World, _request: SettleRequest) -> Settled:
        begun.set()
        await current_beat().cancelled.wait()
        return Settled(head="partial")

    running = bench.start(interrupted, BEATING)
    await begun.wait()
    bench.environment.cancel()
    assert (await asyncio.wait_for(running, 15)).head == "partial"


@pytest.mark.parametrize("details", [{"timed_out": True}, {"worker_shutdown": True}, {"not_found": True}])
async def test_any_other_end_cancels_the_work_itself(bench: Bench, details: dict[str, bool]) -> None:
    begun, ended = asyncio.Event(), asyncio.Event()

    async def superseded(_world: World, _request: SettleRequest) -> Settled:
        begun.set()
        try:
            await current_beat().cancelled.wait()
        except asyncio.CancelledError:
            ended.set()
            raise
        return ALL_IS_WELL

    running = bench.start(superseded, BEATING)
    await begun.wait()
    bench.environment.cancel(ActivityCancellationDetails(**details))
    with pytest.raises(asyncio.CancelledError):
        await asyncio.wait_for(running, 15)
    assert ended.is_set()


async def test_nothing_goes_on_when_an_attempt_is_cancelled_twice(bench: Bench) -> None:
    begun, ended = asyncio.Event(), asyncio.Event()

    async def stubborn(_world: World, _request: SettleRequest) -> Settled:
        begun.set()
        try:
            await asyncio.sleep(600)
        finally:
            ended.set()
        return ALL_IS_WELL

    running = bench.start(stubborn, BEATING)
    await begun.wait()
    bench.environment.cancel()
    await asyncio.sleep(0.05)
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    await asyncio.wait_for(ended.wait(), 15)


async def test_the_token_is_noted_while_the_attempt_runs(bench: Bench) -> None:
    notes: list[bytes] = []

    async def looking(_world: World, _request: SettleRequest) -> Settled:
        notes.extend(path.read_bytes() for path in (bench.folder / "claims").glob("*/*"))
        assert abandoned(bench.folder / "claims") == []
        return ALL_IS_WELL

    await bench.start(looking)
    assert b"test\ntest" in notes


def test_temporal_reads_name_and_types_of_the_spec(bench: Bench) -> None:
    async def run(_world: World, _request: ToolRequest) -> ToolDone:
        return ToolDone(status=CallStatus.OK)

    activity = Binding(RUN_TOOL, run).as_activity(bench.world, "w", bench.claims)
    assert activity.__annotations__ == {"given": ToolRequest, "return": ToolDone}
    assert getattr(activity, "__temporal_activity_definition").name == "run_tool"
