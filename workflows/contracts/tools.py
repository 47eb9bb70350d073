"""ToolSpec, ToolRequest, ToolOutcome: a tool as it is told, one call of it as it is asked for, and what that gave."""

from enum import StrEnum

from pydantic import JsonValue

from workflows.contracts.contract import Contract
from workflows.contracts.directives import Directive
from workflows.contracts.extensions import HookResult
from workflows.contracts.messages import Shown
from workflows.contracts.permissions import Answer, Approval, Mode, Verdict


class Repeat(StrEnum):
    """What repeating a call means."""

    SAFE = "safe"
    """Repeated freely."""
    CHECKED = "checked"
    """Repeated after looking whether the effect is there."""
    ONCE = "once"
    """Never repeated: found again, or told as unknown."""


class CallStatus(StrEnum):
    """How a call ended."""

    OK = "ok"
    ERROR = "error"
    DENIED = "denied"
    CANCELLED = "cancelled"
    UNKNOWN = "unknown"
    """Host or runner died; whether the effect happened is not known."""
    BROKEN = "broken"
    """Never run: the reply ended inside the call, or its input is no valid JSON."""
    NEEDS_APPROVAL = "needs_approval"


class ToolSpec(Contract):
    """Something the model may call, as the model is told and as the workflow schedules it."""

    name: str
    description: str
    input_schema: dict[str, JsonValue]
    is_read_only: bool = False
    may_run_beside_others: bool = False
    repeat: Repeat = Repeat.ONCE
    timeout: int = 600
    """Seconds for one attempt, at most."""
    by_default: bool = True
    """In the pool of a session that names no tools."""
    server: dict[str, JsonValue] = {}
    """The declaration of a tool that the provider runs itself; empty for one of ours."""


class Effect(Contract):
    """A change a tool made in the world, or a file it looked at."""

    kind: str
    """read | write | create | remove | command."""
    path: str = ""
    before: str = ""
    """SHA-256 of the file before, empty when there was none."""
    after: str = ""
    before_object: str = ""
    """Digest of the object that keeps the old version, encrypted; older sessions have it in clear, under `before`."""
    folders: int = 0
    """How many of the folders right above a file that was made were made for it."""


class ToolOutcome(Contract):
    """What a tool call gave: what the model is shown, what else is known."""

    content: tuple[Shown, ...] = ()
    is_error: bool = False
    full: str = ""
    """Digest of the whole result when the content is only a part of it."""
    size: int = 0
    """Bytes of the whole result."""
    effects: tuple[Effect, ...] = ()
    status: CallStatus = CallStatus.OK
    cwd: str = ""
    """Folder in which the next command starts, when it changed."""
    data: dict[str, JsonValue] = {}
    """Facts for audit and screen: exit code, line counts, the to-do list."""
    cost: int = 0
    """Micro-dollars that the tool spent itself, as far as prices are known."""
    directives: tuple[Directive, ...] = ()
    """What it asks of the workflow."""


class ToolRequest(Contract):
    """Run one tool call of a reply."""

    session: str
    exchange: int
    place: int
    """Index of the call among the reply's calls, from 0."""
    entry: str
    """Digest of the assistant entry that holds the call."""
    context: str
    """Digest of the session's SessionContext object."""
    at: str
    mode: Mode = Mode.DEFAULT
    cwd: str = ""
    """Folder in which a command starts; empty for the workspace."""
    approval: Approval | None = None
    """The question that was answered, on the second pass."""
    answer: Answer | None = None
    turn: int = 0
    broken: str = ""
    """Why the call is never run; it only gets an outcome that says so."""
    workspace: str = ""
    """The folder that the session works in now; empty for its own."""
    tasks: int = 0
    """Tasks that are open."""
    once: bool = False
    """The session ends with this turn, and its tasks with it."""


class ToolDone(Contract):
    """What the workflow keeps of a call."""

    outcome: str = ""
    """Digest of the stored outcome; while approval is needed that of a call which has ended, else none."""
    status: CallStatus
    approval: Approval | None = None
    cwd: str = ""
    directives: tuple[Directive, ...] = ()
    """By value."""
    stop: str = ""
    """Why a hook ends the turn after this call, at most 300 characters."""
    cost: int = 0
    """Micro-dollars that deciding about it cost: the small model of auto mode."""


class EndRequest(Contract):
    """End what a cancelled call left running, and store its outcome."""

    session: str
    exchange: int
    place: int
    entry: str
    at: str
    context: str = ""
    turn: int = 0
    why: str = ""
    """Why it is ended, when nobody interrupted: the failure of the call's own activity."""
    workspace: str = ""
    """The folder that the session works in now; empty for its own."""


class Pass(Contract):
    """What the first pass over a call found, kept for the second."""

    verdict: Verdict
    digest: str
    """SHA-256 of tool and input."""
    suggestions: tuple[str, ...] = ()
    """Rules that *always allow* saves; none when it cannot be offered."""
    hooks: HookResult | None = None
    """What the hooks before the call said; they are not asked again."""
    leads: str = ""
    """Digest of where the call's paths led, links followed: an answer is given for nothing else."""
