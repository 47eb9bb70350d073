"""The table of activities: name, in, out, timeout, retries."""

from dataclasses import dataclass
from datetime import timedelta
from typing import Generic, TypeVar

from workflows.contracts.contract import Contract
from workflows.contracts.extensions import HookDone, HookMoment
from workflows.contracts.model import ModelReply, ModelRequest
from workflows.contracts.session_steps import Archived, ArchiveRequest, Opened, OpenRequest, Settled, SettleRequest
from workflows.contracts.tasks import Watched, WatchRequest
from workflows.contracts.tools import EndRequest, ToolDone, ToolRequest

In = TypeVar("In", bound=Contract)
Out = TypeVar("Out", bound=Contract)

PAYLOAD_LIMIT = 64 * 1024
"""Most bytes of one activity input or result (design §3)."""


@dataclass(frozen=True)
class ActivitySpec(Generic[In, Out]):
    """One kind of activity; both sides read here how it is called."""

    name: str
    takes: type[In]
    gives: type[Out]
    timeout: timedelta | None
    """Start to close of one attempt; None for no limit."""
    heartbeat: timedelta | None = None
    attempts: int = 5
    """Finite; 0 for no limit."""
    first_retry: timedelta = timedelta(milliseconds=500)
    longest_retry: timedelta = timedelta(seconds=32)
    on_host: bool = False
    """Needs the session's host: its files and processes."""
    watches: bool = False
    """Waits for what goes on without it: it beats seldom, and a worker that stops leaves it to the next one at once."""


_SLOW_BEAT = timedelta(seconds=10)
"""Most silence of a step that is short: a worker that dies in it is missed so soon, not after the whole time-out."""

OPEN = ActivitySpec(
    "open_session", OpenRequest, Opened, timeout=timedelta(minutes=2), heartbeat=_SLOW_BEAT, on_host=True
)
ASK_MODEL = ActivitySpec(
    "ask_model",
    ModelRequest,
    ModelReply,
    timeout=timedelta(hours=2),
    heartbeat=timedelta(seconds=5),
    attempts=10,
)
RUN_TOOL = ActivitySpec(
    "run_tool",
    ToolRequest,
    ToolDone,
    timeout=timedelta(hours=1),
    heartbeat=timedelta(seconds=5),
    attempts=20,
    longest_retry=timedelta(seconds=5),
    on_host=True,
)
END_CALL = ActivitySpec(
    "end_call",
    EndRequest,
    ToolDone,
    timeout=timedelta(minutes=2),
    heartbeat=_SLOW_BEAT,
    attempts=0,
    on_host=True,
)
SETTLE = ActivitySpec("settle", SettleRequest, Settled, timeout=timedelta(minutes=2), heartbeat=_SLOW_BEAT, attempts=0)
ARCHIVE = ActivitySpec(
    "archive_history", ArchiveRequest, Archived, timeout=timedelta(minutes=5), heartbeat=_SLOW_BEAT, attempts=0
)
WATCH_TASK = ActivitySpec(
    "watch_task",
    WatchRequest,
    Watched,
    watches=True,
    timeout=timedelta(days=30),
    heartbeat=_SLOW_BEAT,
    attempts=0,
    longest_retry=timedelta(seconds=5),
    on_host=True,
)
END_TASK = ActivitySpec(
    "end_task", WatchRequest, Watched, timeout=timedelta(minutes=2), heartbeat=_SLOW_BEAT, attempts=0, on_host=True
)
RUN_HOOKS = ActivitySpec(
    "run_hooks",
    HookMoment,
    HookDone,
    timeout=timedelta(hours=1),
    heartbeat=timedelta(seconds=5),
    attempts=20,
    longest_retry=timedelta(seconds=5),
    on_host=True,
)

SPECS = (OPEN, ASK_MODEL, RUN_TOOL, END_CALL, SETTLE, ARCHIVE, RUN_HOOKS, WATCH_TASK, END_TASK)
"""Every activity; each is bound to one function in `activities/catalog.py`."""
