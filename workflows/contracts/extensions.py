"""HookRule, HookAnswer, HookRecord, HookResult: what a person's hooks are, say, and together decide."""

from enum import StrEnum

from pydantic import JsonValue

from workflows.contracts.contract import Contract
from workflows.contracts.permissions import Decision, Mode


class HookEvent(StrEnum):
    """The moments at which perdure runs hooks."""

    SESSION_START = "SessionStart"
    USER_PROMPT_SUBMIT = "UserPromptSubmit"
    PRE_TOOL_USE = "PreToolUse"
    PERMISSION_REQUEST = "PermissionRequest"
    PERMISSION_DENIED = "PermissionDenied"
    POST_TOOL_USE = "PostToolUse"
    POST_TOOL_USE_FAILURE = "PostToolUseFailure"
    POST_TOOL_BATCH = "PostToolBatch"
    NOTIFICATION = "Notification"
    STOP = "Stop"
    STOP_FAILURE = "StopFailure"
    SESSION_END = "SessionEnd"


class HookKind(StrEnum):
    """What runs a hook."""

    COMMAND = "command"
    HTTP = "http"
    PROMPT = "prompt"
    AGENT = "agent"
    MCP_TOOL = "mcp_tool"


class HookHeader(Contract):
    """One header of an http hook."""

    name: str
    value: str = ""
    """As written, `$VARIABLE` and all; filled in when it is sent."""
    kept: int = 0
    """Its number among the values that stay on the session's host, from 1; 0 when `value` holds it."""


class HookScript(Contract):
    """A file of the workspace that a hook runs."""

    path: str
    root: str
    """The folder whose trust covers it."""
    digest: str = ""
    """SHA-256 of what counts; empty when the person trusted nothing that stands there."""


class HookRule(Contract):
    """One hook of the settings, as it was when the session started."""

    event: str
    kind: HookKind
    matcher: str = ""
    condition: str = ""
    """`if`: a permission rule that the call must match."""
    command: str = ""
    args: tuple[str, ...] | None = None
    """Arguments of the exec form: then `command` is a program, and no shell reads it."""
    shell: str = "bash"
    url: str = ""
    headers: tuple[HookHeader, ...] = ()
    allowed_env: tuple[str, ...] = ()
    """The only variables that headers may name."""
    prompt: str = ""
    model: str = ""
    continue_on_block: bool = False
    timeout: float = 0.0
    """Seconds; 0 for the event's own limit."""
    status_message: str = ""
    is_async: bool = False
    """Runs beside the work, and decides nothing."""
    wakes: bool = False
    """`asyncRewake`: async, and what it says with exit 2 is told to the model."""
    source: str = ""
    """Path of the file it stands in."""
    root: str = ""
    """Folder of the plugin or skill it belongs to."""
    refused: str = ""
    """Why it may not run, such as settings that do not allow its address; a guard then refuses."""
    scripts: tuple[HookScript, ...] = ()
    """What of the workspace it runs; changed, it runs no more before the person trusts it again."""

    @property
    def label(self) -> str:
        """What it is called in records and on screen, at most 200 characters."""
        words = (self.command, *(self.args or ())) if self.command else (self.url or self.prompt or self.kind.value,)
        return " ".join(" ".join(words).split())[:200]


class HookInput(Contract):
    """What every hook is told; `facts` are what its event adds (spec 09 B)."""

    session_id: str
    transcript_path: str
    cwd: str
    hook_event_name: str
    permission_mode: str = ""
    prompt_id: str = ""
    facts: dict[str, JsonValue] = {}

    def as_json(self) -> dict[str, JsonValue]:
        """The object that a hook reads: all names side by side."""
        common: dict[str, JsonValue] = {
            "session_id": self.session_id,
            "transcript_path": self.transcript_path,
            "cwd": self.cwd,
            "hook_event_name": self.hook_event_name,
        }
        given = {"permission_mode": self.permission_mode, "prompt_id": self.prompt_id}
        return common | {name: text for name, text in given.items() if text} | self.facts


class HookAnswer(Contract):
    """What one hook said."""

    decision: Decision | None = None
    """Of PreToolUse and PermissionRequest; None when it leaves the decision to others."""
    blocks: bool = False
    """Of all others: exit 2 or `decision: block`."""
    reason: str = ""
    updated_input: dict[str, JsonValue] | None = None
    """The whole input that takes the place of the call's."""
    context: str = ""
    """Told to the model."""
    stops: bool = False
    """`continue: false`: the turn ends, whatever else was said."""
    stop_reason: str = ""
    message: str = ""
    """`systemMessage`: shown to the person."""
    output: str | None = None
    """What the model is shown instead of the tool's result."""
    retry: bool = False
    """Of PermissionDenied: the model may try the call again."""
    told: tuple[str, ...] = ()
    """What of its answer has no effect, such as unknown keys."""


class HookRecord(Contract):
    """One hook that ran, for outcome, notice and audit."""

    event: str
    hook: str
    """Its label."""
    kind: str
    source: str = ""
    decision: str = ""
    """allow | ask | deny | block | stop; empty when it decided nothing."""
    exit: int | None = None
    """Exit code of a command, status of an http answer."""
    seconds: float = 0.0
    text: str = ""
    """Why, at most 1,000 characters."""
    failure: str = ""
    """missing | timeout | crash | exit | bad_answer | too_much | unreachable | status | unsupported | bad_matcher |
    not_allowed | changed."""
    crash: str = ""
    """What a crash did to it: found, attached, repeated; empty when undisturbed."""
    updated: bool = False
    """It replaced the call's input or the tool's result."""
    told: tuple[str, ...] = ()
    cost: int = 0
    """Micro-dollars that a prompt hook's model took, as far as its price is known."""


class HookResult(Contract):
    """What all hooks of one moment said together: deny before ask before allow."""

    decision: Decision | None = None
    by: str = ""
    """Label of the hook that decided, blocked or stopped."""
    reason: str = ""
    blocks: bool = False
    stops: bool = False
    stop_reason: str = ""
    updated_input: dict[str, JsonValue] | None = None
    context: str = ""
    output: str | None = None
    retry: bool = False
    messages: tuple[str, ...] = ()
    records: tuple[HookRecord, ...] = ()

    @property
    def cost(self) -> int:
        """Micro-dollars that asking took."""
        return sum(record.cost for record in self.records)


class HookMoment(Contract):
    """Run the hooks of a moment that is no tool call's."""

    session: str
    context: str
    """Digest of the session's SessionContext object."""
    head: str
    at: str
    event: HookEvent
    target: str = ""
    """What the event's matchers are held against."""
    turn: int = 0
    exchange: int = 0
    number: int = 0
    """Which one of this event in this exchange, from 0."""
    mode: Mode = Mode.DEFAULT
    cwd: str = ""
    prompt: str = ""
    """Digest of the prompt that was submitted."""
    entry: str = ""
    """Digest of the newest reply's entry."""
    outcomes: tuple[str, ...] = ()
    """Digests of the outcomes of its calls."""
    facts: dict[str, JsonValue] = {}
    """Small facts for the hook's input."""


class HookDone(Contract):
    """What the workflow keeps of a moment's hooks."""

    head: str
    """After the notice that tells of them."""
    blocked: str = ""
    """Why it is refused, or what the model shall still do; at most 1,000 characters."""
    stopped: str = ""
    """Why the turn ends."""
    cost: int = 0
    """Micro-dollars."""
