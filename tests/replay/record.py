"""python -m tests.replay.record: play one session a kind against a real engine, and keep its history for ever.

Only kinds that have no file yet are recorded: a history that is there must go on replaying. To record a changed path,
give it a new name in KINDS; `python -m tests.replay.record NAME …` records just these, and writes over them.
"""

import asyncio
import io
import shutil
import sys
import tempfile
from collections.abc import Awaitable, Callable
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

from PIL import Image as Picture
from temporalio.client import WorkflowFailureError, WorkflowHandle
from temporalio.exceptions import ApplicationError

from activities.stores.home import Home
from tests.fakes.rig import Rig, Talk, Told, played, rig
from tests.fakes.stand_ins import Stand, bare_engine, failing
from tests.fakes.waiting import eventually_async
from tests.replay.asking import ASKING
from tests.replay.kept import HISTORIES, keep
from workflows.contracts.errors import FailureKind
from workflows.contracts.extensions import HookEvent, HookKind, HookRule
from workflows.contracts.model import MOST_CALLS, CallRef
from workflows.contracts.permissions import Mode
from workflows.contracts.session import SessionResult, SetMode, Snapshot
from workflows.contracts.session_steps import ArchiveRequest
from workflows.contracts.settings import Thresholds
from workflows.contracts.tools import EndRequest, ToolRequest
from workflows.session import SessionWorkflow

Handle = WorkflowHandle[SessionWorkflow, SessionResult]
Play = Callable[[Rig, Path], Awaitable[Talk]]
Staged = Callable[[Stand], Awaitable[Handle]]


def _bash(command: str) -> Told:
    return {"tool": "Bash", "input": {"command": command}}


def _read(name: str) -> Told:
    return {"tool": "Read", "input": {"file_path": name}}


async def _plain(rig: Rig, box: Path) -> Talk:
    async with played({"fallback": "Hello."}) as model:
        talk = await rig.start(model, cwd=box)
        await talk.result()
        return talk


async def _tools(rig: Rig, box: Path) -> Talk:
    (box / "a.txt").write_text("alpha\n")
    edit = {"tool": "Edit", "input": {"file_path": "a.txt", "old_string": "alpha", "new_string": "omega"}}
    replies = [
        {"content": [_read("a.txt"), _read("a.txt"), _bash("echo one")]},
        {"content": [edit]},
        {"content": [_bash("exit 3"), {"tool": "Unknown", "input": {}}]},
        "Done.",
    ]
    async with played({"replies": replies}) as model:
        talk = await rig.start(model, cwd=box)
        await talk.result()
        return talk


async def _approval(rig: Rig, box: Path) -> Talk:
    replies = [{"content": [_bash("echo one")]}, {"content": [_bash("echo two")]}, "Done."]
    async with played({"replies": replies}) as model:
        talk = await rig.start(model, cwd=box, mode=Mode.DEFAULT)
        for allow in (True, False):
            snapshot = await talk.when(partial(_asks, exchange="1" if allow else "2"))
            approval = snapshot.approvals[0]
            await talk.answer(approval.id, approval.digest, allow=allow, text="" if allow else "not now")
        await talk.result()
        return talk


def _asks(snapshot: Snapshot, exchange: str) -> bool:
    return any(approval.id.startswith(f"{exchange}.") for approval in snapshot.approvals)


async def _interrupt(rig: Rig, box: Path) -> Talk:
    replies = [{"content": [_bash("touch began; sleep 60"), _bash("echo never")]}]
    async with played({"replies": replies, "fallback": "Done."}) as model:
        talk = await rig.start(model, cwd=box, once=False)
        await eventually_async((box / "began").exists, 20)
        await talk.send("second")
        await talk.interrupt()
        await talk.when(lambda snapshot: snapshot.state.turns == 2 and snapshot.phase == "idle")
        await talk.handle.execute_update(SessionWorkflow.set_mode, SetMode(request="m", mode=Mode.PLAN))
        await talk.close("enough")
        await talk.result()
        return talk


async def _roll(rig: Rig, box: Path) -> Talk:
    call = {"content": [_bash("sleep 0.4")], "repeat": 12}
    async with played({"replies": [call], "fallback": "Done."}) as model:
        talk = await rig.start(model, cwd=box, thresholds=Thresholds(roll_events=40))
        await talk.result()
        return talk


async def _recovery(rig: Rig, box: Path) -> Talk:
    overloaded = {"content": "From the other model.", "faults": [{"status": 529, "times": 3}]}
    call = {"content": [_bash("echo {n}")]}
    cut = {"content": [{"tool": "Bash", "input": {"command": "echo long"}, "cut_at": 8}]}
    capped = {"content": "half a", "stop_reason": "max_tokens", "times": 1}
    broken = {"content": [{"text": "kept"}, _bash("echo kept")], "faults": [{"cut": "reset", "after_blocks": 1}]}
    replies = [overloaded | call, cut, [capped, "All of a word."], broken]
    async with played({"replies": replies, "fallback": "Done."}) as model:
        talk = await rig.start(model, cwd=box, thresholds=Thresholds(fallback_models=("other",)), once=False)
        await talk.until("idle", 60)
        for text in ("second", "third"):
            turns = (await talk.snapshot()).state.turns
            await talk.send(text)
            await talk.when(partial(_has_rested, turns=turns), 60)
        await talk.close()
        await talk.result()
        return talk


def _has_rested(snapshot: Snapshot, turns: int) -> bool:
    return snapshot.state.turns > turns and snapshot.phase == "idle"


async def _hooks(rig: Rig, box: Path) -> Talk:
    stop = "[ -e stopped ] || { touch stopped; echo 'once more' >&2; exit 2; }"
    commands = {
        HookEvent.SESSION_START: "echo be brief",
        HookEvent.USER_PROMPT_SUBMIT: "grep -q secret && exit 2; true",
        HookEvent.PRE_TOOL_USE: "true",
        HookEvent.POST_TOOL_BATCH: "grep -q enough && exit 2; true",
        HookEvent.STOP: stop,
        HookEvent.SESSION_END: "true",
    }
    hooks = [HookRule(event=event, kind=HookKind.COMMAND, command=command) for event, command in commands.items()]
    async with played(
        {"replies": [{"content": [_bash("echo 1")]}, "ended", {"content": [_bash("echo enough")]}]}
    ) as model:
        talk = await rig.start(model, cwd=box, once=False, settings={"hooks": hooks})
        await talk.when(partial(_has_rested, turns=0), 60)
        for turns, text in ((1, "the secret"), (2, "go on")):
            await talk.send(text)
            await talk.when(partial(_has_rested, turns=turns), 60)
        await talk.close()
        await talk.result()
        return talk


async def _refused(rig: Rig, box: Path) -> Talk:
    async with played({"fallback": {"content": "never", "faults": [{"status": 400}]}}) as model:
        talk = await rig.start(model, cwd=box)
        await talk.result()
        return talk


async def _bad_media(rig: Rig, box: Path) -> Talk:
    """Recorded before a refused picture was left out: the turn ended here."""
    fault = {"status": 400, "message": "Could not process image"}
    async with played({"fallback": {"content": "never", "faults": [fault]}}) as model:
        talk = await rig.start(model, cwd=box)
        await talk.result()
        return talk


async def _left_out(rig: Rig, box: Path) -> Talk:
    picture = io.BytesIO()
    Picture.effect_noise((300, 300), 90).save(picture, "PNG")
    (box / "a.png").write_bytes(picture.getvalue())
    scenario = {"replies": [{"content": [_read("a.png")]}], "fallback": "Done.", "limits": {"image_base64": 1_000}}
    async with played(scenario) as model:
        talk = await rig.start(model, cwd=box)
        await talk.result()
        return talk


async def _close(rig: Rig, box: Path) -> Talk:
    async with played({"replies": [{"content": [_bash("touch began; sleep 60")]}]}) as model:
        talk = await rig.start(model, cwd=box, once=False)
        await eventually_async((box / "began").exists, 20)
        await talk.send("never asked")
        await talk.close("in the middle")
        await talk.result()
        return talk


async def _cancel(rig: Rig, box: Path) -> Talk:
    async with played({"replies": [{"content": [_bash("touch began; sleep 60")]}]}) as model:
        talk = await rig.start(model, cwd=box, once=False)
        await eventually_async((box / "began").exists, 20)
        await talk.handle.cancel()
        with suppress(WorkflowFailureError):
            await talk.result()
        return talk


async def _no_host(rig: Rig, box: Path) -> Talk:
    talk = await rig.start("http://127.0.0.1:9", cwd=box, host="0" * 16)
    await talk.when(lambda snapshot: snapshot.state.waiting_for.startswith("waiting for host"))
    await talk.handle.cancel()
    with suppress(WorkflowFailureError):
        await talk.result()
    return talk


async def _killed(rig: Rig, box: Path) -> Talk:
    async with played({"replies": [{"content": [_bash("touch began; sleep 2")]}], "fallback": "Done."}) as model:
        talk = await rig.start(model, cwd=box)
        await eventually_async((box / "began").exists, 20)
        rig.kill_worker()
        await talk.result()
        return talk


async def _gone_host(stand: Stand) -> Handle:
    stand.calls, began = (CallRef(tool="Bash"),), asyncio.Event()

    async def die(_request: ToolRequest) -> None:
        began.set()
        raise ApplicationError("the host is going")

    stand.on_tool = die
    async with stand.on_host():
        handle = await stand.start(once=False, end_patience=2)
        await began.wait()
    await stand.close(handle)
    await handle.result()
    return handle


async def _late_roll(stand: Stand) -> Handle:
    stand.calls = (CallRef(tool="Read", beside=True),) * 30

    async def full(_request: ArchiveRequest) -> None:
        if not stand.asked[1:]:
            raise ApplicationError("planted", type=FailureKind.DISK_FULL)

    stand.on_archive = full
    return await _ended(stand, roll_events=20, side_by_side=5)


async def _many_calls(stand: Stand) -> Handle:
    stand.calls, stand.beyond = (CallRef(tool="Read", beside=True),) * MOST_CALLS, 9
    return await _ended(stand, side_by_side=64)


async def _lost_call(stand: Stand) -> Handle:
    stand.calls = (CallRef(tool="Read", beside=True),) * 2

    async def fail(request: ToolRequest | EndRequest) -> None:
        if request.place:
            raise ApplicationError("planted", type=FailureKind.BUG, non_retryable=True)

    stand.on_tool, stand.on_end = fail, fail
    return await _ended(stand)


async def _unwritten(stand: Stand) -> Handle:
    stand.on_settle, stand.on_archive = (failing(FailureKind.BUG, 1, for_good=True) for _ in range(2))
    return await _ended(stand)


async def _ended(stand: Stand, **thresholds: Any) -> Handle:  # Any: as Thresholds takes them
    async with stand.on_host():
        handle = await stand.start(**thresholds)
        await handle.result()
        return handle


STAGED: dict[str, Staged] = {
    "gone-host": _gone_host,
    "late-roll": _late_roll,
    "many-calls": _many_calls,
    "lost-call": _lost_call,
    "unwritten": _unwritten,
}
"""Paths that only faults of hosts and stores lead to, played with activities that make them."""

KINDS: dict[str, Play] = {
    "plain": _plain,
    "tools": _tools,
    "approval": _approval,
    "interrupt": _interrupt,
    "roll": _roll,
    "recovery": _recovery,
    "hooks": _hooks,
    "refused": _refused,
    "bad-media": _bad_media,
    "left-out": _left_out,
    "close": _close,
    "cancel": _cancel,
    "no-host": _no_host,
    "killed": _killed,
    **ASKING,
}
"""Every path that a session can take so far."""


async def record(names: list[str]) -> None:
    """Play these kinds and write a file for each of their runs."""
    root = Path(tempfile.mkdtemp(prefix="perdure-"))
    try:
        if played_on_rig := [name for name in names if name in KINDS]:
            async with rig(Home(root / "home")) as engine:
                for name in played_on_rig:
                    box = root / name
                    box.mkdir()
                    await keep(engine.client, (await KINDS[name](engine, box)).handle, name)
        if staged := [name for name in names if name in STAGED]:
            home = Home(root / "bare")
            async with bare_engine(home) as client:
                for name in staged:
                    stand = Stand(client, home)
                    async with stand.shared():
                        await keep(client, await STAGED[name](stand), name)
    finally:
        shutil.rmtree(root, ignore_errors=True)


if __name__ == "__main__":
    HISTORIES.mkdir(exist_ok=True)
    known = {path.name.rpartition("-")[0] for path in HISTORIES.glob("*.json.gz")}
    asyncio.run(record(sys.argv[1:] or [name for name in (*KINDS, *STAGED) if name not in known]))
