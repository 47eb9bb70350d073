"""Plan mode: entered and left with the person's word, which mode it brings back, and what the model hears of it."""

import json
from functools import partial
from pathlib import Path

import pytest

from tests.fakes.crash import healthy, kill
from tests.fakes.rig import Rig, Talk, played
from worker.person_key import person_key
from workflows.contracts.permissions import Answer, Approval, Mode, answer_bytes
from workflows.contracts.session import SetMode, Snapshot
from workflows.contracts.tools import CallStatus
from workflows.contracts.transcript import NoticeBody
from workflows.session import SessionWorkflow

pytestmark = [pytest.mark.journey, pytest.mark.asyncio(loop_scope="module")]


async def asked_by(talk: Talk, tool: str) -> Approval:
    snapshot = await talk.when(lambda told: any(one.tool == tool for one in told.approvals), 40, f"{tool} asks")
    return next(one for one in snapshot.approvals if one.tool == tool)


async def answered(talk: Talk, asked: Approval, *, allow: bool, text: str = "", mode: Mode | None = None) -> None:
    unsigned = Answer(
        request=f"r{asked.id}", approval=asked.id, digest=asked.digest, allow=allow, by="tester", text=text,
        content=asked.content, mode=mode,
    )  # fmt: skip
    signature = person_key(talk.rig.home).sign(answer_bytes(talk.session, unsigned)).hex()
    given = unsigned.model_copy(update={"signature": signature})
    await talk.handle.execute_update(SessionWorkflow.answer, given)


async def notices(talk: Talk, head: str, what: str) -> list[NoticeBody]:
    bodies = [link.entry.body for link in await talk.links(head)]
    return [body for body in bodies if isinstance(body, NoticeBody) and body.what == what]


def rests_after(turns: int, told: Snapshot) -> bool:
    return told.state.turns == turns and told.phase == "idle"


async def test_a_plan_is_refused_mended_and_approved_across_a_crash_and_the_mode_comes_back(
    rig: Rig, tmp_path: Path
) -> None:
    session = "planner"
    plan = str(rig.home.plan(session))
    write = {"tool": "Write", "input": {"file_path": plan, "content": "# First\n"}}
    mend = {"tool": "Edit", "input": {"file_path": plan, "old_string": "First", "new_string": "Second"}}
    leave = {"tool": "ExitPlanMode", "input": {}}
    make = {"tool": "Write", "input": {"file_path": "made", "content": "x"}}
    replies = [
        {"content": [{"tool": "EnterPlanMode", "input": {}}]},
        {"content": [make, write, leave]},
        {"content": [mend, leave]},
        {"content": [make]},
    ]
    async with played({"replies": replies, "fallback": "done"}) as model:
        talk = await rig.start(model, cwd=tmp_path, mode=Mode.ACCEPT_EDITS, session=session)
        await answered(talk, await asked_by(talk, "EnterPlanMode"), allow=True)
        first = await asked_by(talk, "ExitPlanMode")
        assert (await talk.snapshot()).state.mode == Mode.PLAN
        assert await rig.store.get(first.content) == b"# First\n"
        assert not (tmp_path / "made").exists()
        await answered(talk, first, allow=False, text="shorter")
        second = await talk.when(lambda told: any(one.id.startswith("3.") for one in told.approvals), 40)
        kill(rig, "both")
        await healthy(rig)
        (asked,) = (await talk.until("waiting for approval", 40)).approvals
        assert asked == second.approvals[0]
        assert await rig.store.get(asked.content) == b"# Second\n"
        kill(rig, "worker")
        await answered(talk, asked, allow=True)
        result = await talk.result(60)
    assert (tmp_path / "made").read_text() == "x"
    outcomes = await talk.outcomes(result.head)
    told = [(outcome.tool, outcome.status) for outcome in outcomes]
    assert told == [
        ("EnterPlanMode", CallStatus.OK),
        ("Write", CallStatus.DENIED),
        ("Write", CallStatus.OK),
        ("ExitPlanMode", CallStatus.DENIED),
        ("Edit", CallStatus.OK),
        ("ExitPlanMode", CallStatus.OK),
        ("Write", CallStatus.OK),
    ]
    changes = await notices(talk, result.head, "mode_changed")
    assert [(each.data["mode"], each.data["by"], each.data["approval"]) for each in changes] == [
        ("plan", "tester", "1.0"),
        ("acceptEdits", "tester", asked.id),
    ]
    assert "# Second" in json.dumps(model.requests[-2].body)
    assert await notices(talk, result.head, "mode_reminder") == []


async def test_a_person_may_choose_how_to_go_on_with_a_plan(rig: Rig, tmp_path: Path) -> None:
    session = "chooser"
    rig.home.plan(session).write_text("# Plan\n")
    async with played({"replies": [{"content": [{"tool": "ExitPlanMode", "input": {}}]}, "Planned."]}) as model:
        talk = await rig.start(model, cwd=tmp_path, mode=Mode.PLAN, session=session, once=False)
        await answered(talk, await asked_by(talk, "ExitPlanMode"), allow=True, mode=Mode.ACCEPT_EDITS)
        snapshot = await talk.until("idle", 40)
        assert snapshot.state.mode == Mode.ACCEPT_EDITS
        await talk.close()
        await talk.result(20)


async def test_the_model_is_told_once_when_the_person_changes_plan_mode(rig: Rig, tmp_path: Path) -> None:
    async with played({"fallback": "ok"}) as model:
        talk = await rig.start(model, cwd=tmp_path, mode=Mode.DEFAULT, once=False)
        await talk.when(lambda told: told.state.turns == 1 and told.phase == "idle", 40)
        await talk.handle.execute_update(SessionWorkflow.set_mode, SetMode(request="m", mode=Mode.PLAN))
        for turns in (2, 3):
            await talk.send("go on")
            await talk.when(partial(rests_after, turns), 40)
        reminders = await notices(talk, (await talk.snapshot()).state.head, "mode_reminder")
        assert len(reminders) == 1
        assert str(rig.home.plan(talk.session)) in reminders[0].text
        assert "Plan mode is on" not in json.dumps(model.requests[0].body)
        assert "Plan mode is on" in json.dumps(model.requests[1].body)
        await talk.close()
        await talk.result(20)
