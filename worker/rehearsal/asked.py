"""What was asked: one request as it came, and what rules and conditions want to know about it."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NoReturn

from worker.rehearsal.usage import Measured, measure

Json = dict[str, Any]  # Any: the provider's JSON, before anybody has checked it


@dataclass
class Asked:
    """One request to the Messages API; everything below its raw bytes is worked out once, when first wanted."""

    raw: bytes
    """The body, byte for byte."""

    headers: Mapping[str, str] = field(default_factory=dict)
    """Names in lower case."""

    counting: bool = False
    """Whether it came to count_tokens, which needs no max_tokens and is never too long."""

    @cached_property
    def body(self) -> Json | None:
        """The JSON object of the body; None if it is not one."""
        try:
            body = json.loads(self.raw.decode("utf-8"), parse_constant=_refuse_constant)
        except (ValueError, RecursionError):
            return None
        return body if isinstance(body, dict) else None

    @property
    def fields(self) -> Json:
        """The body, or an empty one."""
        return self.body or {}

    @property
    def messages(self) -> list[Json]:
        """The messages as they came."""
        found = self.fields.get("messages")
        return found if isinstance(found, list) else []

    @property
    def model(self) -> str:
        """The model asked for."""
        return str(self.fields.get("model", ""))

    @property
    def max_tokens(self) -> int:
        """The output limit asked for, 0 if none."""
        asked = self.fields.get("max_tokens")
        return asked if isinstance(asked, int) else 0

    @property
    def streamed(self) -> bool:
        """Whether the reply shall be a stream."""
        return self.fields.get("stream") is True

    @cached_property
    def turns(self) -> list[list[Json]]:
        """The blocks of each message."""
        return [blocks_of(message) for message in self.messages]

    @cached_property
    def calls(self) -> list[list[str]]:
        """The ids of each message's tool uses."""
        return [[block["id"] for block in blocks if block["type"] == "tool_use"] for blocks in self.turns]

    @cached_property
    def answers(self) -> list[list[str]]:
        """The ids that each message's tool results answer."""
        return [[block["tool_use_id"] for block in blocks if block["type"] == "tool_result"] for blocks in self.turns]

    @cached_property
    def media(self) -> list[tuple[str, Json]]:
        """Pictures and documents, those inside tool results too, each with its place."""
        return [
            found
            for number, blocks in enumerate(self.turns)
            for place, block in enumerate(blocks)
            for found in _media(f"messages.{number}.content.{place}", block)
        ]

    @cached_property
    def exchange(self) -> int:
        """How many replies the conversation holds already: the number of this exchange, from 0."""
        return sum(1 for message in self.messages if message.get("role") == "assistant")

    @cached_property
    def last_text(self) -> str:
        """The text of the last message, its tool results included, a line between two blocks."""
        return text_of(self.messages[-1]) if self.messages else ""

    @cached_property
    def system_text(self) -> str:
        """The system prompt as one text."""
        return text_of({"content": self.fields.get("system", "")})

    @cached_property
    def results(self) -> list[tuple[str, Json]]:
        """The tool results of the last message, each with the name of the tool that was called."""
        if not self.messages:
            return []
        before = self.messages[-2] if len(self.messages) > 1 else {}
        names = {block.get("id"): str(block.get("name", "")) for block in blocks_of(before, "tool_use")}
        last = blocks_of(self.messages[-1], "tool_result")
        return [(names.get(block.get("tool_use_id"), ""), block) for block in last]

    @cached_property
    def measured(self) -> Measured:
        """Size and cacheable prefixes."""
        return measure(self.fields)


def blocks_of(message: Json, kind: str | None = None) -> list[Json]:
    """The blocks of a message, of one kind if asked; content that is a string is one text block."""
    content = message.get("content")
    if isinstance(content, str):
        content = [{"type": "text", "text": content}]
    found = [block for block in content or () if isinstance(block, dict)]
    return found if kind is None else [block for block in found if block.get("type") == kind]


def text_of(message: Json) -> str:
    """All text of a message, that inside its tool results included."""
    return "\n".join(_texts(message))


def _media(place: str, block: Json) -> Iterator[tuple[str, Json]]:
    kind, content = block["type"], block.get("content")
    if kind in {"image", "document"}:
        yield place, block
    elif kind == "tool_result" and isinstance(content, list):
        for number, inner in enumerate(content):
            yield from _media(f"{place}.tool_result.content.{number}", inner)


def _texts(message: Json) -> Iterator[str]:
    for block in blocks_of(message):
        if block.get("type") == "text":
            yield str(block.get("text", ""))
        elif block.get("type") == "tool_result":
            yield from _texts(block)


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not JSON")
