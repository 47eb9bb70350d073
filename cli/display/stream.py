"""`--output-format stream-json`: one event a line, the messages of each exchange as the chain holds them."""

from collections.abc import AsyncIterator, Awaitable, Callable, Iterator

from pydantic import JsonValue

from cli.display.results import Json, json_line
from workflows.contracts.events import (
    Damaged,
    Event,
    ExchangeEnded,
    ModelRetry,
    Notice,
    SessionOpened,
    Superseded,
    TextDelta,
    ThinkingDelta,
    ToolEnded,
    ToolProgress,
    TurnEnded,
)
from workflows.contracts.messages import (
    Block,
    Document,
    Image,
    RedactedThinking,
    ServerBlock,
    Shown,
    Text,
    Thinking,
    ToolResult,
    ToolUse,
)
from workflows.contracts.transcript import Entry, MessageBody

EntriesUpTo = Callable[[str, int], Awaitable[list[Entry]]]
"""The entries up to a head, oldest first, without the first so many."""


class StreamJson:
    """Turns events of the feed into lines; messages are read from the chain, so that they are whole and final."""

    def __init__(self, session: str, entries: EntriesUpTo, *, partial: bool = False, known: int = 0) -> None:
        """`known` entries of the chain were there before and are not told again."""
        self._session = session
        self._entries = entries
        self._partial = partial
        self._known = known
        self._opened = False

    async def lines(self, events: AsyncIterator[Event], until: Callable[[Event], bool]) -> AsyncIterator[str]:
        """A line for each event that has one, up to the one for which `until` is true; the result is not among them."""
        async for event in events:
            async for value in self._of(event):
                yield json_line(value)
            if until(event):
                return

    def init(self, opened: SessionOpened) -> Json:
        """The first line: what the session was started with."""
        self._opened = True
        return self._system(
            "init", cwd=opened.cwd, model=opened.model, tools=list(opened.tools), permissionMode=opened.mode,
            mcp_servers=[], slash_commands=[], agents=[], skills=[],
        )  # fmt: skip

    async def _of(self, event: Event) -> AsyncIterator[Json]:
        match event:
            case SessionOpened():
                if not self._opened:
                    yield self.init(event)
            case ExchangeEnded(head=head) | TurnEnded(head=head):
                for entry in await self._entries(head, self._known) if head else []:
                    self._known = entry.n + 1
                    for value in message_objects(entry):
                        yield {**value, "session_id": self._session}
            case _:
                for value in self._small(event):
                    yield value

    def _small(self, event: Event) -> Iterator[Json]:
        match event:
            case TextDelta() | ThinkingDelta() if self._partial:
                yield {"type": "stream_event", "event": _delta(event), "parent_tool_use_id": None, **self._here(event)}
            case ModelRetry():
                yield self._system(
                    "api_retry", attempt=event.attempt, retry_delay_ms=round(event.seconds * 1000),
                    error=event.failure, text=event.text, final=event.final,
                )  # fmt: skip
            case ToolEnded(status="denied"):
                yield self._system(
                    "permission_denied", tool_name=event.tool, exchange=event.exchange, place=event.place,
                    message=event.preview,
                )  # fmt: skip
            case ToolProgress() if self._partial:
                yield self._system(
                    "tool_progress", exchange=event.exchange, place=event.place, elapsed_time_seconds=event.seconds,
                )  # fmt: skip
            case Superseded() if self._partial:
                yield self._system("informational", what="superseded", text=event.reason, exchange=event.exchange)
            case Notice():
                yield self._system("informational", what=event.what, text=event.text)
            case Damaged():
                yield self._system("informational", what="damaged", text=event.text)
            case _:
                return

    def _here(self, event: Event) -> Json:
        return {"session_id": self._session, "exchange": event.exchange, "attempt": event.attempt}

    def _system(self, subtype: str, **fields: JsonValue) -> Json:
        return {"type": "system", "subtype": subtype, "session_id": self._session, **fields}


def _delta(event: TextDelta | ThinkingDelta) -> Json:
    delta: Json = {"type": "text_delta", "text": event.text}
    if isinstance(event, ThinkingDelta):
        delta = {"type": "thinking_delta", "thinking": event.text}
    return {"type": "content_block_delta", "index": event.block, "delta": delta}


def message_objects(entry: Entry) -> Iterator[Json]:
    """The assistant or user message that an entry holds, in the provider's form."""
    body = entry.body
    if not isinstance(body, MessageBody):
        return
    message: Json = {"role": body.role.value, "content": [_block(block) for block in body.blocks]}
    if body.usage is not None:
        usage: Json = {
            "input_tokens": body.usage.input,
            "output_tokens": body.usage.output,
            "cache_read_input_tokens": body.usage.cache_read,
            "cache_creation_input_tokens": body.usage.cache_write,
            **({"server_tool_use": {"web_search_requests": body.usage.searches}} if body.usage.searches else {}),
        }
        message |= {"model": body.model, "stop_reason": body.stop.value if body.stop else None, "usage": usage}
    yield {
        "type": body.role.value,
        "message": message,
        "parent_tool_use_id": None,
        "exchange": body.exchange,
        **({"hidden": True} if body.hidden else {}),
    }


def _block(block: Block) -> Json:
    match block:
        case Text() | Image() | Document():
            return _shown(block)
        case ServerBlock():
            return block.data
        case Thinking():
            return {"type": "thinking", "thinking": block.text, "signature": block.signature}
        case RedactedThinking():
            return {"type": "redacted_thinking", "data": block.data}
        case ToolUse():
            return {"type": "tool_use", "id": block.id, "name": block.name, "input": dict(block.input)}
        case ToolResult():
            content: list[JsonValue] = [_shown(part) for part in block.content]
            return {"type": "tool_result", "tool_use_id": block.id, "content": content, "is_error": block.is_error}


def _shown(block: Shown) -> Json:
    if isinstance(block, Text):
        return {"type": "text", "text": block.text}
    source: Json = {"type": "digest", "media_type": block.media_type, "digest": block.digest, "size": block.size}
    return {"type": block.kind, "source": source}
