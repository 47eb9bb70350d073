"""SessionInput, SessionState, payloads of updates and queries."""

from enum import StrEnum

from pydantic import ModelWrapValidatorHandler, ValidationError, model_validator

from workflows.contracts.contract import Contract
from workflows.contracts.model import CallRef, Refusal, Usage
from workflows.contracts.permissions import Answer, Approval, Mode
from workflows.contracts.settings import Thresholds
from workflows.contracts.tasks import Task


class TurnEnd(StrEnum):
    """How a turn ended; also the machine-readable reason of the command line."""

    DONE = "done"
    EMPTY = "empty_answer"
    FAILED = "failed"
    DENIED = "permission_denied"
    EXCHANGES = "max_turns"
    BUDGET = "max_budget"
    UNAUTHORIZED = "unauthorized"
    REFUSED = "request_refused"
    UNREACHABLE = "model_unreachable"
    OVERLOADED = "model_overloaded"
    OUTPUT_CAP = "output_cap"
    TOO_LONG = "prompt_too_long"
    INTERRUPTED = "interrupted"
    HOOK = "stopped_by_hook"


class Prompt(Contract):
    """A prompt that waits for its turn."""

    request: str = ""
    """Request id, made by the CLI; a prompt that waits has none, since the state remembers taken ids apart."""
    digest: str
    """The prompt's object in the store."""
    title: str = ""
    """First words, at most 80 characters, secrets masked."""


class SetMode(Contract):
    """Another standing permission setting; signed when it gives more rights."""

    request: str
    mode: Mode
    by: str = ""
    signature: str = ""
    approval: str = ""
    """The question whose signed answer changed the mode; empty for a request of its own."""
    unkept: int = 0
    """Changes right before it that nobody wrote down, since too many waited; the session counts them."""


class CallState(StrEnum):
    """Where one call of the newest reply is."""

    PENDING = "pending"
    ASKED = "asked"
    ANSWERED = "answered"
    DONE = "done"


class OpenCall(Contract):
    """One call of the newest reply and what became of it."""

    ref: CallRef
    state: CallState = CallState.PENDING
    approval: Approval | None = None
    answer: Answer | None = None
    outcome: str = ""
    """Digest of the stored outcome; a call that is done without one is lost: nobody can say what became of it. One that
    has ended may still be asked about: then this is what counts if nobody answers."""
    denied: bool = False


class Turn(Contract):
    """The turn that runs."""

    number: int
    prompt: str = ""
    """Digest of the prompt, until it is in the chain."""
    exchanges: int = 0
    """Exchanges of this turn so far."""
    entry: str = ""
    """Digest of the assistant entry whose calls are open."""
    calls: tuple[OpenCall, ...] = ()
    beyond: int = 0
    """Further calls of `entry`, too many to be run."""
    answered: bool = False
    """The model has nothing more to do."""
    end: TurnEnd | None = None
    error: str = ""
    """Why it ends, or what went wrong beside, in one sentence of at most 300 characters."""
    hidden: str = ""
    """A hidden message for the next request."""
    discards: tuple[str, ...] = ()
    """Replies set aside since the last one that counts."""
    max_tokens: int = 0
    """Raised output cap; 0 for the session's."""
    model: str = ""
    """Fallback model for the rest of the turn."""
    fallbacks: int = 0
    """Fallback models tried in this turn."""
    cut_offs: int = 0
    """Replies in a row that the output cap cut off."""
    denied: bool = False
    """The newest call was refused and none has worked since."""
    refusals: tuple[Refusal, ...] = ()
    """What the provider said of pictures and documents of the next request, which leaves them out; at most 8."""
    kept_going: int = 0
    """Times in a row that a hook kept the turn from ending."""


class Totals(Contract):
    """Counters of a session."""

    exchanges: int = 0
    calls: int = 0
    denials: int = 0
    usage: Usage = Usage()
    cost: int = 0
    """Micro-dollars, as far as prices are known."""
    unpriced: int = 0
    """Replies without a known price."""
    unknown: int = 0
    """Attempts that may have been billed without a known usage."""


class SessionState(Contract):
    """Everything a session decides with; at most 16 KB however long the talk."""

    head: str = ""
    context: str = ""
    title: str = ""
    mode: Mode = Mode.DEFAULT
    turns: int = 0
    turn: Turn | None = None
    queue: tuple[Prompt, ...] = ()
    totals: Totals = Totals()
    seen: tuple[str, ...] = ()
    """Marks of the newest request ids, oldest first; `core/intake` makes them."""
    cwd: str = ""
    """Folder in which the next command starts; empty for the workspace."""
    interrupt: bool = False
    closing: bool = False
    close_reason: str = ""
    modes: tuple[SetMode, ...] = ()
    """Mode changes that are not in the chain yet."""
    last_end: TurnEnd | None = None
    last_error: str = ""
    window: int = 0
    """Tokens in the window after the newest reply."""
    runs: int = 1
    """Temporal runs so far, this one included."""
    waiting_for: str = ""
    """What the session waits for, for whoever watches: an answer, a host, a retry."""
    workspace: str = ""
    """The folder that the session works in now; empty for the one that it was started in."""
    before_plan: Mode | None = None
    """The mode to go back to after plan mode."""
    told_mode: Mode | None = None
    """The mode that the model knows of."""
    tasks: tuple[Task, ...] = ()
    """Background work that is open."""
    notices: tuple[str, ...] = ()
    """Digests of words of tasks that the model was not shown yet."""
    unkept: int = 0
    """Further words of tasks that came while too many waited."""
    hooks: tuple[str, ...] = ()
    """Events, beside those of tool calls, that have hooks."""


class UnreadableStart(Exception):
    """The start of a session is none; unlike a checkpoint, which another worker wrote and can read."""


class SessionInput(Contract):
    """Start of a session, or of its next Temporal run."""

    session: str
    cwd: str
    host: str
    """Id of the host that has the folder."""
    host_name: str = ""
    store: str
    """Id of the object store that the session's objects are in."""
    settings: str
    """Digest of the SessionSettings object."""
    public_key: str
    """Ed25519 key, hex, that a person's acts are checked with."""
    prompts: tuple[Prompt, ...] = ()
    """Prompts that travel in the start."""
    thresholds: Thresholds = Thresholds()
    mode: Mode = Mode.DEFAULT
    once: bool = False
    """Close when no prompt waits any more."""
    start: str = ""
    """Older head that the session goes on from; empty for a chain of its own."""
    start_of: str = ""
    """The session that wrote it."""
    has_attributes: bool = True
    """The server knows perdure's search attributes; else the memo shows what they would."""
    state: SessionState | None = None
    """The checkpoint of the run before."""
    test_fault: str = ""
    """Only for tests of what happens when workflow code fails."""

    @model_validator(mode="wrap")
    @classmethod
    def _readable(cls, given: object, read: ModelWrapValidatorHandler["SessionInput"]) -> "SessionInput":
        try:
            return read(given)
        except ValidationError as error:
            if isinstance(given, dict) and given.get("state"):
                raise
            problem = error.errors()[0]
            where = ".".join(str(part) for part in problem["loc"])
            raise UnreadableStart(f"this start of a session cannot be read: {where}: {problem['msg']}") from error


class Submit(Contract):
    """Another prompt."""

    request: str
    digest: str
    title: str = ""


class Interrupt(Contract):
    """End what the turn does now; the session goes on with the next prompt."""

    request: str
    turn: int = 0
    """Only this turn; 0 for the one that runs."""


class Close(Contract):
    """End the session; signed."""

    request: str
    reason: str = ""
    by: str = ""
    signature: str = ""


class Taken(Contract):
    """Answer to an update: it is recorded."""

    turn: int = 0
    """Number of the turn that it belongs to."""
    repeated: bool = False
    """The same request id was taken before."""


class Snapshot(Contract):
    """What a session says of itself when asked."""

    session: str
    title: str
    cwd: str
    host: str
    host_name: str
    phase: str
    """idle | asking the model | running tools | waiting for approval | ending | closed."""
    state: SessionState
    approvals: tuple[Approval, ...] = ()
    history_events: int = 0
    thresholds: Thresholds = Thresholds()
    """Limits that it was started with."""


class SessionResult(Contract):
    """What a closed session leaves."""

    head: str
    end: TurnEnd | None = None
    """How the last turn ended."""
    error: str = ""
    reason: str = ""
    """Why it was closed."""
    unarchived: str = ""
    """Why its last run's history could not be put into the store; the server keeps it for a while."""
    totals: Totals = Totals()
    turns: int = 0
