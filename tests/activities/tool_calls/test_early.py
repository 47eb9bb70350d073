"""A safe call may run before its activity, which takes the result once and never by mistake."""

import asyncio
from pathlib import Path

import pytest

from activities.stores.contexts import read_context
from activities.tool_calls.early import start_early, taken_early
from activities.tool_calls.opened import opened
from activities.world import Early
from tests.activities.tool_calls.stage import AT, Stage, text, use
from tests.fakes.world import SESSION
from workflows.contracts.messages import ToolUse
from workflows.contracts.model import ModelRequest
from workflows.contracts.permissions import Mode, Rules
from workflows.contracts.settings import SessionContext, SessionSettings
from workflows.contracts.tools import ToolOutcome


@pytest.fixture
def stage(tmp_path: Path) -> Stage:
    return Stage(tmp_path)


async def start(stage: Stage, given: ToolUse, mode: Mode = Mode.DEFAULT, context: SessionContext | None = None) -> int:
    """Offer the call while its reply streams; how many run early now."""
    await stage.reply(given)
    request = ModelRequest(session=SESSION, exchange=1, head="", context=stage.context, at=AT, mode=mode)
    start_early(stage.world, request, context or await read_context(stage.world.store, stage.context), 0, given)
    return len(stage.world.early)


async def test_the_activity_takes_what_the_early_run_found(stage: Stage) -> None:
    (stage.workspace / "f").write_text("early")
    assert await start(stage, use("Read", file_path="f")) == 1
    (early,) = stage.world.early.values()
    await early.task
    (stage.workspace / "f").write_text("late")
    _, body = await stage.again()
    assert "early" in text(body)
    assert stage.world.early == {}


async def test_a_file_counts_as_read_only_once_its_call_is_made(stage: Stage) -> None:
    (stage.workspace / "f").write_text("x")
    await start(stage, use("Read", file_path="f"))
    (early,) = stage.world.early.values()
    await early.task
    assert stage.world.seen(SESSION).digest(stage.workspace / "f") == ""
    await stage.again()
    assert stage.world.seen(SESSION).digest(stage.workspace / "f") != ""


@pytest.mark.parametrize(
    "given",
    [
        use("Bash", command="touch f"),
        use("Write", file_path="f", content="x"),
        use("Read", file_path="/etc/hosts"),
        use("Read"),
        use("Nothing"),
    ],
)
async def test_what_is_not_safe_allowed_and_whole_waits_for_its_activity(stage: Stage, given: ToolUse) -> None:
    assert await start(stage, given) == 0


async def test_a_denied_call_is_not_started_early(tmp_path: Path) -> None:
    stage = Stage(tmp_path, SessionSettings(rules=Rules(deny=("Read",))))
    assert await start(stage, use("Read", file_path="f"), Mode.BYPASS) == 0


async def test_a_call_of_another_host_is_not_started_here(stage: Stage) -> None:
    await stage.reply()
    context = await read_context(stage.world.store, stage.context)
    elsewhere = context.model_copy(update={"host": "elsewhere"})
    assert await start(stage, use("Glob", pattern="*"), context=elsewhere) == 0


async def test_a_call_offered_twice_runs_once(stage: Stage) -> None:
    await start(stage, use("Glob", pattern="*"))
    before = dict(stage.world.early)
    await start(stage, use("Glob", pattern="*"))
    assert stage.world.early == before


async def test_an_early_run_that_fails_is_made_again_and_tells_why(stage: Stage) -> None:
    await start(stage, use("Read", file_path="missing"))
    _, body = await stage.again()
    assert body.is_error
    assert "missing" in text(body)


async def test_a_cancel_of_the_real_call_ends_both_and_is_not_lost(stage: Stage) -> None:
    await stage.reply(use("Glob", pattern="*"))
    call = (await opened(stage.world, stage.request())).call(stage.world, stage.request())

    async def forever() -> ToolOutcome | None:
        await asyncio.sleep(600)
        return None

    slow = asyncio.ensure_future(forever())
    stage.world.early[call.key] = Early(slow, {})
    taking = asyncio.ensure_future(taken_early(call))
    await asyncio.sleep(0)
    taking.cancel()
    with pytest.raises(asyncio.CancelledError):
        await taking
    await asyncio.wait({slow}, timeout=5)
    assert slow.cancelled()


async def test_a_dropped_early_run_is_as_if_it_had_never_been(stage: Stage) -> None:
    (stage.workspace / "f").write_text("x")
    await start(stage, use("Read", file_path="f"))
    (early,) = stage.world.early.values()
    early.task.cancel()
    _, body = await stage.again()
    assert "x" in text(body)


@pytest.mark.journey
async def test_early_results_that_nobody_fetches_do_not_pile_up(stage: Stage) -> None:
    for number in range(80):
        await start(stage, use("Glob", pattern=f"*{number}"))
    assert len(stage.world.early) == 64
    for early in stage.world.early.values():
        early.task.cancel()
    await asyncio.gather(*(early.task for early in stage.world.early.values()), return_exceptions=True)
