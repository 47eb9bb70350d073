"""What is kept of a reply while it comes, in which order, and what a store that takes nothing costs."""

import asyncio
from pathlib import Path

import pytest

from activities.model.flight import flight_path
from tests.fakes.model_stage import SESSION, model_stage
from tests.fakes.waiting import eventually_async
from tests.fakes.world import SilentBeat
from workflows.contracts.errors import FailureKind, UserError
from workflows.contracts.messages import Text
from workflows.contracts.model import StopReason
from workflows.contracts.transcript import MessageBody

SLOW = {"token_ms": 30, "chunk": 4}
CALL = {"tool": "Read", "input": {"path": "/a"}}


async def test_a_reply_that_comes_at_once_is_put_as_its_entry_only(tmp_path: Path) -> None:
    async with model_stage(tmp_path, {"replies": [{"content": [{"text": "said"}, CALL]}]}) as opened:
        stage, store = opened.gated()
        reply = await stage.ask()
        bodies = [(await stage.world.transcript.entry(digest)).body for digest in store.put_digests]
    assert sorted(body.role for body in bodies if isinstance(body, MessageBody)) == ["assistant", "user"]
    assert len(bodies) == 2
    assert reply.head in store.put_digests


async def test_a_complete_block_of_a_reply_that_goes_on_is_in_the_store_before_a_beat_names_it(tmp_path: Path) -> None:
    reply = {"content": [{"text": "complete"}, {"text": "x" * 400}], "pacing": SLOW}
    async with model_stage(tmp_path, {"replies": [reply]}) as opened:
        stage, store = opened.gated()
        store.gate.clear()
        beat = SilentBeat()
        asking = asyncio.create_task(stage.ask(beat=beat))
        await eventually_async(lambda: bool(stage.told("block_ended")))
        await eventually_async(lambda: bool(stage.told("text")[3:]))
        early = [details for details in beat.said if details[1:]]
        store.gate.set()
        await eventually_async(lambda: len(beat.said[-1]) == 2)
        assert not asking.done()
        assert b"complete" in await store.get(beat.said[-1][1])
        beat.cancelled.set()
        found = await asking
    assert early == []
    assert found.stop == StopReason.CUT_OFF


async def test_nobody_learns_of_a_reply_before_what_waited_is_kept_too(tmp_path: Path) -> None:
    async with model_stage(tmp_path, {"replies": ["done"]}) as opened:
        stage, store = opened.gated()
        store.gate.clear()
        asking = asyncio.create_task(stage.ask())
        path = flight_path(stage.world.home.journal, SESSION, 1)
        await eventually_async(lambda: path.exists() and '"whole"' in path.read_text())
        done, told = asking.done(), stage.told("exchange_ended")
        store.gate.set()
        reply = await asking
        shown = await stage.another_worker().shown(reply.head)
    assert (done, told) == (False, [])
    assert [message.blocks for message in shown] == [(Text(text="list it"),), (Text(text="done"),)]


@pytest.mark.parametrize("pacing", [{}, pytest.param(SLOW, marks=pytest.mark.journey)])
async def test_a_store_that_takes_nothing_for_a_while_costs_no_second_request(
    tmp_path: Path, pacing: dict[str, int]
) -> None:
    reply = {"content": [{"text": "complete"}, {"text": "x" * 40}], "pacing": pacing}
    async with model_stage(tmp_path, {"replies": [reply]}) as opened:
        stage, store = opened.gated()
        store.is_full = True
        for attempt in (1, 2):
            with pytest.raises(UserError) as refused:
                await stage.ask(beat=SilentBeat(attempt=attempt))
            assert refused.value.reason == FailureKind.DISK_FULL
        store.is_full = False
        found = await stage.ask(beat=SilentBeat(attempt=3))
        asked = len(stage.model.requests)
    assert (asked, found.stop, found.unknown) == (1, StopReason.END_TURN, 0)


async def test_a_second_attempt_asks_only_once_what_waited_is_kept(tmp_path: Path) -> None:
    faults = [{"cut": "reset"}]
    async with model_stage(tmp_path, {"replies": [{"content": "a", "faults": faults}]}) as opened:
        stage, store = opened.gated()
        store.is_full = True
        for attempt in (1, 2, 3):
            with pytest.raises(Exception, match=r"full|connection|stream"):
                await stage.ask(beat=SilentBeat(attempt=attempt))
        asked_while_full = len(stage.model.requests)
        store.is_full = False
        found = await stage.ask(beat=SilentBeat(attempt=4))
    assert asked_while_full == 1
    assert (found.stop, found.unknown) == (StopReason.END_TURN, 1)


async def test_a_whole_reply_whose_blocks_a_power_cut_took_is_asked_again_and_counted(tmp_path: Path) -> None:
    async with model_stage(tmp_path, {"replies": ["a"]}) as stage:
        await stage.ask()
        path = flight_path(stage.world.home.journal, SESSION, 1)
        path.write_text("".join(line for line in path.read_text().splitlines(keepends=True) if '"block"' not in line))
        again = await stage.another_worker().ask(beat=SilentBeat(attempt=2))
        asked = len(stage.model.requests)
    assert (asked, again.unknown, again.stop) == (2, 1, StopReason.END_TURN)
