"""Settings, merged and frozen when a session starts."""

from workflows.contracts.contract import Contract
from workflows.contracts.extensions import HookRule
from workflows.contracts.permissions import Mode, Rules, Unattended
from workflows.contracts.sandbox import SandboxSettings
from workflows.contracts.tools import ToolSpec
from workflows.contracts.web import WebSettings

DEFAULT_MODEL = "claude-sonnet-4-5"
MODEL_ALIASES = {
    "default": DEFAULT_MODEL, "sonnet": DEFAULT_MODEL, "opus": "claude-opus-4-5", "haiku": "claude-haiku-4-5",
}  # fmt: skip
"""Short names of models, as people's settings have them."""


class Thresholds(Contract):
    """The figures that `core` decides with; frozen when a session starts, carried in its input."""

    exchanges_per_turn: int = 0
    """Most exchanges of one turn; 0 for no limit (`--max-turns`)."""
    budget: int = 0
    """Most micro-dollars of the session; 0 for no limit (`--max-budget-usd`)."""
    side_by_side: int = 10
    """Most calls at once, and most open questions (spec 01 §4)."""
    escalated_cap: int = 64_000
    """Output cap after a reply was cut off (spec 01 §8)."""
    raised_cap: int = 16_000
    """Output cap after a tool call was cut off: the model is told so and makes smaller ones. Twice the usual one."""
    continuations: int = 3
    """Most times a cut-off reply is continued, and the same fault in a row accepted (spec 01 §5)."""
    model_attempts: int = 10
    """Attempts of one model call (spec 01 §7)."""
    fallback_models: tuple[str, ...] = ()
    """At most three; asked for the rest of the turn after repeated overload."""
    overloads: int = 3
    """Overloaded answers in a row before the fallback model is asked (spec 01 §7)."""
    end_patience: int = 60
    """Seconds that a session which is closed or cancelled waits for a host to end its call."""
    roll_events: int = 0
    """Continue as new after so many events of history; 0 for when the server suggests it."""
    roll_updates: int = 1_500
    """Continue as new after so many updates of this run; the server ends a run at 2,000."""
    queued: int = 28
    """Most prompts that wait: with as many, ten open questions and all ids seen, the state stays below 16 KB."""
    seen: int = 200
    """Request ids kept for telling repeats."""


class SessionSettings(Contract):
    """What one session was started with."""

    model: str = DEFAULT_MODEL
    max_tokens: int = 8_000
    """Output cap of a request (spec 01 §8)."""
    thinking_tokens: int = 0
    """Thinking budget; 0 for none."""
    mode: Mode = Mode.DEFAULT
    rules: Rules = Rules()
    unattended: Unattended = Unattended.NO
    tools: tuple[str, ...] = ()
    """Names of the tools of the session; empty for the usual ones."""
    system_prompt: str = ""
    """Instead of our own."""
    append_system_prompt: str = ""
    window: int = 200_000
    """Tokens of the model's window."""
    base_url: str = ""
    """One that the person has set on the host, or a rehearsal model on loopback; empty for the worker's own."""
    idle_seconds: float = 90.0
    """Longest silence of a streaming reply (design §4)."""
    bash_timeout: int = 120
    """Seconds a command may run when the model names none (spec 05 §2)."""
    bash_shown: int = 30_000
    """Bytes of a command's output that the model is shown (spec 05 §2)."""
    bash_silence: int = 0
    """Seconds without output after which a command is ended; 0 for no limit."""
    roots: tuple[str, ...] = ()
    """Folders whose own settings files count, found when the session starts: what an agent does to a repository later
    takes no deny rule away. Empty for looking each time."""
    sandbox: SandboxSettings = SandboxSettings()
    """What its commands may touch."""
    takes_documents: bool = True
    """The model takes PDFs as they are; else their text is shown."""
    web: WebSettings = WebSettings()
    language_servers: tuple[str, ...] = ()
    """Ending of file names and the command of their language server: `.go=gopls serve`."""
    hooks: tuple[HookRule, ...] = ()
    """Hooks of whoever starts the session, beside those of settings files."""
    added_folders: tuple[str, ...] = ()
    """Folders that count as inside, beside the session's own and those of settings files; absolute."""


class SessionContext(Contract):
    """What never changes inside a session: settings, system prompt, tool pool; one object of the store."""

    session: str
    cwd: str
    host: str
    settings: SessionSettings
    system: tuple[str, ...]
    """Text blocks of the system prompt; the last static one ends the cached prefix."""
    tools: tuple[ToolSpec, ...]
    """In the order in which the model sees them."""
    hooks: tuple[HookRule, ...] = ()
    """As the settings had them when the session started; literal values of headers stay on the host."""
