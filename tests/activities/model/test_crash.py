"""A worker that dies in the middle of a reply, and one that waits for another: separate processes, one host."""

import asyncio
import signal
import sys
from asyncio.subprocess import PIPE, Process
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path

import pytest

from activities.model.flight import flight_path
from tests.fakes.model_stage import SESSION, Stage, model_stage
from tests.fakes.waiting import eventually_async
from tests.fakes.world import SilentBeat
from workflows.contracts.messages import Text
from workflows.contracts.model import ModelReply, StopReason

pytestmark = pytest.mark.journey

CALL = {"tool": "Read", "input": {"path": "/a"}}
SLOW = {"token_ms": 40, "chunk": 2}
ROOT = Path(__file__).parents[3]


@asynccontextmanager
async def _worker(folder: Path, stage: Stage, *how: str) -> AsyncIterator[Process]:
    program = [sys.executable, "-m", "tests.fakes.model_process", str(folder), stage.model.url, *how]
    process = await asyncio.create_subprocess_exec(*program, cwd=ROOT, stdout=PIPE)
    try:
        yield process
    finally:
        with suppress(ProcessLookupError):
            process.kill()
        # Read to the end, so that the pipe is closed with the loop still there.
        await process.communicate()


def _lines(stage: Stage) -> str:
    path = flight_path(stage.world.home.journal, SESSION, 1)
    return path.read_text() if path.exists() else ""


async def test_blocks_that_a_killed_worker_had_complete_are_the_reply_and_nothing_is_asked_again(
    tmp_path: Path,
) -> None:
    reply = {"content": [{"text": "complete"}, {"text": "x" * 2_000}], "pacing": SLOW}
    async with model_stage(tmp_path, {"replies": [reply]}) as stage, _worker(tmp_path, stage) as worker:
        await eventually_async(lambda: "kept" in _lines(stage), seconds=30)
        worker.send_signal(signal.SIGKILL)
        found = await stage.ask(beat=SilentBeat(attempt=2))
        blocks, asked = await stage.blocks(found), len(stage.model.requests)
    assert (found.stop, found.unknown, asked) == (StopReason.CUT_OFF, 1, 1)
    assert blocks == (Text(text="complete"),)
    assert found.usage.context > 0


async def test_a_reply_that_a_killed_worker_had_begun_is_asked_again_and_superseded(tmp_path: Path) -> None:
    reply = {"content": "x" * 60, "pacing": SLOW}
    async with model_stage(tmp_path, {"replies": [reply]}) as stage, _worker(tmp_path, stage) as worker:
        await eventually_async(lambda: bool(stage.told("text")), seconds=30)
        worker.send_signal(signal.SIGKILL)
        found = await stage.ask(beat=SilentBeat(attempt=2))
        kinds = [event["kind"] for event in stage.told() if event["kind"] in {"turn_started", "superseded"}]
        asked = len(stage.model.requests)
    assert (found.stop, found.unknown, asked) == (StopReason.END_TURN, 1, 2)
    assert kinds == ["turn_started", "superseded"]


async def test_a_second_worker_waits_for_the_first_and_returns_its_reply(tmp_path: Path) -> None:
    reply = {"content": "x" * 60, "pacing": SLOW}
    async with model_stage(tmp_path, {"replies": [reply]}) as stage, _worker(tmp_path, stage) as worker:
        await eventually_async(lambda: bool(stage.told("text")), seconds=30)
        found = await stage.ask(beat=SilentBeat(attempt=2))
        printed, _ = await worker.communicate()
        asked = len(stage.model.requests)
    assert asked == 1
    assert ModelReply.model_validate_json(printed) == found


async def test_a_worker_that_died_before_its_report_leaves_the_same_entry(tmp_path: Path) -> None:
    async with model_stage(tmp_path, {"replies": ["done"]}) as stage, _worker(tmp_path, stage) as worker:
        printed, _ = await worker.communicate()
        found = await stage.ask(beat=SilentBeat(attempt=2))
        asked = len(stage.model.requests)
    assert asked == 1
    assert ModelReply.model_validate_json(printed) == found


async def test_a_worker_that_died_between_the_end_of_a_reply_and_its_first_put_has_lost_nothing(tmp_path: Path) -> None:
    reply = {"content": [{"text": "complete"}, CALL]}
    async with model_stage(tmp_path, {"replies": [reply]}) as stage, _worker(tmp_path, stage, "stuck") as worker:
        await eventually_async(lambda: '"whole"' in _lines(stage), seconds=30)
        worker.send_signal(signal.SIGKILL)
        found = await stage.ask(beat=SilentBeat(attempt=2))
        blocks, asked, shown = await stage.blocks(found), len(stage.model.requests), await stage.shown(found.head)
    assert (found.stop, found.unknown, asked) == (StopReason.TOOL_USE, 0, 1)
    assert [block.kind for block in blocks] == ["text", "tool_use"]
    assert shown[0].blocks == (Text(text="list it"),)


async def test_a_worker_that_died_before_a_complete_block_was_put_has_kept_it(tmp_path: Path) -> None:
    reply = {"content": [{"text": "complete"}, {"text": "x" * 2_000}], "pacing": SLOW}
    async with model_stage(tmp_path, {"replies": [reply]}) as stage, _worker(tmp_path, stage, "stuck") as worker:
        await eventually_async(lambda: '"kept"' in _lines(stage), seconds=30)
        worker.send_signal(signal.SIGKILL)
        found = await stage.ask(beat=SilentBeat(attempt=2))
        blocks, asked = await stage.blocks(found), len(stage.model.requests)
    assert (found.stop, asked, blocks) == (StopReason.CUT_OFF, 1, (Text(text="complete"),))
