"""A plan is written into one file, shown whole, and approved as it was shown."""

from pathlib import Path

from activities.tool_calls.run import run_tool
from tests.activities.tool_calls.stage import Stage, text, use, yes
from tests.fakes.world import SESSION
from workflows.contracts.directives import ChangeMode
from workflows.contracts.permissions import Approval, Mode
from workflows.contracts.tools import CallStatus


async def submitted(stage: Stage, plan: str) -> Approval:
    stage.world.home.plan(SESSION).write_text(plan)
    await stage.reply(use("ExitPlanMode"))
    done = await run_tool(stage.world, stage.request(mode=Mode.PLAN))
    assert done.approval is not None, done
    return done.approval


async def test_the_plan_is_shown_whole_and_carried_out_as_it_was_shown(tmp_path: Path) -> None:
    stage = Stage(tmp_path)
    asked = await submitted(stage, "# Plan\n1. do it\n")
    assert await stage.world.store.get(asked.content) == b"# Plan\n1. do it\n"
    stage.world.home.plan(SESSION).write_text("# Another\n")
    answer = yes(asked, content=asked.content, text="go", mode=Mode.ACCEPT_EDITS)
    done, body = await stage.again(mode=Mode.PLAN, approval=asked, answer=answer)
    assert "They said: go" in text(body)
    assert "1. do it" in text(body)
    assert "Another" not in text(body)
    assert done.directives == (ChangeMode(mode=Mode.ACCEPT_EDITS, approval="1.0", by="me"),)
    assert body.directives == done.directives


async def test_a_refused_plan_changes_no_mode(tmp_path: Path) -> None:
    stage = Stage(tmp_path)
    asked = await submitted(stage, "# Plan\n")
    answer = yes(asked, content=asked.content, allow=False, text="too large")
    done, body = await stage.again(mode=Mode.PLAN, approval=asked, answer=answer)
    assert (done.status, done.directives) == (CallStatus.DENIED, ())
    assert "too large" in text(body)


async def test_an_answer_to_another_plan_is_no_answer(tmp_path: Path) -> None:
    stage = Stage(tmp_path)
    asked = await submitted(stage, "# Plan\n")
    answer = yes(asked, content="e" * 64)
    again = await run_tool(stage.world, stage.request(mode=Mode.PLAN, approval=asked, answer=answer))
    assert again.status == CallStatus.NEEDS_APPROVAL


async def test_without_a_plan_or_plan_mode_nobody_is_asked(tmp_path: Path) -> None:
    stage = Stage(tmp_path)
    done, body = await stage.run(use("ExitPlanMode"), mode=Mode.PLAN)
    assert done.status == CallStatus.ERROR
    assert "There is no plan yet. Write it into" in text(body)
    done, body = await stage.run(use("ExitPlanMode"), mode=Mode.BYPASS)
    assert (done.status, body.verdict.text) == (CallStatus.DENIED, "the session is not in plan mode")


async def test_in_plan_mode_the_plan_is_the_only_file_that_may_be_written(tmp_path: Path) -> None:
    stage = Stage(tmp_path)
    plan = stage.world.home.plan(SESSION)
    done, _body = await stage.run(use("Write", file_path=str(plan), content="# Plan\n"), mode=Mode.PLAN)
    assert done.status == CallStatus.OK
    assert plan.read_text() == "# Plan\n"
    for other in (stage.workspace / "code.py", plan.with_name("other.md"), stage.world.home.keys / "person.key"):
        done, _body = await stage.run(use("Write", file_path=str(other), content="x"), mode=Mode.PLAN)
        assert (done.status, other.exists()) == (CallStatus.DENIED, False)
    done, _body = await stage.run(use("Read", file_path=str(plan)), mode=Mode.DEFAULT)
    assert done.status == CallStatus.OK


async def test_a_link_in_place_of_the_plan_leads_nowhere_else(tmp_path: Path) -> None:
    stage = Stage(tmp_path)
    target = stage.workspace / "code.py"
    (stage.workspace / "plan.md").symlink_to(stage.world.home.plan(SESSION))
    done, _body = await stage.run(use("Write", file_path="plan.md", content="# Plan\n"), mode=Mode.PLAN)
    assert done.status == CallStatus.OK
    assert not target.exists()
