"""What is known of the embedded engine between commands: engine/engine.json, its folders and its locks."""

import errno
import fcntl
import json
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from activities.stores.files import write_atomic
from activities.stores.home import Home
from worker.process_table import Identity, boot_id

ROTATE_AT_BYTES = 5_000_000
KEPT_NOTICES = 5


class DamagedState(Exception):
    """engine.json is there, and what it holds is not an engine's state."""


@dataclass(frozen=True, slots=True)
class Ports:
    """Where the embedded server listens, on loopback; 0 is not chosen yet."""

    grpc: int = 0
    http: int = 0
    ui: int = 0


@dataclass(frozen=True, slots=True)
class PartState:
    """One process of the engine: who it is, since when, how often it had to be started again."""

    pid: int = 0
    start_mark: str = ""
    since: float = 0.0
    """Seconds since 1970 when it was started."""
    restarts: int = 0
    failures: int = 0
    """How often in a row it ended before it was well; 0 while it is."""
    last_error: str = ""
    command: tuple[str, ...] = ()

    @property
    def identity(self) -> Identity:
        """The process this state speaks of."""
        return Identity(self.pid, self.start_mark)


@dataclass(frozen=True, slots=True)
class EngineState:
    """The embedded engine as its supervisor last wrote it down."""

    ports: Ports = Ports()
    boot_id: str = ""
    is_serving: bool = False
    sync: str = "full"
    supervisor: PartState = PartState()
    server: PartState = PartState()
    worker: PartState = PartState()
    notices: tuple[str, ...] = field(default=())
    """What a person should know, newest last, such as a port that had to change."""

    @property
    def address(self) -> str:
        """Host and port of the gRPC API."""
        return f"127.0.0.1:{self.ports.grpc}"

    @property
    def ui_url(self) -> str:
        """Where Temporal's own UI answers."""
        return f"http://127.0.0.1:{self.ports.ui}"

    @property
    def is_supervised(self) -> bool:
        """Whether the supervisor that wrote this lives."""
        return self.supervisor.identity.is_alive

    def with_notice(self, notice: str) -> "EngineState":
        """The same state with one more thing to tell, the oldest dropped."""
        return replace(self, notices=(*self.notices, notice)[-KEPT_NOTICES:])


def state_path(home: Home) -> Path:
    """The engine's state file."""
    return home.engine / "engine.json"


def database_path(home: Home) -> Path:
    """The server's database."""
    return home.engine / "temporal.db"


def log_path(home: Home, part: str) -> Path:
    """The log of `server`, `worker` or `supervisor`."""
    return home.logs / f"{part}.log"


def read_state(home: Home) -> EngineState:
    """The state on disk, a blank one when there is none; DamagedState when it cannot be read as one."""
    try:
        content = state_path(home).read_bytes()
    except FileNotFoundError:
        return EngineState()
    except OSError as error:
        raise DamagedState(str(error)) from error
    try:
        state = _parse(json.loads(content))
    except (ValueError, TypeError, KeyError, AttributeError) as error:
        raise DamagedState(f"{state_path(home)} is damaged") from error
    return state if state.boot_id == boot_id() else _after_reboot(state)


def write_state(home: Home, state: EngineState) -> None:
    """Replace the state file in one step; UserError when the disk refuses."""
    write_atomic(state_path(home), json.dumps(asdict(state), indent=1).encode())


def keep_aside(path: Path) -> Path:
    """Move a damaged file out of the way, losing nothing; gives its new name."""
    kept = path.with_name(f"{path.name}.damaged-{time.strftime('%Y%m%d-%H%M%S')}-{os.getpid()}")
    path.replace(kept)
    return kept


def rotate(path: Path) -> None:
    """Begin a new log when the old one has grown large; one older log is kept."""
    if path.exists() and path.stat().st_size > ROTATE_AT_BYTES:
        path.replace(path.with_name(f"{path.name}.1"))


@contextmanager
def locked(path: Path, wait_s: float) -> Iterator[None]:
    """Hold the lock of that file between processes; TimeoutError when another keeps it longer than that."""
    descriptor = take_lock(path, wait_s)
    try:
        yield
    finally:
        os.close(descriptor)


def take_lock(path: Path, wait_s: float) -> int:
    """Lock the file and give its descriptor: closing it, or dying, lets go; TimeoutError after `wait_s` seconds."""
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
    deadline = time.monotonic() + wait_s
    while True:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return descriptor
        except OSError as error:
            if error.errno not in (errno.EWOULDBLOCK, errno.EACCES) or time.monotonic() >= deadline:
                os.close(descriptor)
                raise TimeoutError(f"{path} is locked by another process") from error
        time.sleep(0.02)


def is_locked(path: Path) -> bool:
    """Whether some process holds the lock of that file now."""
    try:
        os.close(take_lock(path, 0.0))
    except TimeoutError:
        return True
    return False


def _after_reboot(state: EngineState) -> EngineState:
    """Ports are remembered over a reboot, processes are not."""
    return EngineState(ports=state.ports, sync=state.sync)


def _parse(raw: dict[str, Any]) -> EngineState:  # Any: JSON from disk, checked field by field here
    ports = Ports(**{name: _port(raw["ports"][name]) for name in ("grpc", "http", "ui")})
    parts = {name: _part(raw[name]) for name in ("supervisor", "server", "worker")}
    return EngineState(
        ports=ports,
        boot_id=str(raw["boot_id"]),
        is_serving=raw["is_serving"] is True,
        sync=str(raw["sync"]),
        notices=tuple(str(notice) for notice in raw["notices"]),
        **parts,
    )


def _port(value: object) -> int:
    if not isinstance(value, int) or not 0 <= value < 65536:
        raise ValueError(f"no port: {value!r}")
    return value


def _part(raw: dict[str, Any]) -> PartState:  # Any: as above
    return PartState(
        pid=int(raw["pid"]),
        start_mark=str(raw["start_mark"]),
        since=float(raw["since"]),
        restarts=int(raw["restarts"]),
        failures=int(raw["failures"]),
        last_error=str(raw["last_error"]),
        command=tuple(str(word) for word in raw["command"]),
    )
