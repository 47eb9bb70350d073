"""ModelRequest, ModelReply, Usage, StopReason."""

from enum import StrEnum

from workflows.contracts.contract import Contract
from workflows.contracts.permissions import Mode

MOST_CALLS = 128
"""Calls of one reply that are run; those beyond get a result that says so, and the state stays small."""


class StopReason(StrEnum):
    """Why a reply ended; the provider's names, plus `cut_off` for a stream that broke after a complete block."""

    END_TURN = "end_turn"
    TOOL_USE = "tool_use"
    MAX_TOKENS = "max_tokens"
    STOP_SEQUENCE = "stop_sequence"
    PAUSE_TURN = "pause_turn"
    REFUSAL = "refusal"
    WINDOW = "model_context_window_exceeded"
    CUT_OFF = "cut_off"


class Usage(Contract):
    """Tokens of one model call, as the provider counted them."""

    input: int = 0
    output: int = 0
    cache_read: int = 0
    cache_write: int = 0
    cache_write_1h: int = 0
    """The part of `cache_write` that is kept for an hour."""
    searches: int = 0
    """Searches of the web that the provider made."""

    @property
    def context(self) -> int:
        """Tokens in the window after this call."""
        return self.input + self.cache_read + self.cache_write + self.output

    def plus(self, other: "Usage") -> "Usage":
        """Both together."""
        return Usage(
            input=self.input + other.input,
            output=self.output + other.output,
            cache_read=self.cache_read + other.cache_read,
            cache_write=self.cache_write + other.cache_write,
            cache_write_1h=self.cache_write_1h + other.cache_write_1h,
            searches=self.searches + other.searches,
        )


class CallRef(Contract):
    """One tool call of a reply, as the workflow knows it; its input stays in the chain."""

    tool: str
    beside: bool = False
    """May run beside others: only reads, so that nothing is left of it when it ends early."""
    broken: str = ""
    """Why it is never run (cut off, no valid JSON); empty when it may run."""


class Refusal(Contract):
    """What the provider said of a picture, a document, or a body that was too large."""

    kind: str
    """A FailureKind."""
    text: str
    """At most 120 characters: the place comes first."""


class ModelRequest(Contract):
    """Ask the model once. The same values give the same entries, so a repeated attempt is harmless."""

    session: str
    exchange: int
    """Number of this exchange in the session, from 1; the key of single flight."""
    head: str
    """Digest of the newest entry; what waits is appended to it first."""
    context: str
    """Digest of the session's SessionContext object."""
    at: str
    """Time stamp of the entries made, from the workflow, ISO 8601 UTC."""
    prompt: str = ""
    """Digest of the prompt that starts this turn."""
    waiting: tuple[str, ...] = ()
    """Digests of OutcomeBody objects in call order, not in the chain yet; `core/pending` makes their entries."""
    hidden: str = ""
    """Text of a hidden user message, such as *go on where you stopped*."""
    model: str = ""
    """Another model than the context's; empty for that one."""
    max_tokens: int = 0
    """Another output cap than the context's; 0 for that one."""
    turn: int = 0
    """Number of the turn, from 1; only carried into events."""
    attempts: int = 10
    """Attempts that the engine makes."""
    overloads: int = 0
    """Give up after so many attempts when the model is overloaded, since another one waits; 0 for never."""
    mode: Mode = Mode.DEFAULT
    """What may be started early."""
    discards: tuple[str, ...] = ()
    """Digests of replies that were paid for and set aside, to be named in the entry that counts."""
    entry: str = ""
    """Digest of the assistant entry whose calls `lost` and `beyond` are; empty when there are none."""
    lost: tuple[int, ...] = ()
    """Places of calls that ended and left no outcome; each gets a result that says so, among `waiting`."""
    beyond: int = 0
    """Calls of that entry after the first MOST_CALLS; each gets a result that says so."""
    searches: int = 0
    """Searches that the session has made so far."""
    refusals: tuple[Refusal, ...] = ()
    """What the provider said of this very request, oldest first; for each a picture or document is left out."""
    notices: tuple[str, ...] = ()
    """Digests of NoticeBody objects that the model is shown from now on."""
    unkept: int = 0
    """Further words of tasks that came while too many waited."""
    reminder: str = ""
    """What the model must hear of its mode: plan | left_plan; empty for nothing."""
    workspace: str = ""
    """The folder that the session works in now; empty for its own."""


class ModelReply(Contract):
    """What the workflow keeps of a reply."""

    head: str
    """Digest of the assistant entry."""
    stop: StopReason
    calls: tuple[CallRef, ...] = ()
    """The first MOST_CALLS of them."""
    beyond: int = 0
    """Further calls, which are never run."""
    usage: Usage = Usage()
    cost: int | None = None
    """Micro-dollars; None when no price is known."""
    is_empty: bool = False
    """No text and no call: not an answer."""
    unknown: int = 0
    """Earlier attempts of this exchange that may have been billed without a known usage."""
    model: str = ""
    """Model that answered, when it is not the session's own."""
