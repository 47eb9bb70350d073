"""What to answer, read from a scenario file."""

from pathlib import Path
from typing import Annotated, Any, Literal, Self

from pydantic import BeforeValidator, Discriminator, Field, JsonValue, Tag, ValidationError, model_validator

from worker.rehearsal.conditions import Part, Pattern, When
from worker.rehearsal.faults import Fault
from worker.rehearsal.places import line_of, load, place_of
from workflows.contracts.errors import UsageError

StopReason = Literal[
    "end_turn", "max_tokens", "stop_sequence", "tool_use", "pause_turn", "refusal", "model_context_window_exceeded"
]


class TextBlock(Part):
    """Text."""

    text: str
    cites: tuple[str, ...] = ()
    """Addresses of search results that it is taken from."""


class ThinkingBlock(Part):
    """Thinking; signed by the server unless a signature is given."""

    thinking: str
    signature: str | None = None


class CallBlock(Part):
    """A tool use."""

    tool: str
    input: dict[str, JsonValue] = Field(default_factory=dict)
    input_json: str | None = None
    """The input as it is sent, instead of `input`: need not be whole, nor JSON."""

    cut_at: int | None = Field(default=None, ge=0)
    """How many characters of the input's JSON are sent; the reply then ends by max_tokens unless it says otherwise."""

    id: str | None = None
    """By default one made of the reply's place and the exchange: another in each exchange, the same when repeated."""


class PageFound(Part):
    """A page that a search found."""

    url: str
    title: str = "a page"


class SearchBlock(Part):
    """A search of the web that the provider makes itself, and its result."""

    search: str
    found: tuple[PageFound, ...] = ()
    error: str = ""
    """The provider's word for why it failed: max_uses_exceeded, too_many_requests."""

    open: bool = False
    """Without a result yet: the reply pauses behind it, and the next one brings it."""


class FoundBlock(Part):
    """The result of the search that the reply before left open."""

    found: tuple[PageFound, ...]


def _block_kind(value: object) -> str | None:
    for key in ("text", "thinking", "tool", "search", "found"):
        if key in value if isinstance(value, dict) else hasattr(value, key):
            return f"<{key}>"
    return None


def _blocks(value: object) -> object:
    """A text or a single block may stand for a list of blocks."""
    if isinstance(value, str):
        return [{"text": value}]
    return [value] if isinstance(value, dict) else value


Block = Annotated[
    Annotated[TextBlock, Tag("<text>")]
    | Annotated[ThinkingBlock, Tag("<thinking>")]
    | Annotated[CallBlock, Tag("<tool>")]
    | Annotated[SearchBlock, Tag("<search>")]
    | Annotated[FoundBlock, Tag("<found>")],
    Discriminator(
        _block_kind,
        custom_error_type="block_kind",
        custom_error_message="a block has one of the keys text, thinking, tool, search, found",
    ),
]


class CacheCreation(Part):
    """Tokens written to the cache, by time to live."""

    ephemeral_5m_input_tokens: int = 0
    ephemeral_1h_input_tokens: int = 0


class UsageGiven(Part):
    """Numbers that replace the computed ones; what is not given stays computed."""

    input_tokens: int | None = None
    output_tokens: int | None = None
    cache_creation_input_tokens: int | None = None
    cache_read_input_tokens: int | None = None
    cache_creation: CacheCreation | None = None


class Pacing(Part):
    """How fast a reply comes. Without delays it is sent as fast as it is read."""

    first_byte_ms: float = Field(default=0, ge=0)
    token_ms: float = Field(default=0, ge=0)
    """Pause before each piece."""

    chunk: int = Field(default=40, ge=1)
    """Characters in a piece; tool input is ASCII JSON, so a small piece ends inside an escape."""

    ping_every: int = Field(default=0, ge=0)
    """A ping after every so many pieces; 0: only the first one."""

    wire_bytes: int = Field(default=0, ge=0)
    """Bytes in one write, so that a character's UTF-8 can be cut in two; 0: whole events."""


class Reply(Part):
    """One reply of the model, and the faults that come before it."""

    when: When | None = None
    content: Annotated[tuple[Block, ...], BeforeValidator(_blocks)] = ()
    stop_reason: StopReason | None = None
    """By default tool_use if a tool is called, max_tokens if a call is cut, pause_turn if a search is open, else
    end_turn."""

    usage: UsageGiven | None = None
    pacing: Pacing | None = None
    faults: tuple[Fault, ...] = ()
    """Played one after the other, each as often as it says, before the reply itself is given."""

    times: int | None = Field(default=None, ge=1)
    """How often this reply is given before the next alternative's turn: in `replies` counted for each exchange, in
    `rules` over all requests."""

    repeat: int | Literal["always"] = 1
    """In `replies`: for how many exchanges in a row it stands."""

    obey_max_tokens: bool | None = None
    """Cut what is longer than the request's max_tokens."""

    @model_validator(mode="before")
    @classmethod
    def _from_text(cls, value: object) -> object:
        return {"content": value} if isinstance(value, str) else value


def _alternatives(value: object) -> object:
    return value if isinstance(value, list | tuple) else [value]


Alternatives = Annotated[tuple[Reply, ...], BeforeValidator(_alternatives), Field(min_length=1)]


class Limits(Part):
    """What the server takes. Sizes in bytes, sides in pixels, the window in tokens."""

    window: int = Field(default=200_000, ge=1)
    body: int = 32 * 1024 * 1024
    image_base64: int = 5 * 1024 * 1024
    image_side: int = 8_000
    pdf_pages: int = 100


class Scenario(Part):
    """All a rehearsal model knows: what to answer to which request, how, and what to refuse."""

    name: str = "rehearsal"
    strict: bool = True
    """Refuse what the provider refuses (the table in rules.py)."""

    key: str | None = None
    """The only key that is accepted; by default any."""

    models: tuple[str, ...] = ()
    """The models that exist; by default every one asked for."""

    limits: Limits = Limits()
    pacing: Pacing = Pacing()
    obey_max_tokens: bool = False
    order: Literal["exchange", "arrival"] = "exchange"
    """exchange: a request with n assistant messages gets reply n, each time it comes; arrival: the replies are given
    one after the other, whatever the request."""

    ids: Literal["by_place", "random"] = "by_place"
    """Ids of messages and calls: by_place makes the same ones in every run of the scenario."""

    vars: dict[str, str] = Field(default_factory=dict)
    """Words replaced in replies: `{name}` becomes the value."""

    capture: dict[str, Pattern] = Field(default_factory=dict)
    """Words replaced in replies by what a regular expression's first group finds: in the last message, the system
    prompt, or the first message."""

    rules: tuple[Reply, ...] = ()
    """Looked at before the replies; the first whose conditions hold is given."""

    replies: tuple[Alternatives, ...] = ()
    """One an exchange; where a list stands, its first reply whose conditions hold is given."""

    fallback: Reply | None = None
    """Given when nothing else fits; without one such a request is answered by 400."""

    @model_validator(mode="after")
    def _says_something(self) -> Self:
        if not self.rules and not self.replies and self.fallback is None:
            raise ValueError("nothing to answer: give replies, rules or a fallback")
        return self

    def with_vars(self, given: dict[str, str]) -> "Scenario":
        """The same scenario with more words to replace."""
        return self.model_copy(update={"vars": {**self.vars, **given}})


def load_scenario(path: Path) -> Scenario:
    """Read a scenario file, YAML or JSON; UsageError names file, line and field of the first mistake."""
    tree, data = load(path)
    try:
        return Scenario.model_validate(data)
    except ValidationError as error:
        first: Any = error.errors()[0]  # Any: pydantic's details are a loose dict
        where = place_of(tree, first["loc"])
        reason = "no such field" if first["type"] == "extra_forbidden" else str(first["msg"])
        reason = reason.removeprefix("Value error, ").replace("valid tuple", "valid list")
        raise UsageError(f"{path}, line {line_of(tree, first['loc'])}: {where or 'scenario'}: {reason}") from error
