"""A call is vetted, run once however often it is tried, and always gives an outcome."""

import asyncio
import subprocess
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from activities.tool_calls.run import run_tool
from tests.activities.tool_calls.stage import AT, Stage, text, use, yes
from tests.fakes.waiting import eventually_async
from workflows.contracts.errors import ChainError, MissingObject
from workflows.contracts.messages import ToolUse
from workflows.contracts.permissions import Decision, Mode, Rules, Unattended, Verdict
from workflows.contracts.settings import SessionSettings
from workflows.contracts.tools import CallStatus, Pass


@pytest.fixture
def stage(tmp_path: Path) -> Stage:
    return Stage(tmp_path)


async def test_an_outcome_names_call_verdict_attempt_and_effects(stage: Stage) -> None:
    done, body = await stage.run(use("Write", file_path="f", content="x"))
    assert (stage.workspace / "f").read_text() == "x"
    assert (done.status, body.status, body.tool, body.call) == (CallStatus.OK, CallStatus.OK, "Write", "t1")
    verdict = body.verdict.model_copy(update={"policy": "", "reasons": ()})
    assert verdict == Verdict(decision=Decision.ALLOW, by="mode", rule="bypassPermissions")
    assert len(body.verdict.policy) == 64
    assert [effect.kind for effect in body.effects] == ["create"]
    assert (body.attempt, body.crash, body.worker) == (1, "", "test-worker")
    assert body.started <= body.ended


async def test_watchers_are_told_of_start_and_end(stage: Stage) -> None:
    await stage.run(use("Glob", pattern="*"))
    assert stage.events() == ["tool_started", "tool_ended"]


async def test_an_unknown_tool_is_answered_with_those_there_are(stage: Stage) -> None:
    done, body = await stage.run(use("Frobnicate", x=1))
    assert done.status == CallStatus.ERROR
    assert "There is no tool Frobnicate" in text(body)
    assert "Glob, Grep" in text(body)


async def test_an_input_that_does_not_fit_is_answered_with_what_is_wrong(stage: Stage) -> None:
    _, body = await stage.run(use("Read", path="f", **{"k" * 100_000: 1}))
    assert "file_path: Field required" in text(body)
    assert len(text(body)) < 3_000
    assert body.is_error


@pytest.mark.parametrize("tool", ["Bash", "Read"])
async def test_a_broken_call_is_never_run_and_says_why(stage: Stage, tool: str) -> None:
    done, body = await stage.run(use(tool, command="touch f"), broken="its input is no valid JSON")
    assert done.status == CallStatus.BROKEN
    assert "was not run: its input is no valid JSON" in text(body)
    assert not list(stage.workspace.iterdir())


async def test_a_cut_off_call_is_never_run_whatever_the_request_says(stage: Stage) -> None:
    bait = stage.workspace / "ke"
    bait.mkdir()
    done, body = await stage.run(ToolUse(id="t", name="Bash", input={"command": f"rm -rf {bait}"}, cut_off=True))
    assert (done.status, bait.is_dir()) == (CallStatus.BROKEN, True)
    assert "output limit" in text(body)


async def test_a_denied_call_does_not_run_and_says_by_what(tmp_path: Path) -> None:
    stage = Stage(tmp_path, SessionSettings(rules=Rules(deny=("Write",))))
    done, body = await stage.run(use("Write", file_path="f", content="x"))
    assert (done.status, body.verdict.by, body.verdict.rule) == (CallStatus.DENIED, "rule", "Write")
    assert text(body).startswith("Denied by rule Write.")
    assert not (stage.workspace / "f").exists()
    (told,) = stage.told()
    assert (told["kind"], told["status"], told["summary"]) == ("tool_ended", "denied", "f (1 lines, 1 bytes)")


async def test_unattended_a_question_is_denied_by_a_named_rule(tmp_path: Path) -> None:
    stage = Stage(tmp_path, SessionSettings(unattended=Unattended.DENY))
    _, body = await stage.run(use("Write", file_path="f", content="x"), mode=Mode.DEFAULT)
    assert (body.verdict.by, body.verdict.rule) == ("unattended", "unattended: deny")
    assert "Nobody attends" in text(body)


async def test_a_question_is_asked_without_running(stage: Stage) -> None:
    await stage.reply(use("Write", file_path="f", content="x"))
    done = await run_tool(stage.world, stage.request(mode=Mode.DEFAULT))
    assert (done.status, done.outcome) == (CallStatus.NEEDS_APPROVAL, "")
    assert done.approval is not None
    assert (done.approval.id, done.approval.asked_at) == ("1.0", AT)
    assert not (stage.workspace / "f").exists()
    assert stage.events() == ["approval_asked"]
    found = Pass.model_validate_json(await stage.world.store.get(done.approval.found))
    assert (found.verdict.decision, found.digest) == (Decision.ASK, done.approval.digest)


async def test_after_a_yes_the_call_runs_and_its_outcome_keeps_the_answer(stage: Stage) -> None:
    await stage.reply(use("Write", file_path="f", content="x"))
    asked = (await run_tool(stage.world, stage.request(mode=Mode.DEFAULT))).approval
    assert asked is not None
    _, body = await stage.again(mode=Mode.DEFAULT, approval=asked, answer=yes(asked))
    assert (body.status, body.verdict.by, body.answer) == (CallStatus.OK, "person", yes(asked))
    assert (stage.workspace / "f").exists()
    assert stage.events()[1] == "approval_answered"


async def test_after_a_no_the_model_hears_the_persons_words(stage: Stage) -> None:
    await stage.reply(use("Write", file_path="f", content="x"))
    asked = (await run_tool(stage.world, stage.request(mode=Mode.DEFAULT))).approval
    assert asked is not None
    answer = yes(asked, allow=False, text="not there")
    _, body = await stage.again(mode=Mode.DEFAULT, approval=asked, answer=answer)
    assert body.status == CallStatus.DENIED
    assert text(body).startswith("The person said no: not there.")


@pytest.mark.parametrize("changed", [{"digest": "e" * 64}, {"approval": "1.1"}])
async def test_an_answer_to_something_else_counts_for_nothing(stage: Stage, changed: dict[str, str]) -> None:
    await stage.reply(use("Write", file_path="f", content="x"))
    asked = (await run_tool(stage.world, stage.request(mode=Mode.DEFAULT))).approval
    assert asked is not None
    request = stage.request(mode=Mode.DEFAULT, approval=asked, answer=yes(asked, **changed))
    assert (await run_tool(stage.world, request)).status == CallStatus.NEEDS_APPROVAL
    assert not (stage.workspace / "f").exists()


async def test_a_yes_does_not_outvote_a_deny_rule(tmp_path: Path) -> None:
    asking = Stage(tmp_path)
    await asking.reply(use("Write", file_path="f", content="x"))
    asked = (await run_tool(asking.world, asking.request(mode=Mode.DEFAULT))).approval
    assert asked is not None
    stage = Stage(tmp_path, SessionSettings(rules=Rules(deny=("Write",))))
    stage.world = asking.world
    _, body = await stage.run(
        use("Write", file_path="f", content="x"), mode=Mode.DEFAULT, approval=asked, answer=yes(asked)
    )
    assert (body.status, body.verdict.by) == (CallStatus.DENIED, "rule")


async def test_a_call_that_ended_unreported_is_found_again_and_not_repeated(stage: Stage) -> None:
    first, _ = await stage.run(use("Bash", command="echo once | tee -a effects"))
    second = stage.after_a_crash()
    done, body = await second.again()
    assert (stage.workspace / "effects").read_text() == "once\n"
    assert (body.crash, body.attempt, body.worker) == ("found", 2, "test-worker")
    assert text(body) == text(await stage.outcome(first))
    assert done.status == CallStatus.OK


@pytest.mark.journey
async def test_two_attempts_at_once_have_one_effect(stage: Stage) -> None:
    await stage.reply(use("Bash", command="sleep 0.3; echo once >> effects"))
    other = stage.after_a_crash()
    both = await asyncio.gather(stage.again(), other.again())
    assert (stage.workspace / "effects").read_text() == "once\n"
    assert sorted(body.crash for _, body in both) == ["", "found"]


async def test_a_second_attempt_attaches_to_the_command_that_still_runs(stage: Stage) -> None:
    await stage.reply(use("Bash", command="echo begun >> effects; while [ ! -e go ]; do sleep 0.05; done; echo done"))
    attempt = asyncio.ensure_future(run_tool(stage.world, stage.request()))
    await eventually_async((stage.workspace / "effects").exists)
    attempt.cancel()
    with pytest.raises(asyncio.CancelledError):
        await attempt
    second = asyncio.ensure_future(stage.after_a_crash().again())
    (stage.workspace / "go").touch()
    done, body = await second
    assert (done.status, body.crash, text(body)) == (CallStatus.OK, "attached", "done")
    assert (stage.workspace / "effects").read_text() == "begun\n"


async def test_what_begun_under_a_rule_is_told_although_a_new_rule_forbids_it(stage: Stage) -> None:
    await stage.reply(use("Bash", command="echo begun >> effects; while [ ! -e go ]; do sleep 0.05; done; echo done"))
    attempt = asyncio.ensure_future(run_tool(stage.world, stage.request()))
    await eventually_async((stage.workspace / "effects").exists)
    attempt.cancel()
    (stage.workspace / "go").touch()
    stricter = Stage(stage.folder, SessionSettings(rules=Rules(deny=("Bash",))))
    stricter.world = stage.world
    await stricter.reply(
        use("Bash", command="echo begun >> effects; while [ ! -e go ]; do sleep 0.05; done; echo done")
    )
    done, body = await stricter.again()
    assert (done.status, body.verdict.by, text(body)) == (CallStatus.OK, "mode", "done")


async def test_a_file_change_that_was_interrupted_by_a_crash_is_finished_once(stage: Stage) -> None:
    await stage.reply(use("Write", file_path="f", content="x"))
    await stage.again()
    key = next(iter(stage.world.journal.calls("s1"))).key
    (stage.world.home.journal / "s1" / key / "outcome").unlink()
    done, body = await stage.after_a_crash().again()
    assert (done.status, body.crash) == (CallStatus.OK, "repeated")
    assert (stage.workspace / "f").read_text() == "x"


async def test_the_output_of_a_finished_command_is_kept_once(stage: Stage) -> None:
    _, body = await stage.run(use("Bash", command="seq 20000"))
    record = stage.world.journal.calls("s1")[0]
    assert not (record.folder / "output").exists()
    assert (await stage.world.store.get(body.full)).endswith(b"19999\n20000\n")
    _, again = await stage.after_a_crash().again()
    assert (again.crash, text(again)) == ("found", text(body))


async def test_an_intent_says_which_call_of_which_server_was_begun(stage: Stage) -> None:
    stage.world = replace(stage.world, engine="here")
    await stage.run(use("Bash", command="true"))
    intent = stage.world.journal.calls("s1")[0].read_intent() or {}
    assert (intent["exchange"], intent["place"], intent["engine"]) == (1, 0, "here")


@pytest.mark.journey
async def test_a_superseded_attempt_keeps_the_call_until_nothing_of_it_goes_on(stage: Stage) -> None:
    await stage.reply(use("Write", file_path="f", content="many words " * 3_000_000))
    attempt = asyncio.ensure_future(run_tool(stage.world, stage.request()))
    await eventually_async(lambda: any(stage.workspace.iterdir()))
    for _ in range(3):
        attempt.cancel()
        await asyncio.sleep(0)
    with pytest.raises(asyncio.CancelledError):
        await asyncio.wait_for(attempt, 30)
    assert [path.name for path in stage.workspace.iterdir()] == ["f"]
    done, body = await stage.after_a_crash().again()
    assert (done.status, len(body.effects)) == (CallStatus.OK, 1)


async def test_a_safe_call_is_repeated_freely_and_leaves_no_journal(stage: Stage) -> None:
    (stage.workspace / "f").write_text("a")
    await stage.run(use("Read", file_path="f"))
    (stage.workspace / "f").write_text("b")
    _, body = await stage.after_a_crash().again()
    assert "b" in text(body)
    assert not any(stage.world.journal.calls("s1"))


async def test_calls_of_one_id_have_each_their_own_outcome(stage: Stage) -> None:
    await stage.reply(use("Bash", command="echo a"), use("Bash", command="echo b"), use("Bash", command="echo a"))
    texts = [text((await stage.again(place=place))[1]) for place in range(3)]
    assert texts == ["a", "b", "a"]
    assert len(stage.world.journal.calls("s1")) == 3


async def test_an_interrupt_ends_the_command_and_keeps_what_it_printed(stage: Stage) -> None:
    await stage.reply(use("Bash", command="echo so far; touch begun; sleep 60"))
    running = asyncio.ensure_future(stage.again())
    await eventually_async((stage.workspace / "begun").exists)
    stage.beat.cancelled.set()
    done, body = await asyncio.wait_for(running, 20)
    assert (done.status, body.is_error) == (CallStatus.CANCELLED, True)
    assert text(body).startswith("so far\n[interrupted by the person")


@pytest.mark.journey
async def test_an_interrupt_before_the_command_began_keeps_it_from_beginning(stage: Stage) -> None:
    stage.beat.cancelled.set()
    done, body = await asyncio.wait_for(stage.run(use("Bash", command="touch f")), 20)
    assert done.status == CallStatus.CANCELLED
    assert body.verdict.decision == Decision.ALLOW
    await asyncio.sleep(0.2)
    if "did not run" in text(body):
        assert not (stage.workspace / "f").exists()


async def test_a_name_that_is_no_utf8_reaches_no_store_as_it_is(stage: Stage) -> None:
    done, body = await stage.run(use("Bash", command="printf 'a\\303\\n'; printf '\\360\\237'; touch $'\\377'; ls"))
    assert done.status == CallStatus.OK
    assert "\ufffd" in text(body)
    _, found = await stage.run(use("Glob", pattern="*"))
    assert not found.is_error


async def test_a_result_over_its_limit_is_shown_in_part_and_kept_whole(stage: Stage) -> None:
    (stage.workspace / "f").write_text("".join(f"line {number}\n" for number in range(60_000)))
    _, body = await stage.run(use("Bash", command="cat f"))
    assert len(text(body)) < 32_000
    assert f"Read result:{body.full}" in text(body)
    assert await stage.world.store.get(body.full) == (stage.workspace / "f").read_bytes()
    assert body.size == (stage.workspace / "f").stat().st_size


async def test_a_call_that_the_chain_does_not_hold_is_an_error_of_the_chain(stage: Stage) -> None:
    await stage.reply(use("Glob", pattern="*"))
    with pytest.raises(ChainError):
        await stage.again(place=1)
    with pytest.raises(MissingObject):
        await stage.again(entry="e" * 64)
    with pytest.raises(ChainError):
        await stage.again(context=await stage.world.store.put(b"{}"))


async def test_git_that_only_reads_runs_without_the_programs_of_a_repository(stage: Stage) -> None:
    subprocess.run(["git", "init", "-q", str(stage.workspace)], check=True, timeout=20, capture_output=True)
    _, body = await stage.run(use("Bash", command="git status --short"), mode=Mode.DEFAULT)
    assert (body.verdict.by, body.status) == ("proof", CallStatus.OK)
    _, body = await stage.run(use("Bash", command="git config --get core.hooksPath"), mode=Mode.DEFAULT, exchange=2)
    assert "/dev/null" in text(body)
    config = stage.workspace / ".git/config"
    config.write_text(f"{config.read_text()}[core]\n\tfsmonitor = ./x\n")
    done = await run_tool(stage.world, stage.request(mode=Mode.DEFAULT, exchange=3))
    assert done.status == CallStatus.NEEDS_APPROVAL


LONG = "echo " + "word " * 60 + "; ./last"


@pytest.mark.parametrize(
    ("command", "whole"),
    [
        ("make all", ""),
        ("echo hi # all is well\n./last", "echo hi # all is well\n./last"),
        ("echo  'two  blanks'; make", "echo  'two  blanks'; make"),
        (LONG, LONG),
    ],
    ids=["short", "comment", "blanks", "long"],
)
@pytest.mark.parametrize("tool", ["Bash", "Monitor"])
async def test_a_question_shows_a_command_whole_where_one_line_does_not(
    stage: Stage, tool: str, command: str, whole: str
) -> None:
    more = {"description": "a look"} if tool == "Monitor" else {}
    await stage.reply(use(tool, command=command, **more))
    asked = (await run_tool(stage.world, stage.request(mode=Mode.DEFAULT))).approval
    assert asked is not None
    shown = (await stage.world.store.get(asked.content)).decode() if asked.content else ""
    assert shown == whole
    (event,) = [one for one in stage.told() if one["kind"] == "approval_asked"]
    assert event.get("content", "") == whole
    assert asked.summary.endswith("…") == (len(command) > 160)


async def test_a_command_that_is_shown_whole_shows_no_secret(stage: Stage) -> None:
    key = "AKIA" + "Q3EGRIT5TZ2K7XYZ"
    await stage.reply(use("Bash", command=f"echo one\nAWS_ACCESS_KEY_ID={key} make"))
    asked = (await run_tool(stage.world, stage.request(mode=Mode.DEFAULT))).approval
    assert asked is not None
    shown = (await stage.world.store.get(asked.content)).decode()
    assert (key in shown, shown.startswith("echo one\nAWS_ACCESS_KEY_ID=["), shown.endswith("] make")) == (
        False,
        True,
        True,
    )


@pytest.mark.parametrize(
    ("call", "shown"),
    [
        (use("Write", file_path="new", content="one\ntwo\n"), ["@@ -0,0 +1,2 @@", "+one", "+two"]),
        (use("Edit", file_path="old", old_string="b", new_string="B"), ["@@ -1,3 +1,3 @@", " a", "-b", "+B", " c"]),
        (use("Write", file_path="old", content="a\nc\n"), ["@@ -1,3 +1,2 @@", " a", "-b", " c"]),
        (
            use("Write", file_path="old", content="a\nb\nc"),
            ["@@ -1,3 +1,3 @@", " a", " b", "-c", "+c", "\\ No newline at end of file"],
        ),
    ],
    ids=["new file", "edit", "whole file", "end of the last line"],
)
async def test_a_question_about_a_file_shows_the_change_and_the_change_is_what_is_made(
    stage: Stage, call: ToolUse, shown: list[str]
) -> None:
    (stage.workspace / "old").write_text("a\nb\nc\n")
    await stage.run(use("Read", file_path="old"))
    await stage.reply(call)
    asked = (await run_tool(stage.world, stage.request(mode=Mode.DEFAULT, exchange=2))).approval
    assert asked is not None
    content = (await stage.world.store.get(asked.content)).decode().splitlines()
    assert content[1:] == shown
    given: dict[str, Any] = {"mode": Mode.DEFAULT, "exchange": 2, "approval": asked}
    unseen = await run_tool(stage.world, stage.request(**given, answer=yes(asked, content="")))
    assert unseen.status == CallStatus.NEEDS_APPROVAL
    _, body = await stage.again(**given, answer=yes(asked))
    assert (body.status, body.verdict.by) == (CallStatus.OK, "person")


async def test_a_change_that_is_shown_shows_no_secret_of_the_file(stage: Stage) -> None:
    key = "AKIA" + "Q3EGRIT5TZ2K7XYZ"
    (stage.workspace / "keys").write_text(f"name = a\nAWS_ACCESS_KEY_ID={key}\n")
    await stage.run(use("Read", file_path="keys"))
    await stage.reply(use("Edit", file_path="keys", old_string="name = a", new_string="name = b"))
    asked = (await run_tool(stage.world, stage.request(mode=Mode.DEFAULT, exchange=2))).approval
    assert asked is not None
    content = (await stage.world.store.get(asked.content)).decode()
    assert (key in content, "+name = b" in content, "AWS_ACCESS_KEY_ID=[" in content) == (False, True, True)
