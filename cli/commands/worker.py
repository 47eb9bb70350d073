"""perdure worker: a worker in the foreground, for a fleet."""

import os
import sys

from worker.engine import Home


def worker() -> None:
    """Run a worker in the foreground until it is told to stop (SIGTERM, Ctrl-C).

    TEMPORAL_ADDRESS or a client profile names the server, PERDURE_STORE the object store that all workers and
    commands share, ANTHROPIC_API_KEY the key. The embedded engine has a worker of its own: `perdure up`.
    """
    home = Home.from_environment()
    home.ensure()
    # -I and another folder than the person's: a folder of theirs may hold a `worker/` of its own.
    os.chdir(home.root)
    environment = {**os.environ, "PERDURE_HOME": str(home.root)}
    sys.stdout.flush()
    os.execve(sys.executable, [sys.executable, "-I", "-m", "worker"], environment)
