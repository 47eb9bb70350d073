"""What a command asks of a Temporal server, whatever it speaks, and how the answer can be none."""

from dataclasses import dataclass
from typing import Any, Protocol

from workflows.contracts.ids import session_of

Json = dict[str, Any]  # Any: JSON as the server gives it; contracts read it

SESSION_TYPE = "SessionWorkflow"
RUNNING = "running"
ENDED_WORDS = {
    "COMPLETED": "closed",
    "FAILED": "failed",
    "CANCELED": "cancelled",
    "TERMINATED": "terminated",
    "TIMED_OUT": "timed out",
}
"""How the server calls the end of a workflow, and what lists show."""


class LineError(Exception):
    """The root of what can go wrong between a command and the server."""


class NotThere(LineError):
    """The server knows no such workflow."""


class Ended(LineError):
    """The workflow has ended."""


class AlreadyThere(LineError):
    """A workflow of that id runs, or ran."""


class Refused(LineError):
    """The session said no, in a sentence for the person."""


class Late(LineError):
    """No answer in time: it may still be taken."""


class Silent(LineError):
    """The server cannot be reached, or does not answer as one."""


@dataclass(frozen=True, slots=True)
class Listed:
    """One session as the server lists it."""

    session: str
    title: str
    state: str
    """running, waiting, idle, or how it ended: closed, failed, cancelled, terminated."""
    folder: str
    cost: float
    """US dollars, as far as prices are known."""
    started: str
    """ISO 8601 UTC."""
    closed: str
    """Empty while it lives."""
    model: str
    host: str
    host_name: str
    store: str
    run: str
    """Temporal's id of its newest run."""

    @property
    def is_open(self) -> bool:
        """Whether it still takes prompts."""
        return not self.closed


@dataclass(frozen=True, slots=True)
class Start:
    """A session workflow to be started."""

    workflow: str
    request: str
    """Starting twice with the same id is starting once."""
    queue: str
    given: Json
    memo: Json
    attributes: dict[str, str | float]
    """Search attributes; empty where the server lacks them."""


class Line(Protocol):
    """A way to a Temporal server. Every call raises LineError."""

    async def start(self, start: Start) -> None:
        """Start a session workflow; AlreadyThere when the id was ever used."""

    async def update(self, workflow: str, name: str, request: str, given: Json, seconds: float) -> Json:
        """Have an update taken and its answer; Refused by the validator, Late after those seconds."""

    async def query(self, workflow: str, name: str, seconds: float) -> Json:
        """The answer of a query; Late when no worker gives one."""

    async def describe(self, workflow: str) -> Listed:
        """One session as lists show it."""

    async def sessions(self, query: str, most: int) -> list[Listed]:
        """Sessions that Temporal's list filter names, newest first."""

    async def result(self, workflow: str, seconds: float) -> Json:
        """What the ended workflow gave; Late while it runs, Refused with its message when it failed."""

    async def cancel(self, workflow: str, reason: str) -> None:
        """Ask for its end, and say why; Ended or NotThere when there is none to be had."""

    async def attributes(self) -> frozenset[str]:
        """Names of the search attributes that the server knows."""


def as_listed(workflow: str, run: str, times: tuple[str, str], status: str, fields: Json) -> Listed:
    """A listed session from what every line knows: start and end, status such as `RUNNING`, memo and attributes."""
    is_running = status == "RUNNING"
    state = str(fields.get("PerdureState") or fields.get("state") or RUNNING)
    cost = fields.get("PerdureCost")
    return Listed(
        session=session_of(workflow),
        title=str(fields.get("title") or fields.get("PerdureTitle") or ""),
        state=state if is_running else ENDED_WORDS.get(status, status.lower()),
        folder=str(fields.get("folder") or fields.get("PerdureFolder") or ""),
        cost=float(cost) if cost is not None else float(fields.get("cost") or 0) / 1_000_000,
        started=str(fields.get("started") or times[0]),
        closed="" if is_running else times[1] or times[0],
        model=str(fields.get("model") or ""),
        host=str(fields.get("host") or ""),
        host_name=str(fields.get("host_name") or ""),
        store=str(fields.get("store") or ""),
        run=run,
    )
