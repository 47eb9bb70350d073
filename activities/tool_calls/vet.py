"""An input that fits its tool, the rules as they are now, safety findings -> verdict, and the words of a refusal."""

from pydantic import ValidationError

from activities.safety.paths import edit_findings
from activities.tool import AnyTool, Call, ToolInput
from activities.tool_calls.asked import asked_of, policy_of
from workflows.contracts.errors import ToolError
from workflows.contracts.messages import ToolUse
from workflows.contracts.permissions import Answer, Decision, Mode, Policy, Verdict
from workflows.core.permissions import Heard, Opinion, decide, may_still
from workflows.core.suggestions import suggested_rules


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


def vet(  # noqa: PLR0913, PLR0917 - what a call is, who was asked, and what they said
    call: Call,
    tool: AnyTool,
    given: ToolInput,
    mode: Mode,
    answer: Answer | None,
    hook: Verdict | None = None,
    opinion: Opinion | None = None,
) -> Verdict:
    """What is decided about a call; a person's answer counts unless something denies it now.

    The rules are read afresh, so that one that is written at night acts on the next call; the verdict names them.
    """
    policy = policy_of(call)
    asked = asked_of(call, tool, given, policy)
    findings = (*tool.findings(call, given), *edit_findings(asked))
    if answer is not None:
        return may_still(asked, policy, findings) or _persons(answer, policy)
    return decide(asked, mode, policy, findings, call.settings.unattended, Heard(hook, opinion))


def suggestions(call: Call, tool: AnyTool, given: ToolInput, mode: Mode, verdict: Verdict) -> tuple[str, ...]:
    """The rules that *always allow* saves for this question."""
    policy = policy_of(call)
    asked = asked_of(call, tool, given, policy)
    return suggested_rules(asked, mode, policy, verdict, (*tool.findings(call, given), *edit_findings(asked)))


def _persons(answer: Answer, policy: Policy) -> Verdict:
    decision = Decision.ALLOW if answer.allow else Decision.DENY
    return Verdict(decision=decision, by="person", rule=answer.by, text=answer.text, policy=policy.digest)


def refusal(verdict: Verdict) -> str:
    """What the model is told of a denied call."""
    who = {
        "person": "The person said no",
        "unattended": "Nobody attends this session, so a call that needs a person's approval is denied "
        f"(rule {verdict.rule!r})",
        "rule": f"Denied by {verdict.text}" + (f" of {verdict.file}" if verdict.file else ""),
        "mode": f"Denied in mode {verdict.rule}",
        "finding": f"Denied by the check {verdict.rule!r}",
        "hook": "Denied by a hook",
        "classifier": "Denied by the classifier of auto mode",
        "policy": "Nothing may run while the rules cannot be read",
    }
    said = who.get(verdict.by, "Denied")
    why = f": {verdict.text}" if verdict.text and verdict.by != "rule" else ""
    return f"{said}{why}. The call did not run. Do not try the same again; go on another way, or say what you need."
