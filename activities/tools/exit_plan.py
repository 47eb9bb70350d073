"""ExitPlanMode: submit the plan."""

import asyncio

from activities.safety.paths import real
from activities.stores.regular_files import read_version, shown
from activities.tool import Call, Tool, ToolInput
from workflows.contracts.directives import ChangeMode
from workflows.contracts.errors import ToolError
from workflows.contracts.messages import Text
from workflows.contracts.permissions import Decision, Finding, Mode
from workflows.contracts.tools import Repeat, ToolOutcome

_LONGEST = 256 * 1024
"""Bytes of a plan that a person is asked to read."""


class Input(ToolInput):
    pass


class ExitPlanMode(Tool[Input]):
    """Submit the plan in the plan file: the person reads it and approves it, or says what is wrong with it.

    - Call it when the plan is complete and written into the plan file; it takes no text of its own.
    - Approved, plan mode ends and you do what the plan says. Refused, plan mode stays on: mend the plan and submit it
      again.
    - Only for plans of work that changes something. When you were asked to look into something, just answer.
    """

    name = "ExitPlanMode"
    input = Input
    needs_person = True
    repeat = Repeat.SAFE
    timeout = 60

    def summary(self, given: Input) -> str:
        return "carry out this plan"

    def findings(self, call: Call, given: Input) -> tuple[Finding, ...]:
        if call.mode == Mode.PLAN:
            return ()
        return (Finding(check="plan-mode", action=Decision.DENY, text="the session is not in plan mode"),)

    async def content(self, call: Call, given: Input) -> str:
        path = call.world.home.plan(call.session)
        version = await asyncio.to_thread(read_version, real(path))
        text = version.data.decode("utf-8", "replace") if version else ""
        if not text.strip():
            raise ToolError(f"There is no plan yet. Write it into {shown(path)}, then call ExitPlanMode again.")
        if len(text.encode()) > _LONGEST:
            raise ToolError(f"The plan is over {_LONGEST // 1024} KB: nobody reads that. Make it shorter.")
        return text

    async def run(self, call: Call, given: Input) -> ToolOutcome:
        answer, asked = call.answer, call.approval
        if answer is None or asked is None or not asked.content:
            raise ToolError("No person has approved the plan. Call ExitPlanMode again.")
        # The very text that the person saw, whatever the file holds by now.
        plan = (await call.world.store.get(asked.content)).decode("utf-8", "replace")
        said = f" They said: {answer.text}" if answer.text.strip() else ""
        text = f"The person ({answer.by or 'unnamed'}) approved the plan; plan mode is off.{said}\n\n{plan}"
        change = ChangeMode(mode=answer.mode, approval=answer.approval, by=answer.by)
        return ToolOutcome(content=(Text(text=text),), directives=(change,), data={"plan": asked.content})
