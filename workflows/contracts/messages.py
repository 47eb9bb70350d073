"""Message and its blocks: text, thinking, tool use, tool result."""

from enum import StrEnum
from typing import Annotated, Literal

from pydantic import Field, JsonValue

from workflows.contracts.contract import Contract

_REPLACEMENTS = {0: "\u2400", **dict.fromkeys(range(0xD800, 0xE000), "\ufffd")}


def clean(text: str) -> str:
    """The same text without what no provider takes: lone surrogates become U+FFFD, NUL becomes a picture of it."""
    return text.translate(_REPLACEMENTS) if not text.isascii() or "\0" in text else text


def clean_json(value: JsonValue) -> JsonValue:
    """The same JSON value with every text in it cleaned."""
    if isinstance(value, str):
        return clean(value)
    if isinstance(value, list):
        return [clean_json(item) for item in value]
    if isinstance(value, dict):
        return {clean(key): clean_json(item) for key, item in value.items()}
    return value


class Role(StrEnum):
    """Who speaks."""

    USER = "user"
    ASSISTANT = "assistant"


class Text(Contract):
    """Plain text."""

    kind: Literal["text"] = "text"
    text: str


class Thinking(Contract):
    """Signed reasoning of the model; sent back byte for byte."""

    kind: Literal["thinking"] = "thinking"
    text: str
    signature: str


class RedactedThinking(Contract):
    """Reasoning that only the provider can read; sent back byte for byte."""

    kind: Literal["redacted_thinking"] = "redacted_thinking"
    data: str


class Image(Contract):
    """A picture; its bytes are an object of the store."""

    kind: Literal["image"] = "image"
    media_type: str
    digest: str
    size: int
    """Bytes of the picture."""


class ToolUse(Contract):
    """The model's request to run a tool."""

    kind: Literal["tool_use"] = "tool_use"
    id: str
    """The model's own id; it may repeat, so only carried."""
    name: str
    input: dict[str, JsonValue] = Field(default_factory=dict)
    cut_off: bool = False
    """The reply ended inside this call: it is answered with an error and never run."""


Shown = Annotated[Text | Image, Field(discriminator="kind")]


class ToolResult(Contract):
    """What the model is shown of a tool call's outcome."""

    kind: Literal["tool_result"] = "tool_result"
    id: str
    """The `id` of the tool use that it answers."""
    content: tuple[Shown, ...] = ()
    is_error: bool = False


Block = Annotated[
    Text | Thinking | RedactedThinking | Image | ToolUse | ToolResult,
    Field(discriminator="kind"),
]


class Message(Contract):
    """One message of the view."""

    role: Role
    blocks: tuple[Block, ...]
