"""contracts -> API request, cache breakpoints: bytes that are written once and joined."""

import base64
import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import assert_never

from pydantic import JsonValue

from activities.stores.objects import ObjectStore, get_many
from workflows.contracts.messages import (
    Block,
    Document,
    Image,
    Message,
    RedactedThinking,
    Role,
    ServerBlock,
    Text,
    Thinking,
    ToolResult,
    ToolUse,
    clean_json,
)
from workflows.contracts.model import ModelRequest
from workflows.contracts.settings import SessionContext
from workflows.contracts.tools import ToolSpec
from workflows.core.media import Media, media_in, shown_content

MARKER = b',"cache_control":{"type":"ephemeral"}'
"""Spliced in before the closing brace of a block."""

LEAST_THINKING = 1_024
"""The provider's smallest thinking budget."""

Json = dict[str, JsonValue]

_ODD = re.compile(r"[^a-zA-Z0-9_-]")


@dataclass(frozen=True)
class Asking:
    """With what one request is made: the session's settings, or what replaces them."""

    model: str
    max_tokens: int
    """Output cap that is sent; thinking counts into it."""
    thinking: int
    """Thinking budget; 0 for none."""

    @classmethod
    def of(cls, request: ModelRequest, context: SessionContext) -> "Asking":
        """The session's own figures, where the request names no others."""
        settings = context.settings
        # A session may ask for more from the start than a reply that was cut off is given.
        cap = max(request.max_tokens, settings.max_tokens)
        thinking = settings.thinking_tokens if settings.thinking_tokens >= LEAST_THINKING else 0
        return cls(request.model or settings.model, cap + thinking, thinking)


def head_bytes(context: SessionContext, asking: Asking, *, may_think: bool = True) -> bytes:
    """The request up to its messages: model, caps, system prompt and tools, a cache breakpoint behind each."""
    fields: Json = {"model": asking.model, "max_tokens": asking.max_tokens, "stream": True}
    if asking.thinking and may_think:
        fields["thinking"] = {"type": "enabled", "budget_tokens": asking.thinking}
    if system := [text for text in context.system if text.strip()]:
        fields["system"] = _marked_last([{"type": "text", "text": text} for text in system])
    if context.tools:
        fields["tools"] = _marked_last([_tool(spec) for spec in context.tools])
    return _dumped(fields)


def body_bytes(head: bytes, messages: Sequence[bytes]) -> bytes:
    """The whole request; breakpoints at the ends of the last two user messages move with the conversation.

    Else it is byte for byte the one before and what came since: the provider's prefix cache depends on it.
    """
    shown = list(messages)
    users = [place for place, message in enumerate(shown) if message.startswith(_USER)]
    for place in users[-2:]:
        shown[place] = _with_marker(shown[place])
    if not shown:
        return head[:-1] + b',"messages":[]}'
    shown[0] = head[:-1] + b',"messages":[' + shown[0]
    shown[-1] += b"]}"
    return b",".join(shown)


async def as_api(messages: Sequence[Message], store: ObjectStore) -> list[bytes]:
    """Each message as the API's JSON, pictures and documents read from the store."""
    digests = sorted({media.digest for message in messages for media in media_in(message.blocks)})
    pictures = dict(zip(digests, await get_many(store, digests), strict=True)) if digests else {}
    return [message_bytes(message, pictures) for message in messages]


def message_bytes(message: Message, pictures: dict[str, bytes]) -> bytes:
    """One message as the API's JSON; content comes last, so that a marker can be spliced into its last block."""
    blocks = [_block(block, pictures) for block in message.blocks]
    return _dumped({"role": message.role.value, "content": list[JsonValue](blocks)})


_USER = b'{"role":"user"'


def _with_marker(message: bytes) -> bytes:
    # A message ends with the brace of its last block, the bracket of the list and its own brace.
    return message[:-3] + MARKER + message[-3:] if message.endswith(b"}]}") else message


def _block(block: Block, pictures: dict[str, bytes]) -> Json:
    match block:
        case Text():
            return _text(block)
        case Thinking(text=text, signature=signature):
            return {"type": "thinking", "thinking": text, "signature": signature}
        case RedactedThinking(data=data):
            return {"type": "redacted_thinking", "data": data}
        case ToolUse():
            return {"type": "tool_use", "id": _id(block.id), "name": _id(block.name)[:128], "input": dict(block.input)}
        case ToolResult():
            return _result(block, pictures)
        case ServerBlock():
            return {**block.data}
        case Image() | Document():
            return _media(block, pictures)
        case _:
            assert_never(block)


def _result(result: ToolResult, pictures: dict[str, bytes]) -> Json:
    shown: Json = {"type": "tool_result", "tool_use_id": _id(result.id)}
    if content := shown_content(result):
        shown["content"] = [_block(block, pictures) for block in content]
    if result.is_error:
        shown["is_error"] = True
    return shown


def _id(text: str) -> str:
    """An id or name as the provider takes it, whatever another server made up."""
    return _ODD.sub("_", text) or "_"


def _text(text: Text) -> Json:
    shown: Json = {"type": "text", "text": text.text}
    if text.citations:
        shown["citations"] = json.loads(text.citations)
    return shown


def _media(media: Media, pictures: dict[str, bytes]) -> Json:
    data = base64.b64encode(pictures[media.digest]).decode("ascii")
    return {"type": media.kind, "source": {"type": "base64", "media_type": media.media_type, "data": data}}


def _tool(spec: ToolSpec) -> Json:
    if spec.server:
        return {**spec.server}
    return {"name": spec.name, "description": spec.description, "input_schema": dict(spec.input_schema)}


def _marked_last(items: list[Json]) -> list[JsonValue]:
    return [*items[:-1], {**items[-1], "cache_control": {"type": "ephemeral"}}]


def _dumped(value: Json) -> bytes:
    try:
        return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode("utf-8")
    except UnicodeEncodeError:
        return json.dumps(clean_json(value), ensure_ascii=False, separators=(",", ":")).encode("utf-8")


def is_thoughtless(messages: Sequence[Message]) -> bool:
    """Whether the reply whose calls are answered now shows no thought: the provider then takes no thinking."""
    replies = (message for message in reversed(messages) if message.role == Role.ASSISTANT)
    last = next(replies, None)
    if last is None or not any(isinstance(block, ToolUse) for block in last.blocks):
        return False
    return not isinstance(last.blocks[0], Thinking | RedactedThinking)
