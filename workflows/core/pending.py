"""What waits to be written -> entries: outcomes, their results in call order, prompts, hidden words."""

from collections.abc import Sequence

from workflows.contracts.messages import Block, Role, Text, ToolResult, clean
from workflows.contracts.transcript import Body, MessageBody, OutcomeBody

NOTHING = "(an empty prompt)"
"""What stands for a prompt without a word: the provider takes no empty text."""


def bodies(
    outcomes: Sequence[OutcomeBody],
    prompts: Sequence[str] = (),
    hidden: str = "",
    *,
    turn: int = 0,
    exchange: int = 0,
) -> tuple[Body, ...]:
    """An entry for each outcome, then one user message: results in call order, then the prompts' texts.

    A hidden text is a message of its own. The same values give the same entries.
    """
    results: tuple[Block, ...] = tuple(shown(outcome) for outcome in outcomes)
    said: tuple[Block, ...] = tuple(Text(text=clean(prompt) if prompt.strip() else NOTHING) for prompt in prompts)
    entries: list[Body] = list(outcomes)
    if results or said:
        entries.append(MessageBody(role=Role.USER, blocks=(*results, *said), turn=turn, exchange=exchange))
    if hidden:
        words = (Text(text=clean(hidden)),)
        entries.append(MessageBody(role=Role.USER, blocks=words, turn=turn, exchange=exchange, hidden=True))
    return tuple(entries)


def shown(outcome: OutcomeBody) -> ToolResult:
    """What the model is shown of an outcome; the provider takes neither an empty error nor an empty text."""
    content = tuple(block for block in outcome.content if not isinstance(block, Text) or block.text.strip())
    content = content or (Text(text="(no output)"),)
    return ToolResult(id=outcome.call, content=content, is_error=outcome.is_error)
