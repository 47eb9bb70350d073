"""API stream -> blocks and events, watched for silence."""

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field, replace
from typing import NoReturn

from pydantic import JsonValue

from activities.model.events import Json
from activities.model.failures import ModelFailure, event_failure, failure_of
from activities.model.live import LiveFeed, whole_text
from activities.world import ModelEndpoint
from workflows.contracts.errors import FailureKind
from workflows.contracts.messages import (
    Block,
    RedactedThinking,
    ServerBlock,
    Text,
    Thinking,
    ToolUse,
    clean,
    clean_json,
)
from workflows.contracts.model import StopReason, Usage

GRACE = 0.2
"""Seconds that a server has to end a stream whose last event it has sent, so that the connection can be used again."""

DEEPEST = 64
"""Levels of a tool's input that are taken."""

_TEXTS = {"text_delta": "text", "thinking_delta": "thinking", "input_json_delta": "partial_json"}


@dataclass
class Piece:
    """A block that is still coming."""

    start: Json
    texts: list[str] = field(default_factory=list)
    signature: list[str] = field(default_factory=list)
    citations: list[JsonValue] = field(default_factory=list)

    @property
    def kind(self) -> str:
        """The provider's name of the block's kind."""
        return str(self.start.get("type", ""))

    def text(self, name: str) -> str:
        """What its start and its pieces say so far."""
        return whole_text(str(self.start.get(name) or "") + "".join(self.texts))


@dataclass(frozen=True)
class Ended:
    """A block that is complete."""

    block: Block
    is_empty_call: bool = False
    """A call without input: complete, or cut off before it began; only the stop reason tells."""
    is_no_json: bool = False


class Reply:
    """One reply as it comes in."""

    def __init__(self, live: LiveFeed, on_start: Callable[[Usage], None], on_block: Callable[[Block], None]) -> None:
        self.usage = Usage()
        self.is_counted = False
        self.stop: StopReason | None = None
        self.is_stopped = False
        self.ended: list[Ended] = []
        self._live = live
        self._on_start = on_start
        self._on_block = on_block
        self._open: dict[int, Piece] = {}
        self._ids = set[str]()
        self._held: Block | None = None

    def take(self, event: Json) -> None:
        """One event of the stream. Raises ModelFailure for an error that the provider tells inside it."""
        match event.get("type"):
            case "message_start":
                self._count(_object(event.get("message")).get("usage"))
                self._on_start(self.usage)
            case "content_block_start":
                self._release()
                self._open[_index(event)] = Piece(_object(event.get("content_block")))
            case "content_block_delta":
                self._grow(_index(event), _object(event.get("delta")))
            case "content_block_stop":
                self._close(_index(event))
            case "message_delta":
                self.stop = _stop_reason(_object(event.get("delta")).get("stop_reason")) or self.stop
                self._count(event.get("usage"))
            case "message_stop":
                for index in sorted(self._open):
                    self._close(index)
                self.is_stopped = True
            case "error":
                raise event_failure(event)

    def partial_text(self) -> Text | None:
        """What of a text block has come before it was complete."""
        texts = (piece.text("text") for _, piece in sorted(self._open.items()) if piece.kind == "text")
        return next((Text(text=clean(text)) for text in texts if text.strip()), None)

    def _grow(self, index: int, delta: Json) -> None:
        piece = self._open.setdefault(index, Piece({"type": "text"}))
        kind = str(delta.get("type", ""))
        if kind == "signature_delta":
            piece.signature.append(str(delta.get("signature") or ""))
        elif kind == "citations_delta":
            piece.citations.append(clean_json(delta.get("citation")))
        elif kind in _TEXTS and (text := str(delta.get(_TEXTS[kind]) or "")):
            piece.texts.append(text)
            if kind != "input_json_delta":
                self._live.add(index, text, is_thought=kind == "thinking_delta")

    def _close(self, index: int) -> None:
        piece = self._open.pop(index, None)
        ended = _ended(piece) if piece else None
        if piece is None or ended is None:
            return
        ended = self._told_apart(ended)
        self.ended.append(ended)
        if ended.is_empty_call:
            self._held = ended.block
        elif not ended.is_no_json:
            self._on_block(ended.block)
        self._live.ended(index, piece.kind)

    def _told_apart(self, ended: Ended) -> Ended:
        """A call with the id of an earlier one of this reply gets its place behind it: the provider takes each once."""
        if not isinstance(ended.block, ToolUse):
            return ended
        block, place = ended.block, len(self._ids)
        if not block.id or block.id in self._ids:
            block = block.model_copy(update={"id": f"{block.id or 'call'}-{place}"})
        self._ids.add(block.id)
        return replace(ended, block=block)

    def _release(self) -> None:
        """A call without input is complete once another block follows it."""
        if self._held is not None:
            block, self._held = self._held, None
            self._on_block(block)

    def _count(self, usage: object) -> None:
        if isinstance(usage, dict):
            self.usage = _counted(self.usage, usage)
            self.is_counted = True


async def receive(endpoint: ModelEndpoint, body: bytes, base_url: str, idle_seconds: float, reply: Reply) -> None:
    """Send the request and take the reply to its end. Raises ModelFailure; what came before stays in `reply`."""
    try:
        # Watched only from when the request is sent: loading the SDK is no silence of the model.
        async with endpoint.stream(body, base_url) as events, watched(idle_seconds) as watch:
            async for event in events:
                watch.silent = 0.0
                reply.take(event)
                if reply.is_stopped:
                    await _drained(events)
                    break
    except Exception as error:
        failure = failure_of(error)
        if failure is None:
            raise
        # The SDK's error holds the request with its headers: it must not travel as the cause.
        raise failure from None
    if not reply.is_stopped:
        raise ModelFailure(FailureKind.TRANSPORT, "the model's stream ended without its stop event")


@dataclass
class Watch:
    """How long nothing has come."""

    silent: float = 0.0
    """Seconds."""


@asynccontextmanager
async def watched(seconds: float) -> AsyncIterator[Watch]:
    """Ends the block as a stalled model call once so many seconds passed in silence."""
    watch = Watch()
    try:
        async with asyncio.timeout(None) as limit:
            ticker = asyncio.ensure_future(_tick(watch, seconds, limit))
            try:
                yield watch
            finally:
                ticker.cancel()
    except TimeoutError:
        if not limit.expired():
            raise
        raise ModelFailure(FailureKind.STALLED, f"the model sent nothing for {seconds:g} seconds") from None


async def _tick(watch: Watch, seconds: float, limit: asyncio.Timeout) -> None:
    tick = min(1.0, seconds / 20)
    while watch.silent < seconds:
        await asyncio.sleep(tick)
        # Counted, not measured: a machine that slept, or a process that stood still, has not been listening.
        watch.silent += tick
    limit.reschedule(asyncio.get_running_loop().time())


async def _drained(events: AsyncIterator[Json]) -> None:
    with suppress(Exception):
        async with asyncio.timeout(GRACE):
            async for _ in events:
                pass


def _ended(piece: Piece) -> Ended | None:
    """The complete block; None for a kind that was never asked for."""
    match piece.kind:
        case "text":
            return Ended(Text(text=clean(piece.text("text")), citations=_citations(piece)))
        case "thinking":
            signature = "".join((str(piece.start.get("signature") or ""), *piece.signature))
            # Signed: sent back byte for byte.
            return Ended(Thinking(text=piece.text("thinking"), signature=signature))
        case "redacted_thinking":
            return Ended(RedactedThinking(data=str(piece.start.get("data") or "")))
        case "tool_use":
            return _call(piece)
        case "server_tool_use":
            return _server_use(piece)
        case "web_search_tool_result":
            return Ended(_server_block(piece.start))
        case _:
            return None


def _call(piece: Piece) -> Ended:
    name, call = clean(str(piece.start.get("name") or "")), clean(str(piece.start.get("id") or ""))
    raw = "".join(piece.texts).strip()
    # Some servers send the whole input with the block's start.
    given = _input(raw) if raw else piece.start.get("input") or {}
    if not isinstance(given, dict) or not _is_shallow(given, DEEPEST):
        return Ended(ToolUse(id=call, name=name), is_no_json=True)
    block = ToolUse.model_validate({"id": call, "name": name, "input": clean_json(given)})
    return Ended(block, is_empty_call=not given)


def _citations(piece: Piece) -> str:
    given = piece.start.get("citations")
    citations = [*(given if isinstance(given, list) else []), *piece.citations]
    return _json(clean_json(citations)) if citations else ""


def _server_use(piece: Piece) -> Ended | None:
    """What the provider did itself, with its whole input; nothing when that is broken off or no JSON."""
    raw = "".join(piece.texts).strip()
    given = _input(raw) if raw else piece.start.get("input") or {}
    return Ended(_server_block({**piece.start, "input": given})) if isinstance(given, dict) else None


def _server_block(block: Json) -> ServerBlock:
    return ServerBlock(raw=_json(clean_json(block)))


def _json(value: JsonValue) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def _input(raw: str) -> JsonValue:
    """The JSON that a call's pieces make, or None."""
    try:
        value: JsonValue = json.loads(raw, parse_constant=_refuse, parse_float=_finite)
    except (ValueError, RecursionError):
        return None
    return value


def _refuse(name: str) -> NoReturn:
    raise ValueError(f"{name} is not JSON")


def _finite(text: str) -> float:
    number = float(text)
    if number in {float("inf"), float("-inf")}:
        raise ValueError(f"{text} is too large")
    return number


def _is_shallow(value: JsonValue, levels: int) -> bool:
    if not isinstance(value, dict | list):
        return True
    items = value.values() if isinstance(value, dict) else value
    return levels > 0 and all(_is_shallow(item, levels - 1) for item in items)


def _counted(usage: Usage, told: Json) -> Usage:
    """The usage after the provider told more; each number it tells is the sum so far."""
    by_time, by_server = _object(told.get("cache_creation")), _object(told.get("server_tool_use"))
    numbers = {
        "input": told.get("input_tokens"),
        "output": told.get("output_tokens"),
        "cache_read": told.get("cache_read_input_tokens"),
        "cache_write": told.get("cache_creation_input_tokens"),
        "cache_write_1h": by_time.get("ephemeral_1h_input_tokens"),
        "searches": by_server.get("web_search_requests"),
    }
    return usage.model_copy(update={name: number for name, number in numbers.items() if isinstance(number, int)})


def _stop_reason(told: object) -> StopReason | None:
    if not isinstance(told, str):
        return None
    # A reason that is newer than this program ends the reply as well.
    return StopReason(told) if told in set(StopReason) else StopReason.END_TURN


def _object(value: object) -> Json:
    return value if isinstance(value, dict) else {}


def _index(event: Json) -> int:
    index = event.get("index")
    return index if isinstance(index, int) else 0
