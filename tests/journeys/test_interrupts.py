"""Interrupt, cancel and close: what runs is ended, the conversation stays valid, the next prompt runs."""

import asyncio
import json
import os
import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path

import psutil
import pytest
from temporalio.api.enums.v1 import EventType
from temporalio.client import WorkflowFailureError
from temporalio.exceptions import CancelledError

from tests.fakes.crash import healthy
from tests.fakes.rig import Rig, Talk, Told, played
from tests.fakes.waiting import eventually_async
from worker.engine_state import read_state
from worker.rehearsal.server import Rehearsal
from workflows.contracts.messages import Text
from workflows.contracts.permissions import Mode
from workflows.contracts.session import Snapshot, TurnEnd
from workflows.contracts.tools import CallStatus
from workflows.contracts.transcript import NoticeBody

pytestmark = [pytest.mark.journey, pytest.mark.asyncio(loop_scope="module")]

BOUND_S = 10.0
"""Twice what design §4 promises: other tests share the machine."""


def tagged(tag: str) -> list[int]:
    """Processes that carry TAG=tag in their environment."""
    found = []
    for process in psutil.process_iter():
        try:
            if process.environ().get("TAG") == tag:
                found.append(process.pid)
        except psutil.Error:
            continue
    return found


def daemon(tag: str, folder: Path) -> Told:
    """A command whose grandchild left it by forking twice, in a session of its own."""
    hidden = f"setsid sh -c 'sleep 300 & echo $! > {folder}/grandchild; wait' > /dev/null 2>&1 &"
    return {
        "tool": "Bash",
        "input": {"command": f"export TAG={tag}; ({hidden}); echo printed; touch {folder}/began; sleep 300"},
    }


async def began(folder: Path) -> None:
    """Wait until command and grandchild run."""
    await eventually_async((folder / "began").exists, 20, "the command began")
    await eventually_async((folder / "grandchild").exists, 20, "its grandchild began")


async def interrupted(talk: Talk) -> float:
    """Interrupt the turn; seconds until it was over."""
    start = time.monotonic()
    await talk.interrupt()
    await talk.until("idle", 30)
    return time.monotonic() - start


def paired(model: Rehearsal) -> bool:
    """Whether each call of the last request has its one result in the next message; and nothing was refused."""
    messages = model.requests[-1].body["messages"]
    uses = [[b["id"] for b in m["content"] if b["type"] == "tool_use"] for m in messages if m["role"] == "assistant"]
    answers = [
        [b["tool_use_id"] for b in m["content"] if b["type"] == "tool_result"]
        for m in messages
        if m["role"] == "user" and any(b["type"] == "tool_result" for b in m["content"])
    ]
    return model.refusals == 0 and [ids for ids in uses if ids] == answers


@contextmanager
def no_new_worker(rig: Rig) -> Iterator[None]:
    """The worker is dead and the supervisor stands still, so that none comes back inside."""
    supervisor = read_state(rig.home).supervisor.pid
    keeper = read_state(rig.home).worker.pid
    os.kill(supervisor, signal.SIGSTOP)
    try:
        os.kill(keeper, signal.SIGKILL)
        yield
    finally:
        os.kill(supervisor, signal.SIGCONT)


async def test_an_interrupt_ends_a_command_with_its_hidden_grandchild(rig: Rig, tmp_path: Path) -> None:
    async with played({"replies": [{"content": [daemon("i1", tmp_path)]}, "after"], "fallback": "after"}) as model:
        talk = await rig.start(model, cwd=tmp_path, once=False)
        await began(tmp_path)
        assert len(tagged("i1")) >= 2
        seconds = await interrupted(talk)
        print(f"interrupt: {seconds:.2f} s")
        assert tagged("i1") == []
        assert seconds <= BOUND_S
        await talk.send("go on")
        await eventually_async(lambda: len(model.requests) == 2, 20, "the next prompt runs")
        snapshot = await talk.until("idle")
        assert paired(model)
        assert snapshot.state.last_end == TurnEnd.DONE
        (outcome,) = await talk.outcomes()
        assert outcome.status == CallStatus.CANCELLED
        assert isinstance(outcome.content[0], Text)
        assert outcome.content[0].text.startswith("printed\n[interrupted by the person")


async def test_an_interrupt_without_a_worker_ends_the_command_when_one_comes(rig: Rig, tmp_path: Path) -> None:
    async with played({"replies": [{"content": [daemon("i2", tmp_path)]}], "fallback": "after"}) as model:
        talk = await rig.start(model, cwd=tmp_path, once=False)
        await began(tmp_path)
        with no_new_worker(rig):
            asking = asyncio.ensure_future(talk.interrupt())
            await asyncio.sleep(1)
            assert len(tagged("i2")) >= 2
        await asyncio.wait_for(asking, 30)
        await talk.until("idle", 30)
        assert tagged("i2") == []
        await talk.send("go on")
        await eventually_async(lambda: len(model.requests) == 2, 20, "the next prompt runs")
        await talk.until("idle")
        assert paired(model)
        (outcome,) = await talk.outcomes()
        assert outcome.status == CallStatus.CANCELLED
    await healthy(rig)


async def test_a_command_whose_worker_was_gone_for_long_is_ended_and_never_said_not_to_have_run(
    rig: Rig, tmp_path: Path
) -> None:
    async with played({"replies": [{"content": [daemon("i3", tmp_path)]}], "fallback": "after"}) as model:
        talk = await rig.start(model, cwd=tmp_path, once=False)
        await began(tmp_path)
        with no_new_worker(rig):
            gave_up: bool = await eventually_async(partial(has_timed_out, talk), 30, "the engine gave an attempt up")
            assert gave_up
            # Whoever comes next learns of the interrupt and of the time-out in one workflow task.
            asking = asyncio.ensure_future(talk.interrupt())
            await asyncio.sleep(1)
            assert len(tagged("i3")) >= 2
        await asyncio.wait_for(asking, 30)
        await talk.until("idle", 30)
        assert tagged("i3") == []
        (outcome,) = await talk.outcomes()
        assert (outcome.status, outcome.crash) == (CallStatus.CANCELLED, "ended")
        assert "printed" in str(outcome.content)
    await healthy(rig)


async def has_timed_out(talk: Talk) -> bool | None:
    """Whether the engine has told the session that a call timed out."""
    events = (await talk.handle.fetch_history()).events
    return any(event.event_type == EventType.EVENT_TYPE_ACTIVITY_TASK_TIMED_OUT for event in events)


async def test_four_calls_at_once_all_have_a_result_after_an_interrupt(rig: Rig, tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("alpha\n")
    calls = [
        {"tool": "Read", "input": {"file_path": "a.txt"}},
        {"tool": "Bash", "input": {"command": f"export TAG=d04; touch {tmp_path}/began; sleep 60"}},
        {"tool": "Write", "input": {"file_path": "b.txt", "content": "never"}},
        {"tool": "Read", "input": {"file_path": "a.txt"}},
    ]
    async with played({"replies": [{"content": calls}], "fallback": "after"}) as model:
        talk = await rig.start(model, cwd=tmp_path, once=False)
        await eventually_async((tmp_path / "began").exists, 20, "the command began")
        assert await interrupted(talk) <= BOUND_S
        assert tagged("d04") == []
        await talk.send("go on")
        await eventually_async(lambda: len(model.requests) == 2, 20, "the next prompt runs")
        await talk.until("idle")
        assert paired(model)
        outcomes = await talk.outcomes()
        assert [outcome.place for outcome in outcomes] == [0, 1, 2, 3]
        assert [outcome.status for outcome in outcomes[:2]] == [CallStatus.OK, CallStatus.CANCELLED]
        assert not (tmp_path / "b.txt").exists()


async def test_an_interrupt_ends_an_open_question(rig: Rig, tmp_path: Path) -> None:
    scenario = {"replies": [{"content": [{"tool": "Bash", "input": {"command": "touch ran"}}]}], "fallback": "after"}
    async with played(scenario) as model:
        talk = await rig.start(model, cwd=tmp_path, once=False, mode=Mode.DEFAULT)
        await talk.until("waiting for approval")
        assert await interrupted(talk) <= BOUND_S
        await talk.send("go on")
        await eventually_async(lambda: len(model.requests) == 2, 20, "the next prompt runs")
        await talk.until("idle")
        assert paired(model)
        assert not (tmp_path / "ran").exists()


async def test_an_interrupt_keeps_what_a_reply_has_said(rig: Rig, tmp_path: Path) -> None:
    slow = {"content": "word " * 400, "pacing": {"token_ms": 50, "chunk": 5}}
    async with played({"replies": [slow], "fallback": "after"}) as model:
        talk = await rig.start(model, cwd=tmp_path, once=False)
        await eventually_async(lambda: len(model.requests) == 1, 20, "the model is asked")
        await asyncio.sleep(1)
        await talk.send("second")
        await talk.send("third")
        start = time.monotonic()
        await talk.interrupt()
        await eventually_async(lambda: len(model.requests) == 3, 20, "the prompts that waited run")
        assert time.monotonic() - start <= 2 * BOUND_S
        snapshot = await talk.until("idle")
        assert (snapshot.state.turns, snapshot.state.last_end) == (3, TurnEnd.DONE)
        assert model.refusals == 0
        said = str(model.requests[1].body["messages"])
        assert "word word" in said
        assert said.index("word word") < said.index("interrupted here") < said.index("second")


async def test_a_cancelled_workflow_ends_what_it_runs(rig: Rig, tmp_path: Path) -> None:
    async with played({"replies": [{"content": [daemon("c1", tmp_path)]}], "fallback": "after"}) as model:
        talk = await rig.start(model, cwd=tmp_path, once=False)
        await began(tmp_path)
        start = time.monotonic()
        await talk.handle.cancel()
        with pytest.raises(WorkflowFailureError) as failure:
            await talk.result(30)
        seconds = time.monotonic() - start
        print(f"cancel: {seconds:.2f} s")
        assert isinstance(failure.value.cause, CancelledError)
        assert seconds <= BOUND_S
        assert tagged("c1") == []
        assert await settled_as(talk) == ["session_opened", "interrupted", "closed", "archived_history"]


async def test_a_cancel_reaches_a_session_that_rests(rig: Rig, tmp_path: Path) -> None:
    async with played({"fallback": "done"}) as model:
        talk = await rig.start(model, cwd=tmp_path, once=False)
        await eventually_async(lambda: len(model.requests) == 1, 20, "the model is asked")
        await talk.until("idle")
        await talk.handle.cancel()
        with pytest.raises(WorkflowFailureError):
            await talk.result(BOUND_S)
        assert await settled_as(talk) == ["session_opened", "turn_ended", "closed", "archived_history"]


async def test_a_close_in_the_middle_settles_the_chain(rig: Rig, tmp_path: Path) -> None:
    async with played({"replies": [{"content": [daemon("c2", tmp_path)]}], "fallback": "after"}) as model:
        talk = await rig.start(model, cwd=tmp_path, once=False)
        await began(tmp_path)
        await talk.send("never asked")
        await talk.close("enough")
        result = await talk.result(BOUND_S)
        assert (result.reason, result.end) == ("enough", TurnEnd.INTERRUPTED)
        assert tagged("c2") == []
        links = await talk.links(result.head)
        assert "never asked" in str([link.entry.body for link in links])
        (outcome,) = await talk.outcomes(result.head)
        assert outcome.status == CallStatus.CANCELLED


async def test_a_session_whose_host_never_came_can_be_cancelled(rig: Rig, tmp_path: Path) -> None:
    talk = await rig.start("http://127.0.0.1:9", cwd=tmp_path, once=False, host="0" * 16)

    await waiting_for_host(talk)
    await talk.handle.cancel()
    with pytest.raises(WorkflowFailureError):
        await talk.result(BOUND_S)


async def waiting_for_host(talk: Talk) -> Snapshot:
    """Wait until it waits for its host."""
    return await talk.when(lambda snapshot: snapshot.state.waiting_for.startswith("waiting for host"), 20)


async def settled_as(talk: Talk) -> list[str]:
    """The notices of a session that has ended, read through its history's last activity."""
    head = ""
    async for event in talk.handle.fetch_history_events():
        done = event.activity_task_completed_event_attributes
        if done.result.payloads:
            head = _head_in(done.result.payloads[0].data) or head
    bodies = [link.entry.body for link in await talk.links(head)]
    return [body.what for body in bodies if isinstance(body, NoticeBody)]


def _head_in(data: bytes) -> str:
    return str(json.loads(data).get("head", ""))
