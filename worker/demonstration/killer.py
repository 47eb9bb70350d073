"""Kill the worker while the session's shell command runs, and tell whoever watches."""

import os
import signal
import time

from activities.events import EventLog, read_events
from activities.stores.home import Home
from worker.health import read_health
from workflows.contracts.events import EVENT, Notice, ToolStarted

_STARTED = "tool_started"
_AFTER = 1.0
"""Seconds that the command has run when the worker dies."""


def kill_in_the_middle(home: Home, session: str, seconds: float) -> int:
    """Wait, at most so long, until Bash runs; then SIGKILL the worker. Its pid; 0 when Bash never ran."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if started := _bash_started(home, session):
            time.sleep(_AFTER)
            return _kill(home, session, started)
        time.sleep(0.05)
    return 0


def _bash_started(home: Home, session: str) -> ToolStarted | None:
    started = (EVENT.validate_python(told) for told in read_events(home.events, session) if told["kind"] == _STARTED)
    return next((event for event in started if isinstance(event, ToolStarted) and event.tool == "Bash"), None)


def _kill(home: Home, session: str, at: ToolStarted) -> int:
    pid = read_health(home).process.pid
    os.kill(pid, signal.SIGKILL)
    text = f"the worker (process {pid}) was killed with SIGKILL while the command runs; another one takes over"
    log = EventLog(home.events, session, home.host().id)
    notice = Notice(what="demo", text=text, turn=at.turn, exchange=at.exchange, attempt=at.attempt)
    log.publish([notice.model_dump(mode="json")])
    log.close()
    return pid
