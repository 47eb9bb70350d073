"""A worker that polls nothing: it announces itself as the real one does, notes what it sees, and sleeps."""

import sys
from contextlib import suppress

from activities.stores.home import Home
from worker import engine
from worker.engine_state import DamagedState, read_state
from worker.process_table import end_all, running

_CODE = """
import os, time
from activities.stores.home import Home
from worker.health import announce_ready, worker_lock
home = Home.from_environment()
with worker_lock(home):
    seen = home.root / "seen"
    seen.mkdir(exist_ok=True)
    (seen / "folder").write_text(os.getcwd())
    (seen / "engine").write_text(os.environ.get("PERDURE_ENGINE", ""))
    (seen / "temporal").write_text(",".join(name for name in os.environ if name.startswith("TEMPORAL_")))
    announce_ready(home, "sleeper")
    time.sleep(600)
"""
WORKER = (sys.executable, "-I", "-c", _CODE)
KEPT_WORKER = (
    sys.executable,
    "-I",
    "-c",
    f"import os\nif os.fork():\n    os._exit(os.waitpid(-1, 0)[1] and 1)\n{_CODE}",
)
"""The same in the child of a process that waits for it, as the real one is."""


def processes_of(home: Home) -> list[tuple[str, ...]]:
    """The command lines of all processes that were started for this home."""
    root = str(home.root)
    return [one.arguments for one in running() if one.environment.get("PERDURE_HOME") == root]


def end_engine(home: Home) -> None:
    """Leave nothing of a test's engine; quicker than an orderly `down`, which the server takes 1.5 s for."""
    if home.engine.is_dir():
        with suppress(DamagedState):
            state = read_state(home)
            end_all([state.supervisor.identity, state.server.identity, state.worker.identity], grace_s=0.0)
        engine.down(home)
    assert processes_of(home) == []
