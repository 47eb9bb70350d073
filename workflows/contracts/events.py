"""What a watcher sees, as the lines of the event feed: one model a kind."""

from typing import Annotated, Literal

from pydantic import Field, TypeAdapter

from workflows.contracts.contract import Contract
from workflows.contracts.model import Usage
from workflows.contracts.permissions import Choice
from workflows.contracts.session import Totals


class Happened(Contract):
    """What every event carries; `seq` and `at` are given when it is written."""

    seq: int = 0
    at: str = ""
    turn: int = 0
    exchange: int = 0
    attempt: int = 0


class SessionOpened(Happened):
    kind: Literal["session_opened"] = "session_opened"
    session: str
    cwd: str
    model: str
    mode: str
    tools: tuple[str, ...] = ()
    sandbox: str = ""
    """What holds its commands: full, landlock, seccomp only, none, off."""


class TurnStarted(Happened):
    kind: Literal["turn_started"] = "turn_started"
    prompt: str
    """The prompt's text, at most 4 KB of it."""


class ExchangeStarted(Happened):
    kind: Literal["exchange_started"] = "exchange_started"
    model: str


class TextDelta(Happened):
    kind: Literal["text"] = "text"
    block: int
    text: str


class ThinkingDelta(Happened):
    kind: Literal["thinking"] = "thinking"
    block: int
    text: str


class BlockEnded(Happened):
    kind: Literal["block_ended"] = "block_ended"
    block: int
    block_kind: str


class Superseded(Happened):
    """What an earlier attempt streamed does not count."""

    kind: Literal["superseded"] = "superseded"
    reason: str = ""


class ModelRetry(Happened):
    kind: Literal["model_retry"] = "model_retry"
    failure: str
    text: str
    seconds: float = 0
    """Until the next attempt."""
    final: bool = False
    """No further attempt."""


class ExchangeEnded(Happened):
    kind: Literal["exchange_ended"] = "exchange_ended"
    stop: str
    usage: Usage = Usage()
    cost: int | None = None
    head: str = ""
    calls: int = 0


class ToolStarted(Happened):
    kind: Literal["tool_started"] = "tool_started"
    place: int
    tool: str
    summary: str
    """One line: path, command, pattern."""


class ToolProgress(Happened):
    kind: Literal["tool_progress"] = "tool_progress"
    place: int
    text: str = ""
    """Newest output, at most 2 KB."""
    size: int = 0
    """Bytes of output so far."""
    seconds: float = 0


class ToolEnded(Happened):
    kind: Literal["tool_ended"] = "tool_ended"
    place: int
    tool: str
    status: str
    preview: str = ""
    """At most 2 KB of the result."""
    seconds: float = 0
    crash: str = ""
    summary: str = ""
    """What it was to do, of a call that was denied and so never started."""


class ApprovalAsked(Happened):
    kind: Literal["approval_asked"] = "approval_asked"
    place: int
    tool: str
    approval: str
    summary: str
    reason: str = ""
    content: str = ""
    """The plan, the hosts to open, or the questions as JSON, at most 16 KB of it."""
    choices: tuple[Choice, ...] = ()
    """One for each question that the answer must answer."""
    suggestions: tuple[str, ...] = ()
    """What *always* saves; none where there is nothing, or too much to be read at a glance."""


class ApprovalAnswered(Happened):
    kind: Literal["approval_answered"] = "approval_answered"
    place: int
    approval: str
    allow: bool
    by: str = ""


class Notice(Happened):
    kind: Literal["notice"] = "notice"
    what: str
    text: str = ""


class TurnEnded(Happened):
    kind: Literal["turn_ended"] = "turn_ended"
    reason: str
    error: str = ""
    totals: Totals = Totals()
    head: str = ""


class SessionClosed(Happened):
    kind: Literal["session_closed"] = "session_closed"
    reason: str = ""
    head: str = ""


class Damaged(Happened):
    """A line of the feed that cannot be read."""

    kind: Literal["damaged"] = "damaged"
    text: str = ""


Event = Annotated[
    SessionOpened
    | TurnStarted
    | ExchangeStarted
    | TextDelta
    | ThinkingDelta
    | BlockEnded
    | Superseded
    | ModelRetry
    | ExchangeEnded
    | ToolStarted
    | ToolProgress
    | ToolEnded
    | ApprovalAsked
    | ApprovalAnswered
    | Notice
    | TurnEnded
    | SessionClosed
    | Damaged,
    Field(discriminator="kind"),
]

EVENT: TypeAdapter[Event] = TypeAdapter(Event)
"""Reads one line of the feed."""
