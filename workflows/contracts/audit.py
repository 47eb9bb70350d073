"""What an audit tells: one step a line, totals, problems."""

from dataclasses import dataclass, field
from typing import Literal

from pydantic import JsonValue

from workflows.contracts.transcript import Entry


@dataclass(frozen=True)
class Line:
    """One place of the chain as it was read."""

    n: int
    digest: str
    """Empty when nothing that can be read names this entry."""
    entry: Entry | None
    why: str = ""
    """Why there is no entry; of several in a row that nothing names, only the first tells."""


@dataclass(frozen=True)
class PromptStep:
    """Something said to the model."""

    n: int
    digest: str
    at: str
    turn: int
    by: str
    """person | perdure."""
    text: str
    """At most 200 characters of it."""
    kind: Literal["prompt"] = "prompt"


@dataclass(frozen=True)
class ExchangeStep:
    """One model call."""

    n: int
    digest: str
    """Of the reply's entry."""
    at: str
    turn: int
    exchange: int
    state: str
    """counted | set aside (paid for, then asked again with a higher output cap) | lost (ended on the way)."""
    model: str
    stop: str
    usage: dict[str, int] | None
    """Tokens by kind; None when not known."""
    cost: int | None
    """Micro-dollars; None when not known."""
    unknown: int
    """Attempts that may have been billed without a known usage."""
    attempt: int
    """0 when not known."""
    started: str
    ended: str
    seconds: float | None
    calls: int
    text: str
    """At most 200 characters of the reply."""
    worker: str = ""
    """As history tells it."""
    event: int = 0
    """Event of the Temporal history that took this reply; 0 when no history tells."""
    kind: Literal["exchange"] = "exchange"


@dataclass(frozen=True)
class CallStep:
    """One tool call."""

    n: int
    digest: str
    at: str
    turn: int
    exchange: int
    place: int
    tool: str
    input: str
    """At most 200 characters of it."""
    input_digest: str
    """SHA-256 of tool and input, as the verdict was bound to it."""
    decision: str
    by: str
    rule: str
    reason: str
    signer: str
    """Who answered, as the command line knew the person; empty when nobody was asked."""
    signature: str
    """valid | invalid | unsigned | unchecked (no key is known); empty when nobody was asked."""
    status: str
    attempt: int
    crash: str
    """What a crash did to this step: found | attached | repeated | unknown; empty when undisturbed."""
    worker: str
    started: str
    ended: str
    seconds: float | None
    effects: list[dict[str, str]]
    """Kind, path, and digests of the file before and after."""
    result: str
    """Digest of the whole result: of its object when it has one, else of its canonical JSON."""
    size: int
    hooks: list[dict[str, JsonValue]] = field(default_factory=list)
    """Every hook that ran for it: event, hook, source, decision, exit, seconds, text, failure, crash."""
    cost: int = 0
    """Micro-dollars that models took beside the conversation: a classifier, hooks, the tool itself."""
    updated_input: str = ""
    """At most 200 characters of what a hook put in the place of its input."""
    source: str = ""
    """Of a rule that decided: managed, cli, local, project, user, session."""
    file: str = ""
    """The file that it stands in."""
    policy: str = ""
    """Digest of the rules that were in force."""
    sandbox: str = ""
    """The tier that held its command; empty for a call of another kind."""
    sandbox_told: list[str] = field(default_factory=list)
    """What its result says of the sandbox: what was refused to the command, and what was open to it alone."""
    hosts: dict[str, JsonValue] = field(default_factory=dict)
    """Of hosts that a person could open: refused, asked, by, rule, signer, signature, opened; empty where none was."""
    kind: Literal["call"] = "call"


@dataclass(frozen=True)
class NoticeStep:
    """Something that is neither said nor done."""

    n: int
    digest: str
    at: str
    what: str
    text: str
    data: dict[str, JsonValue]
    kind: Literal["notice"] = "notice"


@dataclass(frozen=True)
class DamagedStep:
    """An entry that cannot be read."""

    n: int
    digest: str
    why: str
    kind: Literal["damaged"] = "damaged"


Step = PromptStep | ExchangeStep | CallStep | NoticeStep | DamagedStep


@dataclass
class Bill:
    """Sums over model calls."""

    replies: int = 0
    usage: dict[str, int] = field(default_factory=dict)
    cost: int = 0
    """Micro-dollars, as far as prices are known."""
    unpriced: int = 0
    """Replies whose usage is known and whose price is not."""
    unknown: int = 0
    """Replies and attempts of unknown usage."""


@dataclass
class Totals(Bill):
    """Sums over all steps."""

    prompts: int = 0
    calls: int = 0
    denials: int = 0
    errors: int = 0
    damaged: int = 0
    seconds: float = 0
    """Of the model calls and tool calls whose times are known; calls side by side count each."""
    models: dict[str, Bill] = field(default_factory=dict)


@dataclass(frozen=True)
class Problem:
    """Something that does not hold."""

    session: str
    n: int | None
    """Number of the entry; None when no entry is to blame."""
    digest: str
    """Of the object that is missing, damaged or wrong."""
    text: str

    @property
    def line(self) -> str:
        """The one line for the person."""
        place = "" if self.n is None else f", entry {self.n}"
        return f"session {self.session}{place}: {self.text}" + (
            "" if not self.digest or self.digest in self.text else f" ({self.digest})"
        )
