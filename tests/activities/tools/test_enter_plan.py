"""Plan mode is entered with the person's word, and tells the model what it may do there."""

from pathlib import Path

from activities.tool_calls.run import run_tool
from tests.activities.tool_calls.stage import Stage, text, use, yes
from tests.fakes.world import SESSION
from workflows.contracts.directives import ChangeMode
from workflows.contracts.permissions import Mode
from workflows.contracts.tools import CallStatus


async def test_with_the_persons_word_the_session_goes_into_plan_mode(tmp_path: Path) -> None:
    stage = Stage(tmp_path)
    await stage.reply(use("EnterPlanMode"))
    asked = (await run_tool(stage.world, stage.request(mode=Mode.BYPASS))).approval
    assert asked is not None
    done, body = await stage.again(approval=asked, answer=yes(asked))
    assert done.directives == (ChangeMode(mode=Mode.PLAN, approval="1.0", by="me"),)
    assert str(stage.world.home.plan(SESSION)) in text(body)


async def test_a_session_in_plan_mode_does_not_enter_it_again(tmp_path: Path) -> None:
    done, body = await Stage(tmp_path).run(use("EnterPlanMode"), mode=Mode.PLAN)
    assert done.status == CallStatus.DENIED
    assert "in plan mode already" in text(body)
