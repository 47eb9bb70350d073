"""The screen model: what is there to show, whoever draws it."""

from dataclasses import dataclass, field, replace
from datetime import datetime

from workflows.contracts.events import ExchangeEnded, ModelRetry, TurnEnded
from workflows.contracts.session import Totals
from workflows.core.intake import PLAN_TOOL


@dataclass(frozen=True)
class Said:
    """Model text that is complete: a block, or what was left of it."""

    text: str
    exchange: int
    attempt: int = 0
    thinking: bool = False


@dataclass(frozen=True)
class Told:
    """One line that says what happened; `tone` is ok, warning, error or dim."""

    text: str
    tone: str = "dim"


@dataclass(frozen=True)
class ToolRun:
    """One tool call, as far as it is known; `status` is empty while it runs."""

    exchange: int
    place: int
    tool: str = ""
    summary: str = ""
    started: str = ""
    text: str = ""
    size: int = 0
    seconds: float = 0
    status: str = ""
    crash: str = ""
    attempt: int = 0


@dataclass(frozen=True)
class Question:
    """An open approval."""

    approval: str
    tool: str
    summary: str
    reason: str = ""
    exchange: int = 0
    content: str = ""
    """The plan that is submitted, the hosts to open, or the questions as JSON."""
    has_choices: bool = False
    """It is answered by choosing, not by yes or no."""
    suggestions: tuple[str, ...] = ()
    """What *always* would save."""

    @property
    def is_plan(self) -> bool:
        """Whether it shows a plan, which may be approved in a mode."""
        return self.tool == PLAN_TOOL


@dataclass(frozen=True)
class Prompted:
    """A turn began with this prompt."""

    text: str
    turn: int


@dataclass(frozen=True)
class Ended:
    """A turn ended."""

    event: TurnEnded


Item = Said | Told | ToolRun | Prompted | Ended


@dataclass(frozen=True)
class OpenBlock:
    """The block that streams; `text` is what was not printed for good yet."""

    exchange: int
    attempt: int
    block: int
    thinking: bool = False
    text: str = ""
    printed: int = 0
    """Characters that were."""


@dataclass(frozen=True)
class Screen:
    """All that a watcher is shown. Bounded: what is closed leaves by `pending`, in the order of the transcript."""

    session: str = ""
    cwd: str = ""
    model: str = ""
    mode: str = ""
    sandbox: str = ""
    """What holds its commands; empty while nobody said."""
    turn: int = 0
    exchange: int = 0
    attempt: int = 0
    phase: str = "starting"
    waiting_for: str = ""
    """What the engine says it waits for; empty for what the events tell."""
    last_at: str = ""
    """Time stamp of the newest event."""
    totals: Totals = field(default_factory=Totals)
    pending: tuple[Item, ...] = ()
    """Closed and not printed yet."""
    held: tuple[Said, ...] = ()
    """Closed text whose turn to be printed comes when the calls of an earlier exchange are closed."""
    open: OpenBlock | None = None
    printed_text: tuple[int, int] = (0, 0)
    """Exchange and attempt whose text was printed for good last."""
    tools: tuple[ToolRun, ...] = ()
    """Calls not closed yet, by exchange and place."""
    prompted: int = 0
    """Newest turn whose prompt was shown."""
    replied: int = 0
    """Newest exchange whose reply is complete."""
    questions: tuple[Question, ...] = ()
    retry: ModelRetry | None = None
    damaged: int = 0
    """Lines of the feed that could not be read."""
    closed: bool = False
    ended: TurnEnded | None = None
    """How the newest turn ended; None while one runs."""
    text_seq: int = 0
    """Number of the newest line of streamed text."""
    counted: tuple[int, ...] = ()
    """Exchanges in `totals`, the newest of them."""
    told: tuple[tuple[int, str, str], ...] = ()
    """Lines said last: number, time, text."""
    shut: tuple[tuple[int, int], ...] = ()
    """Calls closed last: exchange, place."""

    @property
    def may_print_open(self) -> bool:
        """Whether the open text's place in the order is settled: no earlier exchange still has open calls."""
        return self.open is not None and not any(tool.exchange < self.open.exchange for tool in self.tools)


def drained(screen: Screen) -> Screen:
    """The same, after everything pending was printed for good."""
    texts = [item for item in screen.pending if isinstance(item, Said)]
    if texts:
        screen = replace(screen, printed_text=(texts[-1].exchange, texts[-1].attempt))
    return replace(screen, pending=())


def printed(screen: Screen, rest: str, characters: int) -> Screen:
    """The same, after that many characters of the open text were printed for good and `rest` was not."""
    if screen.open is None:
        return screen
    block = replace(screen.open, text=rest, printed=screen.open.printed + characters)
    return replace(screen, open=block, printed_text=(block.exchange, block.attempt))


def with_text(screen: Screen, block: OpenBlock, text: str, seq: int, at: str) -> Screen:
    """The same after more text of its open block: what happens a hundred times a second."""
    # Copied field by field, a frozen screen costs ten times as much, and a late watcher replays every event.
    grown, longer = object.__new__(OpenBlock), object.__new__(Screen)
    grown.__dict__.update(block.__dict__, text=block.text + text)
    longer.__dict__.update(screen.__dict__, open=grown, text_seq=seq, last_at=max(at, screen.last_at))
    return longer


def with_reply(totals: Totals, event: ExchangeEnded) -> Totals:
    """The counters after one more reply."""
    return totals.model_copy(
        update={
            "exchanges": totals.exchanges + 1,
            "calls": totals.calls + event.calls,
            "usage": totals.usage.plus(event.usage),
            "cost": totals.cost + (event.cost or 0),
            "unpriced": totals.unpriced + (event.cost is None),
        }
    )


def moment(at: str) -> float | None:
    """Seconds since the epoch of a time stamp; None for none."""
    try:
        return datetime.fromisoformat(at).timestamp() if at else None
    except ValueError:
        return None
