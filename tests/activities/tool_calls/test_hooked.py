"""Hooks around a call: they decide before it, speak after it, run once, and a guard that fails refuses."""

import asyncio
import json
import os
import signal
import stat
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from activities.stores.contexts import read_context
from activities.tool_calls.early import start_early
from activities.tool_calls.end import end_call
from activities.tool_calls.opened import opened
from activities.tool_calls.run import run_tool
from tests.activities.tool_calls.stage import Stage, text, use, yes
from tests.fakes.waiting import eventually_async
from workflows.contracts.extensions import HookHeader, HookKind, HookRule
from workflows.contracts.model import ModelRequest
from workflows.contracts.permissions import Decision, Mode, Rules, Unattended
from workflows.contracts.settings import SessionSettings
from workflows.contracts.tools import CallStatus
from workflows.contracts.transcript import OutcomeBody

pytestmark = pytest.mark.filterwarnings("ignore::ResourceWarning")

WRITE = {"file_path": "f", "content": "x"}


def hook(command: str = "", event: str = "PreToolUse", **more: Any) -> HookRule:
    return HookRule(event=event, kind=HookKind.COMMAND, command=command, source="s.json", **more)


def say(**fields: Any) -> str:
    """A command that prints this JSON."""
    return f"cat > /dev/null; cat <<'JSON'\n{json.dumps(fields)}\nJSON"


def decide(decision: str, event: str = "PreToolUse", **more: Any) -> str:
    given = {"permissionDecision": decision, "permissionDecisionReason": "so it is", **more}
    return say(hookSpecificOutput={"hookEventName": event, **given})


def staged(folder: Path, *hooks: HookRule, **settings: Any) -> Stage:
    folder.mkdir(exist_ok=True)
    return Stage(folder, SessionSettings(hooks=hooks, **settings))


async def test_a_hook_reads_the_call_and_what_it_stands_in(tmp_path: Path) -> None:
    stage = staged(tmp_path, hook('cat > given; echo "$CLAUDE_PROJECT_DIR $PERDURE_HOOK_EVENT" > seen; env > env'))
    stage.world = _with_environment(stage, {"PATH": os.environ["PATH"], "ANTHROPIC_API_KEY": "sk-secret", "MINE": "1"})
    await stage.run(use("Write", **WRITE))
    given = json.loads((stage.workspace / "given").read_text())
    assert (given["hook_event_name"], given["tool_name"], given["tool_input"]) == ("PreToolUse", "Write", WRITE)
    assert (given["session_id"], given["permission_mode"]) == ("s1", "bypassPermissions")
    lines = [json.loads(line) for line in Path(given["transcript_path"]).read_text().splitlines()]
    assert lines[-1]["message"]["content"][1]["name"] == "Write"
    assert (stage.workspace / "seen").read_text() == f"{stage.workspace} PreToolUse\n"
    environment = (stage.workspace / "env").read_text()
    assert "MINE=1" in environment
    assert "sk-secret" not in environment


def _with_environment(stage: Stage, environment: dict[str, str]) -> Any:
    return replace(stage.world, environment=environment)


async def test_exit_2_refuses_and_the_model_reads_why(tmp_path: Path) -> None:
    stage = staged(tmp_path, hook("echo 'not on Mondays' >&2; exit 2"))
    done, body = await stage.run(use("Write", **WRITE))
    assert (done.status, body.verdict.by) == (CallStatus.DENIED, "hook")
    assert "not on Mondays" in text(body)
    assert not (stage.workspace / "f").exists()
    (record,) = body.hooks
    assert (record.event, record.decision, record.exit, record.source) == ("PreToolUse", "deny", 2, "s.json")


@pytest.mark.parametrize(
    ("rule", "failure", "said"),
    [
        (hook("./no-such-script"), "missing", "no such"),
        (hook("/usr/bin/env no-such-program x"), "missing", "no-such-program"),
        (hook("no-such-program", args=("x",)), "missing", "no-such-program"),
        (hook("./bad-interpreter"), "missing", "interpreter"),
        (hook("./not-executable"), "missing", "ermission denied"),
        pytest.param(hook("sleep 60", timeout=0.3), "timeout", "within its time", marks=pytest.mark.journey),
        pytest.param(hook("sleep 60 & wait", timeout=0.3), "timeout", "within its time", marks=pytest.mark.journey),
        (hook("kill -SEGV $$"), "crash", "signal 11"),
        (hook("python3 -c 'raise SystemError(7)'"), "exit", "SystemError: 7"),
        (hook("exit 3"), "exit", "exit code 3"),
        (hook("echo '{\"decision\":'"), "bad_answer", "bad JSON"),
        (hook('echo \'{"decision": "maybe"}\''), "bad_answer", "'maybe'"),
        (hook("head -c 2000000 /dev/zero"), "too_much", "2,000,000 bytes"),
        (hook(""), "missing", "nothing that could be run"),
        (hook("exit 0", matcher="["), "bad_matcher", "no regular expression"),
        (hook("exit 0", shell="fish"), "unsupported", "no shell 'fish'"),
        (HookRule(event="PreToolUse", kind=HookKind.AGENT, prompt="x"), "unsupported", "cannot run yet"),
        (HookRule(event="PreToolUse", kind=HookKind.HTTP, url="http://127.0.0.1:9/"), "unreachable", "be reached"),
        (HookRule(event="PreToolUse", kind=HookKind.HTTP, url="file:///etc/passwd"), "missing", "no http address"),
    ],
)
async def test_a_guard_that_fails_refuses_and_that_is_recorded_and_said(
    tmp_path: Path, rule: HookRule, failure: str, said: str
) -> None:
    stage = staged(tmp_path, rule)
    _script(stage.workspace / "bad-interpreter", "#!/no/such/interpreter\n", 0o755)
    _script(stage.workspace / "not-executable", "#!/bin/sh\n", 0o644)
    done, body = await stage.run(use("Write", **WRITE))
    assert (done.status, body.verdict.by) == (CallStatus.DENIED, "hook")
    assert not (stage.workspace / "f").exists()
    (record,) = body.hooks
    assert (record.failure, record.decision) == (failure, "deny")
    for told in (record.text, text(body), _notices(stage)):
        assert said in told
    assert "a guard that fails refuses" in text(body)


def _script(path: Path, content: str, mode: int) -> None:
    path.write_text(content)
    path.chmod(stat.S_IFREG | mode)


def _notices(stage: Stage) -> str:
    paths = stage.world.home.events.rglob("*.ndjson")
    events = [json.loads(line) for path in paths for line in path.read_text().splitlines()]
    return "\n".join(event["text"] for event in events if event["kind"] == "notice")


@pytest.mark.journey
async def test_nothing_of_a_hook_that_took_too_long_is_left(tmp_path: Path) -> None:
    stage = staged(tmp_path, hook("sleep 77 & echo $! > pid; wait", timeout=0.5))
    await stage.run(use("Write", **WRITE))
    pid = int((stage.workspace / "pid").read_text())
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)


async def test_a_failure_after_the_call_is_told_and_stops_nothing(tmp_path: Path) -> None:
    stage = staged(tmp_path, hook("exit 3", event="PostToolUse"))
    done, body = await stage.run(use("Write", **WRITE))
    assert done.status == CallStatus.OK
    assert (body.hooks[0].failure, body.hooks[0].decision) == ("exit", "")
    assert "exit code 3" in _notices(stage)
    assert "exit code 3" not in text(body)


async def test_an_allow_skips_the_question_but_no_rule(tmp_path: Path) -> None:
    allowing = hook(decide("allow"))
    _, body = await staged(tmp_path / "1", allowing).run(use("Write", **WRITE), mode=Mode.DEFAULT)
    assert (body.status, body.verdict.by, body.verdict.decision) == (CallStatus.OK, "hook", Decision.ALLOW)
    denied = staged(tmp_path / "2", allowing, rules=Rules(deny=("Bash",)))
    _, body = await denied.run(use("Bash", command="date"), mode=Mode.DEFAULT)
    assert (body.status, body.verdict.by) == (CallStatus.DENIED, "rule")
    asking = staged(tmp_path / "3", allowing, rules=Rules(ask=("Bash",)))
    await asking.reply(use("Bash", command="date"))
    assert (await run_tool(asking.world, asking.request(mode=Mode.BYPASS))).status == CallStatus.NEEDS_APPROVAL


async def test_an_ask_forces_the_question_also_in_bypass_mode(tmp_path: Path) -> None:
    stage = staged(tmp_path / "1", hook(decide("ask")))
    await stage.reply(use("Write", **WRITE))
    done = await run_tool(stage.world, stage.request())
    assert done.status == CallStatus.NEEDS_APPROVAL
    assert done.approval is not None
    assert "so it is" in done.approval.reason
    alone = staged(tmp_path / "2", hook(decide("ask")), unattended=Unattended.DENY)
    _, body = await alone.run(use("Write", **WRITE))
    assert (body.status, body.verdict.by) == (CallStatus.DENIED, "unattended")


async def test_the_strictest_of_several_hooks_counts(tmp_path: Path) -> None:
    stage = staged(tmp_path, hook(decide("allow")), hook("echo never >&2; exit 2"), hook(decide("ask")))
    _, body = await stage.run(use("Write", **WRITE))
    assert (body.status, len(body.hooks)) == (CallStatus.DENIED, 3)
    assert "never" in text(body)


async def test_a_hook_concerns_only_the_calls_of_its_matcher_and_its_if(tmp_path: Path) -> None:
    stage = staged(tmp_path, hook("exit 2", matcher="Bash", condition="Bash(git push *)"))
    _, body = await stage.run(use("Write", **WRITE))
    assert (body.status, body.hooks) == (CallStatus.OK, ())
    _, body = await stage.run(use("Bash", command="git status || true"))
    assert (body.status, body.hooks) == (CallStatus.OK, ())
    _, body = await stage.run(use("Bash", command="git push origin"), exchange=2)
    assert body.status == CallStatus.DENIED


async def test_the_input_of_a_hook_takes_the_place_of_the_models_and_is_recorded(tmp_path: Path) -> None:
    other = {"file_path": "g", "content": "y"}
    stage = staged(tmp_path, hook(decide("allow", updatedInput=other)))
    _, body = await stage.run(use("Write", **WRITE))
    assert (stage.workspace / "g").read_text() == "y"
    assert not (stage.workspace / "f").exists()
    assert (body.updated_input, body.hooks[0].updated) == (other, True)


async def test_an_input_that_does_not_fit_the_tool_refuses(tmp_path: Path) -> None:
    stage = staged(tmp_path, hook(decide("allow", updatedInput={"path": "g"})))
    done, body = await stage.run(use("Write", **WRITE))
    assert (done.status, body.verdict.by) == (CallStatus.DENIED, "hook")
    assert "gave it an input that does not fit" in text(body)


async def test_an_approval_is_bound_to_the_input_of_the_hook_and_hooks_run_once(tmp_path: Path) -> None:
    other = {"file_path": "g", "content": "y"}
    stage = staged(tmp_path, hook(f"echo ran >> runs; {decide('ask', updatedInput=other)}"))
    await stage.reply(use("Write", **WRITE))
    asked = (await run_tool(stage.world, stage.request())).approval
    assert asked is not None
    second = stage.after_a_crash()
    for wrong in ("0" * 64, (await _digest(stage))):
        refused = stage.request(approval=asked, answer=yes(asked, digest=wrong))
        assert (await run_tool(second.world, refused)).status == CallStatus.NEEDS_APPROVAL
    _, body = await second.again(approval=asked, answer=yes(asked))
    assert (body.status, body.verdict.by) == (CallStatus.OK, "person")
    assert (stage.workspace / "g").read_text() == "y"
    assert (stage.workspace / "runs").read_text() == "ran\n"
    assert [record.event for record in body.hooks] == ["PreToolUse"]


async def _digest(stage: Stage) -> str:
    """Of the call as the model made it."""
    return (await opened(stage.world, stage.request())).digest


async def test_the_second_pass_starts_from_the_stored_one_when_the_host_lost_its_record(tmp_path: Path) -> None:
    stage = staged(tmp_path, hook(f"echo ran >> runs; {decide('ask')}"))
    await stage.reply(use("Write", **WRITE))
    asked = (await run_tool(stage.world, stage.request())).approval
    assert asked is not None
    stage.world.journal.forget("s1")
    _, body = await stage.again(approval=asked, answer=yes(asked))
    assert body.status == CallStatus.OK
    assert (stage.workspace / "runs").read_text() == "ran\n"


async def test_a_hook_may_answer_in_the_persons_place_but_not_against_a_rule(tmp_path: Path) -> None:
    allow = say(hookSpecificOutput={"hookEventName": "PermissionRequest", "decision": {"behavior": "allow"}})
    rule = hook(allow, event="PermissionRequest")
    _, body = await staged(tmp_path / "1", rule).run(use("Write", **WRITE), mode=Mode.DEFAULT)
    assert (body.status, body.verdict.by) == (CallStatus.OK, "hook")
    asking = staged(tmp_path / "2", rule, rules=Rules(ask=("Bash",)))
    await asking.reply(use("Bash", command="date"))
    assert (await run_tool(asking.world, asking.request(mode=Mode.DEFAULT))).status == CallStatus.NEEDS_APPROVAL
    other = {"behavior": "allow", "updatedInput": {"file_path": "g", "content": "y"}}
    changing = hook(
        say(hookSpecificOutput={"hookEventName": "PermissionRequest", "decision": other}), event="PermissionRequest"
    )
    changed = staged(tmp_path / "4", changing)
    await changed.reply(use("Write", **WRITE))
    assert (await run_tool(changed.world, changed.request(mode=Mode.DEFAULT))).status == CallStatus.NEEDS_APPROVAL
    broken = staged(tmp_path / "3", hook("exit 9", event="PermissionRequest"))
    await broken.reply(use("Write", **WRITE))
    assert (await run_tool(broken.world, broken.request(mode=Mode.DEFAULT))).status == CallStatus.NEEDS_APPROVAL


async def test_a_guard_of_bash_judges_what_runs_commands_by_another_name(tmp_path: Path) -> None:
    guard = hook("cat > given; exit 2", matcher="Bash")
    stage = staged(tmp_path, guard)
    _, body = await stage.run(use("Monitor", command="touch made", description="x"))
    assert body.status == CallStatus.DENIED
    assert json.loads((stage.workspace / "given").read_text())["tool_name"] == "Monitor"
    assert not (stage.workspace / "made").exists()
    elsewhere = staged(tmp_path / "2", hook("exit 2", matcher="Bash", condition="Bash(rm *)"))
    _, body = await elsewhere.run(use("Monitor", command="echo fine", description="x"))
    assert body.status == CallStatus.OK


async def test_a_hook_hears_of_a_question_and_of_a_refusal(tmp_path: Path) -> None:
    notified = hook("cat > notified", event="Notification", matcher="permission_prompt")
    denied = say(hookSpecificOutput={"hookEventName": "PermissionDenied", "retry": True})
    stage = staged(tmp_path / "1", notified)
    await stage.reply(use("Write", **WRITE))
    await run_tool(stage.world, stage.request(mode=Mode.DEFAULT))
    assert json.loads((stage.workspace / "notified").read_text())["notification_type"] == "permission_prompt"
    refused = staged(tmp_path / "2", hook(denied, event="PermissionDenied"), rules=Rules(deny=("Write",)))
    _, body = await refused.run(use("Write", **WRITE))
    assert "You may try this call again" in text(body)


@pytest.mark.journey
async def test_after_a_call_hooks_add_words_and_may_replace_its_text(tmp_path: Path) -> None:
    more = say(hookSpecificOutput={"hookEventName": "PostToolUse", "additionalContext": "mind the gap"})
    stage = staged(tmp_path / "1", hook(more, event="PostToolUse"), hook("echo fmt >&2; exit 2", event="PostToolUse"))
    _, body = await stage.run(use("Write", **WRITE))
    assert body.status == CallStatus.OK
    assert "[PostToolUse hook] mind the gap" in text(body)
    assert "fmt" in text(body)
    masking = say(hookSpecificOutput={"hookEventName": "PostToolUse", "updatedToolOutput": "all fine"})
    masked = staged(tmp_path / "2", hook(masking, event="PostToolUse"))
    _, body = await masked.run(use("Bash", command="echo the password"))
    assert text(body) == "all fine"
    assert "replaced_text" in body.data
    failing = staged(tmp_path / "3", hook("cat > failure", event="PostToolUseFailure"))
    await failing.run(use("Bash", command="echo oh; exit 4"))
    given = json.loads((failing.workspace / "failure").read_text())
    assert (given["is_interrupt"], "oh" in given["error"]) == (False, True)


async def test_a_hook_that_says_stop_ends_the_turn(tmp_path: Path) -> None:
    stop = say(**{"continue": False, "stopReason": "enough"})
    before, body = await staged(tmp_path / "1", hook(stop)).run(use("Write", **WRITE))
    assert (before.status, before.stop) == (CallStatus.DENIED, "enough")
    after, body = await staged(tmp_path / "2", hook(stop, event="PostToolUse")).run(use("Write", **WRITE))
    assert (after.status, after.stop, body.hooks[0].decision) == (CallStatus.OK, "enough", "stop")


async def test_what_hooks_said_is_found_again_and_no_hook_runs_twice(tmp_path: Path) -> None:
    hooks = [hook("echo pre >> runs"), hook("echo post >> runs", event="PostToolUse")]
    stage = staged(tmp_path, *hooks)
    await stage.run(use("Write", **WRITE))
    key = next(iter(stage.world.journal.calls("s1"))).key
    (stage.world.home.journal / "s1" / key / "outcome").unlink()
    _, body = await stage.after_a_crash().again()
    assert (body.crash, [record.event for record in body.hooks]) == ("repeated", ["PreToolUse", "PostToolUse"])
    assert (stage.workspace / "runs").read_text() == "pre\npost\n"


@pytest.mark.parametrize("event", ["PreToolUse", "PostToolUse"])
@pytest.mark.parametrize("tool", ["Write", "Glob"])
async def test_a_second_attempt_joins_the_hook_that_still_runs(tmp_path: Path, event: str, tool: str) -> None:
    waiting = "echo ran >> runs; while [ ! -e go ]; do sleep 0.02; done; echo no >&2; exit 2"
    stage = staged(tmp_path, hook(waiting, event=event))
    await stage.reply(use("Glob", pattern="*") if tool == "Glob" else use("Write", **WRITE))
    attempt = asyncio.ensure_future(run_tool(stage.world, stage.request()))
    await eventually_async((stage.workspace / "runs").exists)
    attempt.cancel()
    with suppress(asyncio.CancelledError):
        await attempt
    (stage.workspace / "go").touch()
    _, body = await stage.after_a_crash().again()
    assert (stage.workspace / "runs").read_text() == "ran\n"
    assert body.hooks[0].crash in {"attached", "found"}
    assert body.hooks[0].decision == ("deny" if event == "PreToolUse" else "block")


async def test_a_guard_whose_runner_was_killed_refuses_and_does_not_run_again(tmp_path: Path) -> None:
    stage = staged(tmp_path, hook("echo $PPID > runner; echo ran >> runs; sleep 60"))
    await stage.reply(use("Write", **WRITE))
    attempt = asyncio.ensure_future(run_tool(stage.world, stage.request()))
    await eventually_async((stage.workspace / "runs").exists)
    os.kill(int((stage.workspace / "runner").read_text()), signal.SIGKILL)
    done = await attempt
    body = await stage.outcome(done)
    assert (body.status, body.hooks[0].failure) == (CallStatus.DENIED, "crash")
    assert "how it ended is not known" in text(body)
    assert (stage.workspace / "runs").read_text() == "ran\n"


async def test_an_interrupt_ends_hooks_and_the_call_is_never_run(tmp_path: Path) -> None:
    stage = staged(tmp_path, hook("echo $$ > pid; sleep 60"))
    await stage.reply(use("Write", **WRITE))
    attempt = asyncio.ensure_future(run_tool(stage.world, stage.request()))
    await eventually_async((stage.workspace / "pid").exists)
    stage.beat.cancelled.set()
    body = await stage.outcome(await attempt)
    assert body.status == CallStatus.CANCELLED
    assert not (stage.workspace / "f").exists()
    with pytest.raises(ProcessLookupError):
        os.kill(int((stage.workspace / "pid").read_text()), 0)


async def test_a_call_that_is_ended_from_outside_ends_its_hooks_too(tmp_path: Path) -> None:
    stage = staged(tmp_path, hook("echo $$ > pid; sleep 60"))
    await stage.reply(use("Write", **WRITE))
    attempt = asyncio.ensure_future(run_tool(stage.world, stage.request()))
    await eventually_async((stage.workspace / "pid").exists)
    attempt.cancel()
    with suppress(asyncio.CancelledError):
        await attempt
    other = stage.after_a_crash()
    body = await stage.outcome(await end_call(other.world, other.end()))
    assert body.status == CallStatus.CANCELLED
    with pytest.raises(ProcessLookupError):
        os.kill(int((stage.workspace / "pid").read_text()), 0)


async def test_an_async_hook_runs_beside_the_call_and_decides_nothing(tmp_path: Path) -> None:
    stage = staged(tmp_path, hook("sleep 0.2; echo late > late; exit 2", is_async=True))
    _, body = await stage.run(use("Write", **WRITE))
    assert body.status == CallStatus.OK
    assert body.hooks[0].text == "runs beside the work"
    await eventually_async((stage.workspace / "late").exists)


async def test_what_an_async_hook_says_at_its_end_is_told_with_the_next_call_and_once(tmp_path: Path) -> None:
    late = "while [ ! -e go ]; do sleep 0.02; done;"
    waking = hook(f"{late} echo 'tests fail' >&2; exit 2", matcher="Write", is_async=True, wakes=True)
    silent = hook(f"{late} echo unheard >&2; exit 2", matcher="Write", is_async=True)
    stage = staged(tmp_path, waking, silent)
    _, body = await stage.run(use("Write", **WRITE))
    assert "tests fail" not in text(body)
    (record,) = stage.world.journal.calls("s1")
    (stage.workspace / "go").touch()
    await eventually_async(lambda: len([*record.path.glob("hooks/*/status")]) == 2)
    _, body = await stage.run(use("Bash", command="echo next"), exchange=2)
    assert "which ran beside the work] tests fail" in text(body)
    assert "unheard" not in text(body)
    assert "unheard" in _notices(stage)
    _, body = await stage.run(use("Bash", command="echo last"), exchange=3)
    assert "tests fail" not in text(body)


async def test_what_a_hook_sees_first_is_not_started_early(tmp_path: Path) -> None:
    for hooks, started in (((), 1), ((hook("exit 0", matcher="Glob"),), 0), ((hook("exit 0", matcher="Read"),), 1)):
        stage = staged(tmp_path / str(len(hooks) + started * 2), *hooks)
        await stage.reply(use("Glob", pattern="*"))
        context = await read_context(stage.world.store, stage.context)
        request = ModelRequest(session="s1", exchange=1, head=stage.entry, context=stage.context, at="")
        start_early(stage.world, request, context, 0, use("Glob", pattern="*"))
        assert len(stage.world.early) == started
        for early in stage.world.early.values():
            early.task.cancel()


async def test_a_header_names_only_variables_that_its_hook_may_have(tmp_path: Path) -> None:
    headers = (HookHeader(name="A", value="$HOME"),)
    rule = HookRule(event="PreToolUse", kind=HookKind.HTTP, url="http://127.0.0.1:9/", headers=headers)
    _, body = await staged(tmp_path, rule).run(use("Write", **WRITE))
    assert "not in its allowedEnvVars" in text(body)


def test_an_outcome_without_hooks_is_written_as_before() -> None:
    assert not {"hooks", "updated_input"} & OutcomeBody.model_validate(
        {
            "exchange": 1, "place": 0, "tool": "T", "call": "c", "digest": "d", "status": "ok",
            "verdict": {"decision": "allow", "by": "mode"},
        }
    ).model_dump().keys()  # fmt: skip
