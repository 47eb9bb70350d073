"""What a session has written at its begin, between its steps and of each run that ends, and what that gives."""

from workflows.contracts.contract import Contract
from workflows.contracts.session import SetMode, Totals, TurnEnd


class OpenRequest(Contract):
    """Fix the context of a session and write its first entry."""

    session: str
    cwd: str
    host: str
    settings: str
    at: str
    store: str = ""
    public_key: str = ""
    start: str = ""
    """Older head that the session goes on from; empty for a chain of its own."""
    start_of: str = ""
    """The session that wrote it."""


class Opened(Contract):
    """The context of a session, and the head after its first entry."""

    context: str
    head: str
    hooks: tuple[str, ...] = ()
    """Events, beside those of tool calls, that have hooks."""
    turns: int = 0
    """Turns in the chain that it goes on from; its own are numbered after them."""
    exchanges: int = 0
    """Exchanges there."""


class SettleRequest(Contract):
    """Write what waits and a notice: at the end of a turn, at an interrupt, at close."""

    session: str
    head: str
    at: str
    context: str = ""
    waiting: tuple[str, ...] = ()
    prompts: tuple[str, ...] = ()
    """Digests of prompts that never got their turn, or whose turn ended before the model was asked."""
    entry: str = ""
    unanswered: tuple[int, ...] = ()
    """Places of calls of `entry` that never ran; each gets a result that says so."""
    what: str
    """Kind of the notice: turn_ended | interrupted | closed | mode_changed."""
    text: str = ""
    shown: bool = False
    turn: int = 0
    end: TurnEnd | None = None
    totals: Totals = Totals()
    exchange: int = 0
    modes: tuple[SetMode, ...] = ()
    lost: tuple[int, ...] = ()
    """Places of calls of `entry` that ended and left no outcome; each gets a result that says so."""
    beyond: int = 0
    """Calls of `entry` after the first MOST_CALLS; each gets a result that says so."""
    notices: tuple[str, ...] = ()
    """Digests of words of tasks that the model was not shown; they stand before the notice."""
    unkept: int = 0
    """Further words of tasks that came while too many waited."""
    left: tuple[str, ...] = ()
    """Tasks of a closing session whose end nobody saw in time."""
    unwritten: tuple[str, ...] = ()
    """Digests of outcomes and prompts that could not be written; the notice names them."""
    why: str = ""
    """Why they could not, or what else went wrong at the end."""


class Settled(Contract):
    """The head after it."""

    head: str


class ArchiveRequest(Contract):
    """Put this run's history into the store and its digest into the chain."""

    session: str
    workflow_id: str
    run_id: str
    head: str
    at: str
    context: str = ""


class Archived(Contract):
    """The head after it, and the digest of the archived history."""

    head: str
    history: str
