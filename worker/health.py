"""Is this home's worker alive, and does it poll? It says so itself, in engine/worker.json, under a lock of its own."""

import json
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from activities.stores.files import write_atomic
from activities.stores.home import Home
from worker.engine_state import locked
from worker.process_table import NOBODY, Identity, identify
from workflows.contracts.errors import UserError


@dataclass(frozen=True, slots=True)
class WorkerHealth:
    """What the last worker of this home that became ready said of itself, and whether it still lives."""

    process: Identity = NOBODY
    identity: str = ""
    """Its name at the Temporal server, as in the list of pollers."""
    ready_at: float = 0.0
    """Seconds since 1970 when it began to poll."""
    keeper: Identity = NOBODY
    """The process that started it and starts its successor: what a supervisor sees as the worker."""

    @property
    def is_polling(self) -> bool:
        """Whether it announced itself and has not died since."""
        return self.process.is_alive


def worker_lock_path(home: Home) -> Path:
    """The file that a living worker of this home keeps locked."""
    return home.engine / "worker.lock"


@contextmanager
def worker_lock(home: Home, wait_s: float = 2.0) -> Iterator[None]:
    """Be the one worker of this home while inside; UserError when another stays one for `wait_s` seconds."""
    try:
        with locked(worker_lock_path(home), wait_s):
            yield
    except TimeoutError as error:
        raise UserError(
            f"A worker of {home.root} runs already: `perdure status` shows it, `perdure down` ends it.",
            reason="worker_runs",
        ) from error


def announce_ready(home: Home, identity: str = "") -> None:
    """Tell everybody that this process polls now; said again after each start."""
    me = identify(os.getpid())
    keeper = identify(os.getppid())
    told = {
        "pid": me.pid,
        "start_mark": me.start_mark,
        "identity": identity,
        "ready_at": time.time(),
        "keeper": [keeper.pid, keeper.start_mark],
    }
    write_atomic(_announcement(home), json.dumps(told).encode())


def withdraw(home: Home) -> None:
    """Take the announcement back, as the first thing of an orderly shutdown."""
    if read_health(home).process.pid == os.getpid():
        _announcement(home).unlink(missing_ok=True)


def read_health(home: Home) -> WorkerHealth:
    """The last announcement; a blank one when there is none or it cannot be read."""
    try:
        told = json.loads(_announcement(home).read_bytes())
        process = Identity(int(told["pid"]), str(told["start_mark"]))
        pid, mark = told.get("keeper") or (0, "")
        return WorkerHealth(process, str(told["identity"]), float(told["ready_at"]), Identity(int(pid), str(mark)))
    except (OSError, ValueError, TypeError, KeyError, AttributeError):
        return WorkerHealth()


def _announcement(home: Home) -> Path:
    return home.engine / "worker.json"
