"""EnterPlanMode: go into plan mode."""

from activities.stores.regular_files import shown
from activities.tool import Call, Tool, ToolInput
from workflows.contracts.directives import ChangeMode
from workflows.contracts.messages import Text
from workflows.contracts.permissions import Decision, Finding, Mode
from workflows.contracts.tools import Repeat, ToolOutcome


class Input(ToolInput):
    pass


class EnterPlanMode(Tool[Input]):
    """Ask the person to go into plan mode, where you look and think and change nothing until they approve a plan.

    - Use it before work that is large, that can be done in several ways, or that is hard to take back. For a small,
      clear task just do it.
    - In plan mode you read, search and ask, and write the plan into the plan file, the only file you may write there.
    """

    name = "EnterPlanMode"
    input = Input
    needs_person = True
    is_read_only = True
    repeat = Repeat.SAFE
    timeout = 60

    def summary(self, given: Input) -> str:
        return "plan first, and change nothing until you approve the plan"

    def findings(self, call: Call, given: Input) -> tuple[Finding, ...]:
        if call.mode != Mode.PLAN:
            return ()
        return (Finding(check="plan-mode", action=Decision.DENY, text="the session is in plan mode already"),)

    async def run(self, call: Call, given: Input) -> ToolOutcome:
        plan = call.world.home.plan(call.session)
        answer = call.answer
        text = (
            "Plan mode is on: look, ask and think; change nothing. Write the plan with Write into "
            f"{shown(plan)}, the only file that you may write now: what is to be done and why, which files change, how "
            "it is checked. When it is complete, call ExitPlanMode: the person reads it and decides."
        )
        change = ChangeMode(mode=Mode.PLAN, approval=answer.approval if answer else "", by=answer.by if answer else "")
        return ToolOutcome(content=(Text(text=text),), directives=(change,), data={"plan": str(plan)})
