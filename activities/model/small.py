"""One question to a small model beside the conversation: no tools, no history, its tokens counted."""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from activities.model.live import LiveFeed
from activities.model.prices import cost_of
from activities.model.stream import Reply, receive
from activities.world import ModelEndpoint
from workflows.contracts.messages import Text
from workflows.contracts.model import ModelRequest, Usage

IDLE_SECONDS = 60.0

SMALL_MODEL = "claude-haiku-4-5"
_NAMED = ("PERDURE_SMALL_MODEL", "ANTHROPIC_SMALL_FAST_MODEL")
"""Variables that name another one, the first of more weight."""


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


def small_model(environment: Mapping[str, str], model: str, base_url: str) -> str:
    """The one to ask: at an endpoint of the session's own its `model`, else one that variables name, or the usual."""
    if base_url:
        return model
    return next((name for name in map(environment.get, _NAMED) if name), SMALL_MODEL)


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
