"""What became of a call that was ended from outside."""

import asyncio
from pathlib import Path

import pytest

from activities.processes.attach import ended
from activities.stores.journal import CallRecord
from activities.tool_calls.end import end_call
from activities.tool_calls.run import run_tool
from tests.activities.tool_calls.stage import Stage, text, use
from tests.fakes.waiting import eventually_async
from workflows.contracts.permissions import Decision
from workflows.contracts.tools import CallStatus


@pytest.fixture
def stage(tmp_path: Path) -> Stage:
    return Stage(tmp_path)


async def begun(stage: Stage, command: str) -> None:
    """A command runs, and the worker that began it is gone."""
    await stage.reply(use("Bash", command=f"touch begun; {command}"))
    attempt = asyncio.ensure_future(run_tool(stage.world, stage.request()))
    await eventually_async((stage.workspace / "begun").exists)
    attempt.cancel()
    with pytest.raises(asyncio.CancelledError):
        await attempt


async def test_a_running_command_is_ended_and_its_output_kept(stage: Stage) -> None:
    await begun(stage, "echo so far; sleep 60")
    other = stage.after_a_crash(attempt=1)
    body = await other.outcome(await asyncio.wait_for(end_call(other.world, other.end()), 30))
    assert body.status == CallStatus.CANCELLED
    assert text(body).startswith("so far")
    assert (body.verdict.decision, body.verdict.by) == (Decision.ALLOW, "mode")


async def test_a_command_that_had_ended_by_itself_tells_its_true_result_and_folder(stage: Stage) -> None:
    (stage.workspace / "sub").mkdir()
    await begun(stage, "while [ ! -e go ]; do sleep 0.05; done; cd sub; echo all")
    (stage.workspace / "go").touch()
    await eventually_async(lambda: ended(stage.world.journal.calls("s1")[0].folder))
    done = await end_call(stage.world, stage.end())
    assert (done.status, done.cwd) == (CallStatus.OK, str(stage.workspace / "sub"))
    assert text(await stage.outcome(done)).startswith("all")


@pytest.mark.journey
async def test_a_deadline_is_told_as_it_was(stage: Stage) -> None:
    await stage.reply(use("Bash", command="sleep 0; touch begun; sleep 60", timeout=700))
    attempt = asyncio.ensure_future(run_tool(stage.world, stage.request()))
    await eventually_async((stage.workspace / "begun").exists)
    attempt.cancel()
    await eventually_async(lambda: ended(stage.world.journal.calls("s1")[0].folder))
    body = await stage.outcome(await asyncio.wait_for(end_call(stage.world, stage.end()), 30))
    assert "ended after 0.7 s, its time limit" in text(body)


async def test_a_command_that_never_began_never_will(stage: Stage) -> None:
    await stage.reply(use("Bash", command="touch f"))
    done = await end_call(stage.world, stage.end())
    assert done.status == CallStatus.CANCELLED
    _, body = await stage.again()
    assert body.crash == "ended"
    assert not (stage.workspace / "f").exists()


async def test_an_outcome_that_was_never_reported_is_found(stage: Stage) -> None:
    first, _ = await stage.run(use("Bash", command="echo done"))
    body = await stage.outcome(await end_call(stage.world, stage.end()))
    assert (body.status, body.crash) == (CallStatus.OK, "found")
    assert text(body) == text(await stage.outcome(first))


async def written(stage: Stage) -> CallRecord:
    """A file was written, and the worker died before it could say so."""
    await stage.run(use("Write", file_path="f", content="x"))
    record = stage.world.journal.calls("s1")[0]
    (record.path / "outcome").unlink()
    return record


async def test_a_file_change_that_was_done_is_told_as_done(stage: Stage) -> None:
    await written(stage)
    body = await stage.outcome(await end_call(stage.world, stage.end()))
    assert (body.status, body.crash) == (CallStatus.OK, "ended")
    assert [effect.kind for effect in body.effects] == ["create"]


@pytest.mark.parametrize("has_plan", [True, False])
async def test_a_file_change_that_had_only_begun_did_not_happen(stage: Stage, has_plan: bool) -> None:
    record = await written(stage)
    (stage.workspace / "f").unlink()
    (stage.workspace / f".f.{record.key[:16]}.tmp").write_text("hal")
    if not has_plan:
        (record.path / "plan").unlink()
        (stage.workspace / f".f.{record.key[:16]}.tmp").unlink()
    body = await stage.outcome(await end_call(stage.world, stage.end()))
    assert (body.status, body.effects) == (CallStatus.CANCELLED, ())
    assert list(stage.workspace.iterdir()) == []


@pytest.mark.parametrize(("why", "word"), [("", "interrupted"), ("no heartbeat", "no heartbeat")])
async def test_a_file_that_somebody_else_changed_since_is_told_as_unknown(stage: Stage, why: str, word: str) -> None:
    await written(stage)
    (stage.workspace / "f").write_text("theirs")
    body = await stage.outcome(await end_call(stage.world, stage.end(why=why)))
    assert body.status == CallStatus.UNKNOWN
    assert word in text(body)


async def test_a_file_change_whose_plan_is_damaged_is_told_as_unknown(stage: Stage) -> None:
    record = await written(stage)
    (record.path / "plan").write_bytes(b"torn")
    assert (await end_call(stage.world, stage.end())).status == CallStatus.UNKNOWN


async def test_a_call_is_not_ended_while_another_attempt_has_it(stage: Stage) -> None:
    record = await written(stage)
    with record.try_lock() as is_ours:
        assert is_ours
        ending = asyncio.ensure_future(end_call(stage.world, stage.end()))
        await asyncio.sleep(0.2)
        assert not ending.done()
    assert (await asyncio.wait_for(ending, 30)).status == CallStatus.OK


async def test_a_call_whose_activity_failed_says_why(stage: Stage) -> None:
    await stage.reply(use("Glob", pattern="*"))
    body = await stage.outcome(await end_call(stage.world, stage.end(why="the disk is full")))
    assert (body.status, text(body)) == (CallStatus.ERROR, "The call failed: the disk is full")


async def test_an_unknown_tool_is_ended_too(stage: Stage) -> None:
    await stage.reply(use("Nothing"))
    assert (await end_call(stage.world, stage.end())).status == CallStatus.CANCELLED
