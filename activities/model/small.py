"""One question to a small model beside the conversation: no tools, no history, its tokens counted."""

import json
from collections.abc import Callable
from dataclasses import dataclass

from activities.model.live import LiveFeed
from activities.model.prices import cost_of
from activities.model.stream import Reply, receive
from activities.world import ModelEndpoint
from workflows.contracts.messages import Text
from workflows.contracts.model import ModelRequest, Usage

IDLE_SECONDS = 60.0


@dataclass(frozen=True)
class SmallQuestion:
    """What is asked."""

    model: str
    base_url: str
    """The session's endpoint; empty for the worker's own."""
    system: str
    text: str
    max_tokens: int = 2_000
    idle_seconds: float = IDLE_SECONDS
    """Longest silence of the reply."""


@dataclass(frozen=True)
class SmallAnswer:
    """What was said, and what it took."""

    text: str
    usage: Usage
    cost: int | None
    """Micro-dollars; None when no price is known."""


async def ask_small(
    endpoint: ModelEndpoint, question: SmallQuestion, spent: Callable[[Usage], None] = lambda _usage: None
) -> SmallAnswer:
    """Ask once; `spent` is told what it took, also where it fails. Raises ModelFailure."""
    body = {
        "model": question.model,
        "max_tokens": question.max_tokens,
        "system": [{"type": "text", "text": question.system}],
        "messages": [{"role": "user", "content": [{"type": "text", "text": question.text}]}],
        "stream": True,
    }
    nobody = ModelRequest(session="", exchange=0, head="", context="", at="")
    reply = Reply(LiveFeed(lambda _event: None, nobody, 1), lambda _usage: None, lambda _block: None)
    data = json.dumps(body, ensure_ascii=False).encode("utf-8", "replace")
    try:
        await receive(endpoint, data, question.base_url, question.idle_seconds, reply)
    finally:
        spent(reply.usage)
    text = "".join(ended.block.text for ended in reply.ended if isinstance(ended.block, Text))
    return SmallAnswer(text, reply.usage, cost_of(question.model, reply.usage))
