"""Hooks in real sessions: they refuse, change, tell, keep a turn going, and run once through every crash."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.fakes.crash import healthy, kill
from tests.fakes.rig import Rig, Talk, Told, played
from tests.fakes.waiting import eventually_async
from worker.audit import audit
from worker.audit_sources import home_source
from workflows.contracts.extensions import HookKind, HookRule
from workflows.contracts.messages import Text
from workflows.contracts.permissions import Mode
from workflows.contracts.session import TurnEnd
from workflows.contracts.tools import CallStatus
from workflows.contracts.transcript import MessageBody, NoticeBody, OutcomeBody

pytestmark = [pytest.mark.journey, pytest.mark.asyncio(loop_scope="module")]


def hook(command: str, event: str = "PreToolUse", **more: Any) -> HookRule:
    return HookRule(event=event, kind=HookKind.COMMAND, command=command, **more)


def say(**fields: Any) -> str:
    """A command that prints this JSON."""
    return f"cat > /dev/null; cat <<'JSON'\n{json.dumps(fields)}\nJSON"


def decide(decision: str, **more: Any) -> str:
    return say(hookSpecificOutput={"hookEventName": "PreToolUse", "permissionDecision": decision, **more})


def calls(command: str) -> Told:
    """A model that wants to run one command."""
    return {"replies": [{"content": [{"tool": "Bash", "input": {"command": command}}]}], "fallback": "after"}


async def started(rig: Rig, model: Any, folder: Path, *hooks: HookRule, **more: Any) -> Talk:
    return await rig.start(model, cwd=folder, settings={"hooks": hooks}, **more)


async def outcome_of(talk: Talk, head: str) -> OutcomeBody:
    (outcome,) = await talk.outcomes(head)
    return outcome


async def notices(talk: Talk, head: str) -> list[NoticeBody]:
    """What hooks left in the chain."""
    bodies = [link.entry.body for link in await talk.links(head)]
    return [body for body in bodies if isinstance(body, NoticeBody) and body.what == "hooks"]


async def is_verified(rig: Rig, talk: Talk) -> bool:
    """Whether the whole chain and history hold."""
    report = await audit(home_source(rig.home, talk.session, {}), verify=True)
    assert report.problems == []
    return True


async def test_a_hook_refuses_a_call_and_the_model_reads_why(rig: Rig, tmp_path: Path) -> None:
    async with played(calls("echo ran > log")) as model:
        talk = await started(rig, model, tmp_path, hook("echo 'use make' >&2; exit 2", matcher="Bash"))
        result = await talk.result()
        assert not (tmp_path / "log").exists()
        assert "use make" in str(model.requests[-1].body)
        body = await outcome_of(talk, result.head)
        assert (body.status, body.verdict.by) == (CallStatus.DENIED, "hook")
        assert result.end == TurnEnd.DENIED
        assert await is_verified(rig, talk)


async def test_a_hook_changes_the_input_and_another_adds_words_for_the_model(rig: Rig, tmp_path: Path) -> None:
    more = say(hookSpecificOutput={"hookEventName": "PostToolUse", "additionalContext": "seven is a prime"})
    async with played(calls("echo model > log")) as model:
        changing = hook(decide("allow", updatedInput={"command": "echo hook > log; echo 7"}))
        talk = await started(rig, model, tmp_path, changing, hook(more, "PostToolUse"), mode=Mode.DEFAULT)
        result = await talk.result()
        assert (tmp_path / "log").read_text() == "hook\n"
        assert "seven is a prime" in str(model.requests[-1].body)
        body = await outcome_of(talk, result.head)
        assert body.updated_input == {"command": "echo hook > log; echo 7"}
        assert await is_verified(rig, talk)


async def test_an_approval_outlives_restarts_and_its_hooks_run_once(rig: Rig, tmp_path: Path) -> None:
    async with played(calls("echo model > log")) as model:
        asking = hook(f"echo ran >> runs; {decide('ask', updatedInput={'command': 'echo hook >> log'})}")
        talk = await started(rig, model, tmp_path, asking)
        (before,) = (await talk.until("waiting for approval", 40)).approvals
        assert before.summary == "echo hook >> log"
        kill(rig, "both")
        await healthy(rig)
        (after,) = (await talk.until("waiting for approval", 40)).approvals
        assert after == before
        kill(rig, "worker")
        await talk.answer(after.id, after.digest, allow=True)
        result = await talk.result(40)
        assert (tmp_path / "runs").read_text() == "ran\n"
        assert (tmp_path / "log").read_text() == "hook\n"
        body = await outcome_of(talk, result.head)
        assert (body.verdict.by, [record.event for record in body.hooks]) == ("person", ["PreToolUse"])
        assert await is_verified(rig, talk)


@pytest.mark.parametrize("event", ["PreToolUse", "PostToolUse"])
async def test_a_worker_that_dies_inside_a_hook_leaves_it_running_and_finds_its_answer(
    rig: Rig, tmp_path: Path, event: str
) -> None:
    async with played(calls("echo call >> log")) as model:
        slow = hook("echo began >> log; sleep 2; echo ended >> log; echo 'as it said' >&2; exit 2", event)
        talk = await started(rig, model, tmp_path, slow)
        await eventually_async(lambda: "began" in _text(tmp_path / "log"), 20, "the hook began")
        rig.kill_worker()
        result = await talk.result(40)
        call = [] if event == "PreToolUse" else ["call"]
        assert (tmp_path / "log").read_text().split() == [*call, "began", "ended"]
        body = await outcome_of(talk, result.head)
        assert body.hooks[0].crash in {"attached", "found"}
        assert "as it said" in str(model.requests[-1].body)
        assert body.status == (CallStatus.DENIED if event == "PreToolUse" else CallStatus.OK)


def _text(path: Path) -> str:
    return path.read_text() if path.exists() else ""


async def test_a_refused_prompt_reaches_neither_model_nor_chain(rig: Rig, tmp_path: Path) -> None:
    guard = hook("grep -q secret && { echo 'no secrets' >&2; exit 2; }; echo 'it is Monday'", "UserPromptSubmit")
    async with played({"fallback": "fine"}) as model:
        talk = await started(rig, model, tmp_path, guard, prompt="the secret word", once=False)
        refused = await talk.when(lambda snapshot: snapshot.state.turns == 1 and snapshot.phase == "idle")
        assert (refused.state.last_end, len(model.requests)) == (TurnEnd.HOOK, 0)
        assert "no secrets" in refused.state.last_error
        await talk.send("the weather")
        answered = await talk.when(lambda snapshot: snapshot.state.turns == 2 and snapshot.phase == "idle")
        assert answered.state.last_end == TurnEnd.DONE
        asked = str(model.requests[0].body)
        assert "it is Monday" in asked
        assert "the secret word" not in asked
        said = [link.entry.body for link in await talk.links() if isinstance(link.entry.body, MessageBody)]
        texts = [block.text for body in said for block in body.blocks if isinstance(block, Text)]
        assert texts == ["the weather", "fine"]
        await talk.close()
        await talk.result()
        assert await is_verified(rig, talk)


@pytest.mark.parametrize("broken", ["exit 1", "./missing", "sleep 60"])
async def test_a_guard_of_prompts_that_fails_refuses_them(rig: Rig, tmp_path: Path, broken: str) -> None:
    async with played({"fallback": "fine"}) as model:
        talk = await started(rig, model, tmp_path, hook(broken, "UserPromptSubmit", timeout=0.5))
        result = await talk.result()
        assert (result.end, len(model.requests)) == (TurnEnd.HOOK, 0)
        assert "a guard that fails refuses" in result.error
        (notice,) = await notices(talk, result.head)
        assert "failure" in str(notice.data["hooks"])


async def test_a_hook_keeps_the_turn_going_until_it_is_content_and_at_most_eight_times(
    rig: Rig, tmp_path: Path
) -> None:
    patient = "echo x >> runs; [ $(wc -l < runs) -gt 2 ] || { echo 'run the tests' >&2; exit 2; }"
    async with played({"fallback": "done"}) as model:
        talk = await started(rig, model, tmp_path, hook(patient, "Stop"))
        result = await talk.result()
        assert (len(model.requests), result.end) == (3, TurnEnd.DONE)
        assert "run the tests" in str(model.requests[-1].body)
        assert await is_verified(rig, talk)
    async with played({"fallback": "done"}) as model:
        talk = await started(rig, model, tmp_path, hook("echo again >&2; exit 2", "Stop"))
        assert (await talk.result()).end == TurnEnd.DONE
        assert len(model.requests) == 9


async def test_hooks_hear_of_start_batch_failure_and_end(rig: Rig, tmp_path: Path) -> None:
    hooks = [hook(f"cat >> {event}", event) for event in ("SessionStart", "PostToolBatch", "Stop", "SessionEnd")]
    async with played(calls("echo 7")) as model:
        talk = await started(rig, model, tmp_path, *hooks, hook("echo be brief", "SessionStart"))
        await talk.result()
        assert "be brief" in str(model.requests[0].body)
    given = {event: json.loads((tmp_path / event).read_text()) for event in ("SessionStart", "PostToolBatch", "Stop")}
    assert given["SessionStart"]["source"] == "startup"
    (batch,) = given["PostToolBatch"]["tool_calls"]
    assert (batch["tool_name"], batch["tool_response"]) == ("Bash", "7")
    assert given["Stop"]["last_assistant_message"] == "after"
    assert json.loads((tmp_path / "SessionEnd").read_text())["reason"] == "other"
    failing = hook("cat > failure", "StopFailure", matcher="request_refused")
    async with played({"fallback": {"content": "never", "faults": [{"status": 400}]}}) as model:
        talk = await started(rig, model, tmp_path, failing)
        await talk.result()
    assert json.loads((tmp_path / "failure").read_text())["error"] == "request_refused"


async def test_a_hook_after_a_batch_ends_the_turn(rig: Rig, tmp_path: Path) -> None:
    async with played(calls("echo 7")) as model:
        talk = await started(rig, model, tmp_path, hook("echo 'enough of this' >&2; exit 2", "PostToolBatch"))
        result = await talk.result()
        assert (result.end, len(model.requests)) == (TurnEnd.HOOK, 1)
        assert "enough of this" in result.error
        assert await is_verified(rig, talk)


async def test_a_worker_that_dies_inside_a_moments_hook_runs_it_once(rig: Rig, tmp_path: Path) -> None:
    slow = hook("echo began >> log; sleep 2; echo ended >> log; echo 'from the hook'", "UserPromptSubmit")
    async with played({"fallback": "fine"}) as model:
        talk = await started(rig, model, tmp_path, slow)
        await eventually_async((tmp_path / "log").exists, 20, "the hook began")
        rig.kill_worker()
        await talk.result(40)
        assert (tmp_path / "log").read_text().split() == ["began", "ended"]
        assert "from the hook" in str(model.requests[0].body)


async def test_a_hook_beside_the_work_wakes_the_model_when_the_turn_would_end(rig: Rig, tmp_path: Path) -> None:
    waking = hook("echo 'two tests fail' >&2; exit 2", "PostToolUse", is_async=True, wakes=True)
    replies = [
        {"content": [{"tool": "Bash", "input": {"command": "true"}}]},
        {"content": "ended", "pacing": {"first_byte_ms": 4000}},
    ]
    async with played({"replies": replies, "fallback": "mended"}) as model:
        talk = await started(rig, model, tmp_path, waking)
        result = await talk.result()
        assert (len(model.requests), result.end) == (3, TurnEnd.DONE)
        assert "two tests fail" in str(model.requests[-1].body)
        assert await is_verified(rig, talk)


JUDGE = {"system_contains": "You judge one moment"}


def judged_by(answer: Any, command: str) -> Told:
    """A model that wants to run one command, and a judge that says this of each call."""
    rule = answer if isinstance(answer, dict) else {"content": answer}
    return {**calls(command), "rules": [{"when": JUDGE, **rule}]}


def judging(event: str = "PreToolUse", **more: Any) -> HookRule:
    return HookRule(event=event, kind=HookKind.PROMPT, prompt="May it run? $ARGUMENTS", **more)


@pytest.mark.parametrize(
    ("answer", "status", "said"),
    [
        ('{"ok": true}', CallStatus.OK, ""),
        ('{"ok": false, "reason": "not at night"}', CallStatus.DENIED, "not at night"),
        ("I cannot say", CallStatus.DENIED, "a guard that fails refuses"),
        ({"content": "x", "faults": [{"status": 529, "times": "always"}]}, CallStatus.DENIED, "did not answer"),
    ],
)
async def test_a_small_model_judges_a_call(
    rig: Rig, tmp_path: Path, answer: Any, status: CallStatus, said: str
) -> None:
    async with played(judged_by(answer, "echo ran > log")) as model:
        talk = await started(rig, model, tmp_path, judging())
        result = await talk.result()
        body = await outcome_of(talk, result.head)
        assert (body.status, body.hooks[0].kind) == (status, "prompt")
        assert said in str(model.requests[-1].body)
        assert (tmp_path / "log").exists() is (status == CallStatus.OK)
        (question,) = [request for request in model.requests if "You judge" in str(request.body)][:1]
        assert '"tool_input": {"command": "echo ran > log"}' in str(question.body).replace('\\"', '"').replace("\\", "")


async def test_a_small_model_judges_a_prompt_and_its_cost_counts(rig: Rig, tmp_path: Path) -> None:
    async with played(judged_by('{"ok": false, "reason": "too vague"}', "true")) as model:
        talk = await started(rig, model, tmp_path, judging("UserPromptSubmit"))
        result = await talk.result()
        assert (result.end, len(model.requests)) == (TurnEnd.HOOK, 1)
        assert "too vague" in result.error
    priced = judging("UserPromptSubmit", model="claude-haiku-4-5")
    async with played(judged_by('{"ok": true}', "true")) as model:
        talk = await started(rig, model, tmp_path, priced, judging(model="claude-haiku-4-5"))
        result = await talk.result()
        (notice,), (body,) = await notices(talk, result.head), await talk.outcomes(result.head)
        assert body.cost == body.hooks[0].cost > 0
        report = await audit(home_source(rig.home, talk.session, {}), verify=True)
        assert report.totals.cost == result.totals.cost > body.cost
        assert "cost" in str(notice.data["hooks"])
