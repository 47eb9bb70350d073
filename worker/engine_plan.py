"""What the engine is to run, and by which marks its processes are known."""

import json
import sys
from dataclasses import dataclass
from pathlib import Path

from activities.stores.home import Home
from worker.engine_database import draft_path
from worker.engine_state import database_path
from worker.process_table import Running

WORKER_COMMAND = (sys.executable, "-I", "-m", "worker")
SUPERVISOR_WORDS = ("-I", "-m", "worker.supervisor")
EMBEDDED = "PERDURE_ENGINE"
"""Set to `embedded` for the worker: whatever client profiles say, its server is the one beside it."""


@dataclass(frozen=True, slots=True)
class Plan:
    """What one supervisor is to keep running."""

    home: Home
    worker_command: tuple[str, ...] = WORKER_COMMAND
    sync: str = "full"

    def to_argument(self) -> str:
        """The plan as one word of a command line."""
        return json.dumps({"home": str(self.home.root), "worker": self.worker_command, "sync": self.sync})

    @classmethod
    def from_argument(cls, word: str) -> "Plan":
        """The plan that `to_argument` made into this word."""
        raw = json.loads(word)
        return cls(Home(Path(raw["home"])), tuple(raw["worker"]), raw["sync"])


def supervisor_lock_path(home: Home) -> Path:
    """The file that the one supervisor of a home keeps locked."""
    return home.engine / "supervisor.lock"


def is_part_of_engine(process: Running, home: Home, worker_command: tuple[str, ...]) -> bool:
    """Whether this process is this home's server, worker or supervisor, by its own command line and environment.

    An agent's commands inherit the worker's environment, so that alone does not tell.
    """
    if process.environment.get("PERDURE_HOME") != str(home.root):
        return False
    words = process.arguments
    is_server = "start-dev" in words and not {str(database_path(home)), str(draft_path(home))}.isdisjoint(words)
    return is_server or words in (worker_command, WORKER_COMMAND) or words[1:4] == SUPERVISOR_WORDS
