"""The embedded server and worker as supervised background processes: up, down, status."""

import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace

from activities.stores.home import Home
from worker import server_api
from worker.engine_plan import SUPERVISOR_WORDS, WORKER_COMMAND, Plan, is_part_of_engine, supervisor_lock_path
from worker.engine_state import (
    DamagedState,
    EngineState,
    PartState,
    database_path,
    is_locked,
    keep_aside,
    locked,
    log_path,
    read_state,
    rotate,
    state_path,
    write_state,
)
from worker.health import read_health
from worker.process_table import Identity, end_all, running, wait_until
from worker.server_command import find_program, sync_from
from workflows.contracts.errors import EngineUnreachable, UserError

__all__ = [
    "EngineState",
    "EngineStatus",
    "Home",
    "PartStatus",
    "disk_trouble",
    "down",
    "ensure_up",
    "http_base",
    "status",
    "wait_for_worker",
]

START_LIMIT_S = 30.0
STOP_LIMIT_S = 30.0
LEAST_FREE_BYTES = 32_000_000
HOPELESSLY_FREE_BYTES = 1_000_000
"""Below this a server that does not answer is taken to wait for space."""
# A server that failed this often at its start will not come by waiting.
HOPELESS_AFTER_FAILURES = 3
_DAMAGE_WORDS = ("not a database", "malformed")
_FULL_WORDS = ("no space left", "disk is full")


@dataclass(frozen=True, slots=True)
class PartStatus:
    """One process of the engine as it is now."""

    pid: int
    """0 when it does not run."""
    uptime_s: float
    restarts: int
    last_error: str
    log: str


@dataclass(frozen=True, slots=True)
class EngineStatus:
    """What runs of the embedded engine, and what a person needs to reach it."""

    home: str
    is_serving: bool
    """The server answers, and its supervisor lives."""
    is_polling: bool
    """The worker lives and has said that it polls."""
    address: str
    http_url: str
    ui_url: str
    sync: str
    database_bytes: int
    supervisor: PartStatus
    server: PartStatus
    worker: PartStatus
    notices: tuple[str, ...]
    failing_sessions: tuple[str, ...] = ()
    """Workflows whose tasks fail again and again."""


def ensure_up(home: Home, worker_command: tuple[str, ...] = WORKER_COMMAND) -> EngineState:
    """Have the server of this home serve, starting what is not there; EngineUnreachable says why it cannot.

    The worker comes a second or two later: `wait_for_worker`. Any number of processes may call this at once.
    """
    state = _serving_state(home)
    if state is not None:
        return state
    sync, _program = sync_from(os.environ), find_program()
    home.ensure()
    _check_free_space(home)
    with _sole_changer(home):
        if not is_locked(supervisor_lock_path(home)):
            _start_supervisor(Plan(home, worker_command, sync))
        return _wait_until_serving(home)


def wait_for_worker(home: Home, seconds: float) -> bool:
    """Whether the worker of this home polls, at the latest after that time; sooner when it fails again and again."""

    def is_settled() -> bool:
        return read_health(home).is_polling or _readable_state(home).worker.failures >= HOPELESS_AFTER_FAILURES

    wait_until(is_settled, seconds)
    return read_health(home).is_polling


def down(
    home: Home,
    before_end: Iterable[Callable[[Home], None]] = (),
    after_end: Iterable[Callable[[Home], None]] = (),
) -> tuple[int, ...]:
    """End everything of this home's engine; the pids that were ended, none when nothing ran.

    `before_end` are called while server and worker still run, `after_end` when both are gone: both are for the
    commands that outlive a worker.
    """
    if not home.engine.is_dir():
        return ()
    with _sole_changer(home):
        state = _readable_state(home)
        parts = _parts(home, state)
        try:
            _call(before_end, home)
        finally:
            # The supervisor first: it ends the others in order, and would start them again if they went before it.
            end_all([one for one in parts if one.pid == state.supervisor.pid], STOP_LIMIT_S)
            end_all(_parts(home, state), grace_s=10.0)
        _call(after_end, home)
        if state_path(home).exists():
            # On a full disk the old file stays: that its processes are gone is seen at the next look.
            with suppress(UserError):
                _forget_processes(home)
        return tuple(process.pid for process in parts)


def _polls(home: Home, worker: Identity) -> bool:
    """Whether the supervisor's worker, or the one that it keeps, has said so of itself."""
    health = read_health(home)
    return health.is_polling and worker in {health.process, health.keeper}


def status(home: Home) -> EngineStatus:
    """What runs now; asks the server, changes nothing."""
    state = _readable_state(home)
    answers = state.ports.http > 0 and state.is_supervised and server_api.is_serving(state.ports.http)
    worker_runs = state.worker.identity.is_alive
    database = database_path(home)
    return EngineStatus(
        home=str(home.root),
        is_serving=answers and state.is_serving,
        is_polling=worker_runs and _polls(home, state.worker.identity),
        address=state.address,
        http_url=http_base(state),
        ui_url=state.ui_url,
        sync=state.sync,
        database_bytes=database.stat().st_size if database.exists() else 0,
        supervisor=_part_status(home, "supervisor", state.supervisor),
        server=_part_status(home, "server", state.server),
        worker=_part_status(home, "worker", state.worker),
        notices=state.notices,
        failing_sessions=_failing(state) if answers else (),
    )


def http_base(state: EngineState) -> str:
    """Where the server's HTTP API answers, such as `http://127.0.0.1:24001/api/v1`."""
    return server_api.base_url(state.ports.http)


def _call(hooks: Iterable[Callable[[Home], None]], home: Home) -> None:
    for hook in hooks:
        hook(home)


def _serving_state(home: Home) -> EngineState | None:
    """The state, if all of it is up right now."""
    try:
        state = read_state(home)
    except DamagedState:
        return None
    if state.is_serving and state.is_supervised and server_api.is_serving(state.ports.http):
        return state
    return None


def _readable_state(home: Home) -> EngineState:
    try:
        return read_state(home)
    except DamagedState as damage:
        return EngineState().with_notice(str(damage))


@contextmanager
def _sole_changer(home: Home) -> Iterator[None]:
    """Be the only process that starts or ends this home's engine."""
    try:
        with locked(home.engine / "up.lock", START_LIMIT_S + STOP_LIMIT_S):
            yield
    except TimeoutError as error:
        raise EngineUnreachable(
            f"Another perdure has been starting or ending the engine of {home.root} for a minute: repeat, or see "
            f"{log_path(home, 'supervisor')}."
        ) from error


def disk_trouble(home: Home, least: int = HOPELESSLY_FREE_BYTES) -> str:
    """The line for a disk with fewer free bytes than these, empty for one with more."""
    try:
        free = shutil.disk_usage(home.root).free
    except OSError:
        return ""
    if free >= least:
        return ""
    return f"The disk of {home.root} is full ({free // 1_000_000} MB free): free some space, or set PERDURE_HOME."


def _check_free_space(home: Home) -> None:
    if trouble := disk_trouble(home, LEAST_FREE_BYTES):
        raise EngineUnreachable(trouble, reason="disk_full")


def _start_supervisor(plan: Plan) -> None:
    home = plan.home
    log = log_path(home, "supervisor")
    rotate(log)
    descriptor = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    try:
        subprocess.run(
            [sys.executable, *SUPERVISOR_WORDS, plan.to_argument()],
            stdin=subprocess.DEVNULL,
            stdout=descriptor,
            stderr=descriptor,
            cwd=home.root,
            env=os.environ | {"PERDURE_HOME": str(home.root)},
            start_new_session=True,
            check=True,
        )
    except (OSError, subprocess.CalledProcessError) as error:
        raise EngineUnreachable(f"The engine's supervisor could not be started: {error}. See {log}.") from error
    finally:
        os.close(descriptor)


def _wait_until_serving(home: Home) -> EngineState:
    deadline = time.monotonic() + START_LIMIT_S
    seen_at = time.monotonic()
    while time.monotonic() < deadline:
        state = _serving_state(home)
        if state is not None:
            return state
        if is_locked(supervisor_lock_path(home)):
            seen_at = time.monotonic()
            _give_up_if_hopeless(home)
        elif time.monotonic() - seen_at > 3.0:
            raise EngineUnreachable(f"The engine's supervisor ended at once: see {log_path(home, 'supervisor')}.")
        time.sleep(0.02)
    raise EngineUnreachable(f"The server did not serve within {START_LIMIT_S:.0f} s: see {log_path(home, 'server')}.")


def _give_up_if_hopeless(home: Home) -> None:
    """Say why the server does not start, and leave nothing behind that goes on trying."""
    state = _readable_state(home)
    failures, error = state.server.failures, state.server.last_error
    if state.is_serving or not state.is_supervised or failures == 0:
        return
    known = _explain(home, error)
    if known is None and failures < HOPELESS_AFTER_FAILURES:
        return
    end_all([state.supervisor.identity], STOP_LIMIT_S)
    end_all(_parts(home, state), grace_s=1.0)
    raise known or EngineUnreachable(f"The server does not start: {error}. See {log_path(home, 'server')}.")


def _explain(home: Home, error: str) -> EngineUnreachable | None:
    """The line for a failure that is known and that waiting does not cure."""
    words = error.lower()
    database = database_path(home)
    if any(word in words for word in _DAMAGE_WORDS):
        return EngineUnreachable(
            f"The engine's database {database} is damaged. Restore it, or move it and the files {database.name}-* away "
            "to begin with an empty engine; transcripts stay in the object store.",
            reason="database_damaged",
        )
    if any(word in words for word in _FULL_WORDS):
        return EngineUnreachable(
            f"The disk of {home.root} is full: free some space, or set PERDURE_HOME.", reason="disk_full"
        )
    return None


def _parts(home: Home, state: EngineState) -> list[Identity]:
    """Every process of this home's engine: those written down, and those found by their command lines."""
    written = [state.supervisor.identity, state.server.identity, state.worker.identity]
    command = state.worker.command or WORKER_COMMAND
    found = [process.identity for process in running() if is_part_of_engine(process, home, command)]
    return [*dict.fromkeys([*(one for one in written if one.is_alive), *found])]


def _forget_processes(home: Home) -> None:
    """Leave a state file that names no process; a damaged one is kept aside, not lost."""
    try:
        state = read_state(home)
    except DamagedState:
        keep_aside(state_path(home))
        return
    write_state(
        home,
        replace(state, is_serving=False, supervisor=PartState(), server=PartState(), worker=PartState()),
    )


def _part_status(home: Home, name: str, part: PartState) -> PartStatus:
    runs = part.identity.is_alive
    return PartStatus(
        pid=part.pid if runs else 0,
        uptime_s=max(0.0, time.time() - part.since) if runs else 0.0,
        restarts=part.restarts,
        last_error=part.last_error,
        log=str(log_path(home, name)),
    )


def _failing(state: EngineState) -> tuple[str, ...]:
    try:
        return server_api.failing_sessions(state.ports.http)
    except server_api.ServerSilent:
        return ()
