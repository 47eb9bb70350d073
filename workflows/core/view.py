"""entries -> messages; keeps every call paired with its result."""

from collections.abc import Iterable, Sequence

from workflows.contracts.messages import (
    Block,
    Message,
    RedactedThinking,
    Role,
    ServerBlock,
    Text,
    Thinking,
    ToolResult,
    ToolUse,
)
from workflows.contracts.transcript import Entry, MessageBody, NoticeBody
from workflows.core.media import edited

UNANSWERED = "No result is known: the call was ended before it gave one. Look before you repeat it."
"""What stands for a result that the chain does not hold."""


def messages_of(entries: Iterable[Entry]) -> tuple[Message, ...]:
    """What the model is shown: each entry as a message, each call answered in the very next message."""
    return fold((), edited([*entries]))


def fold(before: Sequence[Message], entries: Iterable[Entry]) -> tuple[Message, ...]:
    """The view `before`, continued by further entries, edited already; messages of one speaker in a row become one.

    `before` ends with what a user said and the entries begin with a reply; else what was repaired in it stays so.
    """
    messages = list(before)
    for entry in entries:
        said = _said(entry)
        if said is None or not said.blocks:
            continue
        if messages and messages[-1].role == said.role:
            messages[-1] = Message(role=said.role, blocks=_ordered((*messages[-1].blocks, *said.blocks)))
        else:
            messages.append(said)
    return _paired(messages, len(before))


def _said(entry: Entry) -> Message | None:
    match entry.body:
        case MessageBody(role=role, blocks=blocks):
            return Message(role=role, blocks=tuple(block for block in blocks if not _is_blank(block)))
        case NoticeBody(shown=True, text=text) if text.strip():
            return Message(role=Role.USER, blocks=(Text(text=text),))
        case _:
            return None


def _is_blank(block: Block) -> bool:
    return isinstance(block, Text) and not block.text.strip()


def _ordered(blocks: tuple[Block, ...]) -> tuple[Block, ...]:
    """Results first: the provider refuses a user message in which they stand behind text."""
    results = tuple(block for block in blocks if isinstance(block, ToolResult))
    return (*results, *(block for block in blocks if not isinstance(block, ToolResult))) if results else blocks


def _paired(messages: list[Message], known: int) -> tuple[Message, ...]:
    """Each tool use answered once, in order, right after it; results without a use become text."""
    paired: list[Message] = list(messages[: max(0, known - 1)])
    for place, message in enumerate(messages[len(paired) :], len(paired)):
        uses = _uses(paired[-1]) if paired else ()
        if message.role == Role.USER:
            paired.append(Message(role=Role.USER, blocks=_answered(uses, message.blocks)))
            continue
        if uses:
            paired.append(Message(role=Role.USER, blocks=_answered(uses, ())))
        is_newest = place == len(messages) - 1
        paired.append(_without_trailing_thought(message if is_newest else _without_open_searches(message)))
    if not paired or paired[0].role == Role.USER:
        return tuple(paired)
    return (Message(role=Role.USER, blocks=(Text(text="(the conversation starts here)"),)), *paired)


def _uses(message: Message) -> tuple[ToolUse, ...]:
    if message.role != Role.ASSISTANT:
        return ()
    return tuple(block for block in message.blocks if isinstance(block, ToolUse))


def _answered(uses: Sequence[ToolUse], blocks: Sequence[Block]) -> tuple[Block, ...]:
    results = [block for block in blocks if isinstance(block, ToolResult)]
    if not uses and not results:
        return tuple(blocks)
    answers: list[Block] = []
    for use in uses:
        found = next((result for result in results if result.id == use.id), None)
        if found is not None:
            results.remove(found)
        answers.append(found or ToolResult(id=use.id, content=(Text(text=UNANSWERED),), is_error=True))
    stray = [Text(text=f"[a result without its call] {_text(result)}") for result in results]
    return (*answers, *stray, *(block for block in blocks if not isinstance(block, ToolResult)))


def _text(result: ToolResult) -> str:
    return "\n".join(block.text for block in result.content if isinstance(block, Text)) or "(no text)"


def _without_open_searches(message: Message) -> Message:
    """What the provider began itself and did not end, or the other way round, is no part of a reply that is over.

    The newest reply keeps it: a turn that the provider paused goes on there.
    """
    server = [block for block in message.blocks if isinstance(block, ServerBlock)]
    open_ = {block.asks or block.answers for block in server}
    open_ -= {block.asks for block in server if block.asks} & {block.answers for block in server if block.answers}
    if not open_:
        return message
    blocks = tuple(
        block
        for block in message.blocks
        if not isinstance(block, ServerBlock) or (block.asks or block.answers) not in open_
    )
    return Message(role=message.role, blocks=blocks or (Text(text="(a search was broken off here)"),))


def _without_trailing_thought(message: Message) -> Message:
    """A reply that broke right after a thought: the provider takes no message that ends with one."""
    blocks = message.blocks
    if blocks and isinstance(blocks[-1], Thinking | RedactedThinking):
        return Message(role=message.role, blocks=(*blocks, Text(text="(the reply ended here)")))
    return message
