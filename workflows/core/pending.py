"""What waits to be written -> entries: outcomes, their results in call order, prompts, hidden words."""

from collections.abc import Sequence

from workflows.contracts.messages import Block, Role, Text, ToolResult, clean
from workflows.contracts.transcript import Body, MessageBody, NoticeBody, OutcomeBody

_PLANNING = (
    "[Plan mode is on. Look and think; change nothing but the plan file {plan}, which Write and Edit may write. "
    "When the plan is complete, call ExitPlanMode: the person reads it and decides.]"
)
_LEFT_PLAN = "[Plan mode is off: the person ended it. You may work again as the session's mode allows.]"

NOTHING = "(an empty prompt)"
"""What stands for a prompt without a word: the provider takes no empty text."""


def bodies(
    outcomes: Sequence[OutcomeBody],
    prompts: Sequence[str] = (),
    hidden: str = "",
    notices: Sequence[NoticeBody] = (),
    *,
    turn: int = 0,
    exchange: int = 0,
) -> tuple[Body, ...]:
    """An entry for each outcome, then one user message: results in call order, then the prompts' texts.

    A hidden text is a message of its own; notices come last. The same values give the same entries.
    """
    results: tuple[Block, ...] = tuple(shown(outcome) for outcome in outcomes)
    said: tuple[Block, ...] = tuple(Text(text=clean(prompt) if prompt.strip() else NOTHING) for prompt in prompts)
    entries: list[Body] = list(outcomes)
    if results or said:
        entries.append(MessageBody(role=Role.USER, blocks=(*results, *said), turn=turn, exchange=exchange))
    if hidden:
        words = (Text(text=clean(hidden)),)
        entries.append(MessageBody(role=Role.USER, blocks=words, turn=turn, exchange=exchange, hidden=True))
    return (*entries, *notices)


def reminded(reminder: str, plan: str = "") -> tuple[NoticeBody, ...]:
    """What the model hears of its mode, if anything; `plan` is the file that it may write in plan mode."""
    text = {"plan": _PLANNING.format(plan=plan), "left_plan": _LEFT_PLAN}.get(reminder, "")
    return (NoticeBody(what="mode_reminder", text=text, shown=True),) if text else ()


def uncounted(unkept: int) -> tuple[NoticeBody, ...]:
    """What the model hears of words of tasks that were not kept for it, if there were any."""
    text = f"[{unkept} more messages of background tasks came meanwhile and are not shown; TaskOutput shows the output]"
    return (NoticeBody(what="task_lines", text=text, shown=True, data={"unkept": unkept}),) if unkept else ()


def shown(outcome: OutcomeBody) -> ToolResult:
    """What the model is shown of an outcome; the provider takes neither an empty error nor an empty text."""
    content = tuple(block for block in outcome.content if not isinstance(block, Text) or block.text.strip())
    content = content or (Text(text="(no output)"),)
    return ToolResult(id=outcome.call, content=content, is_error=outcome.is_error)
