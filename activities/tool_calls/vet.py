"""schema, own check, pre-hooks, safety findings -> verdict."""

from pydantic import ValidationError

from activities.safety.paths import is_inside, is_plan
from activities.tool import AnyTool, Call, ToolInput
from workflows.contracts.errors import ToolError
from workflows.contracts.messages import ToolUse
from workflows.contracts.permissions import Answer, Decision, Mode, Verdict
from workflows.core.permissions import Asked, decide, may_still


def parse_input(tool: AnyTool, use: ToolUse) -> ToolInput:
    """The call's input as the tool takes it. Raises ToolError with a readable list of what is wrong."""
    takes: type[ToolInput] = tool.input
    try:
        return takes.model_validate(use.input)
    except ValidationError as error:
        wrong = "; ".join(
            f"{'.'.join(map(str, problem['loc'])) or 'input'}: {problem['msg']}" for problem in error.errors()[:8]
        )
        why = f"{use.name} was called with an input that does not fit: {wrong[:2_000]}. Nothing was done."
        raise ToolError(why) from error


def vet(
    call: Call, tool: AnyTool, given: ToolInput, mode: Mode, answer: Answer | None, hook: Verdict | None = None
) -> Verdict:
    """What is decided about a call; a person's answer counts unless a deny rule speaks now."""
    settings, paths = call.settings, tool.paths(call, given)
    asked = Asked(
        tool=tool.name,
        content=tool.subject(call, given),
        is_read_only=tool.is_read_only,
        edits_files=tool.edits_files,
        is_inside=all(is_inside(path, call.workspace) for path in paths),
        needs_person=tool.needs_person,
        is_plan_file=bool(paths) and all(is_plan(call, path) for path in paths),
    )
    if answer is not None:
        return may_still(asked, settings.rules) or _persons(answer)
    return decide(asked, mode, settings.rules, tool.findings(call, given), settings.unattended, hook)


def _persons(answer: Answer) -> Verdict:
    decision = Decision.ALLOW if answer.allow else Decision.DENY
    return Verdict(decision=decision, by="person", rule=answer.by, text=answer.text)


def refusal(verdict: Verdict) -> str:
    """What the model is told of a denied call."""
    who = {
        "person": "The person said no",
        "unattended": "Nobody attends this session, so a call that needs a person's approval is denied "
        f"(rule {verdict.rule!r})",
        "rule": f"Denied by {verdict.text}",
        "mode": f"Denied in mode {verdict.rule}",
        "finding": f"Denied by the check {verdict.rule!r}",
    }
    said = who.get(verdict.by, "Denied")
    why = f": {verdict.text}" if verdict.text and verdict.by != "rule" else ""
    return f"{said}{why}. The call did not run. Do not try the same again; go on another way, or say what you need."
