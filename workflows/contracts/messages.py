"""Message and its blocks: text, thinking, tool use, tool result."""

import json
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
    citations: str = ""
    """What the provider says it is taken from, as its JSON; sent back byte for byte. Empty for nothing."""


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


class Document(Contract):
    """A PDF; its bytes are an object of the store."""

    kind: Literal["document"] = "document"
    media_type: str = "application/pdf"
    digest: str
    size: int
    """Bytes of the document."""
    pages: int = 0


class ServerBlock(Contract):
    """What the provider did itself inside a reply, such as a search and its results; sent back byte for byte."""

    kind: Literal["server"] = "server"
    raw: str
    """The block, as the provider's JSON."""

    @property
    def data(self) -> dict[str, JsonValue]:
        """The block as JSON; empty when it is none."""
        try:
            value = json.loads(self.raw)
        except ValueError:
            return {}
        return value if isinstance(value, dict) else {}

    @property
    def asks(self) -> str:
        """Id of the use that it is; empty for a result."""
        return str(self.data.get("id") or "")

    @property
    def answers(self) -> str:
        """Id of the use whose result it is; empty for a use."""
        return str(self.data.get("tool_use_id") or "")


class ToolUse(Contract):
    """The model's request to run a tool."""

    kind: Literal["tool_use"] = "tool_use"
    id: str
    """The model's own id; it may repeat, so only carried."""
    name: str
    input: dict[str, JsonValue] = Field(default_factory=dict)
    cut_off: bool = False
    """The reply ended inside this call: it is answered with an error and never run."""


Shown = Annotated[Text | Image | Document, Field(discriminator="kind")]


class ToolResult(Contract):
    """What the model is shown of a tool call's outcome."""

    kind: Literal["tool_result"] = "tool_result"
    id: str
    """The `id` of the tool use that it answers."""
    content: tuple[Shown, ...] = ()
    is_error: bool = False


Block = Annotated[
    Text | Thinking | RedactedThinking | Image | Document | ServerBlock | ToolUse | ToolResult,
    Field(discriminator="kind"),
]


class Message(Contract):
    """One message of the view."""

    role: Role
    blocks: tuple[Block, ...]
