"""Task, TaskKind, Delivery: background work of a session, and what it tells the session."""

from enum import StrEnum

from workflows.contracts.contract import Contract

MOST_TASKS = 6
"""Tasks that one session may have open."""

MOST_NOTICES = 4
"""Words of tasks that wait for the model; further ones are only counted, and each task's whole output is kept."""


class TaskKind(StrEnum):
    """What a task is."""

    COMMAND = "command"
    """A shell command; the session hears of its end."""
    MONITOR = "monitor"
    """A shell command; the session hears of its lines too."""


class Task(Contract):
    """One piece of background work, open."""

    id: str
    """`b` or `m` and eight letters or digits of the call's key."""
    kind: TaskKind
    call: str
    """`exchange.place` of the call that started it."""
    key: str = ""
    """The call's key in the journal of its host; the session itself keeps none."""
    title: str = ""
    """What it does, at most 40 characters, secrets masked."""
    heard: int = 0
    """Number of the newest word of it that the session took."""


class Delivery(Contract):
    """What a task tells its session; a repeat has the same number."""

    task: str
    number: int
    """From 1; one that was taken before is no news."""
    notice: str
    """Digest of the NoticeBody object that the model is shown."""
    has_ended: bool = False


class TaskInput(Contract):
    """Start of a task's own workflow, or of its next Temporal run."""

    session: str
    host: str
    context: str
    """Digest of the session's SessionContext object."""
    task: Task
    told: int = 0
    """Words told so far."""
    offset: int = 0
    """Bytes of output that were told so far."""


class WatchRequest(Contract):
    """Watch a task until it has something to tell."""

    session: str
    context: str
    task: Task
    offset: int = 0
    """Bytes of output that were told before."""
    number: int = 1
    """Of the word that this makes."""
    by: str = ""
    """Who asked for its end, and how; empty when its session did."""


class Watched(Contract):
    """What there is to tell of a task."""

    notice: str = ""
    """Digest of the NoticeBody object."""
    offset: int = 0
    has_ended: bool = False


class TaskResult(Contract):
    """What a task's workflow leaves."""

    task: str
    told: int = 0
    was_taken: bool = True
    """Whether its session was there to hear of its end."""
