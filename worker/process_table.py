"""Which process is this, and does it still live? A pid alone does not tell: it is used again."""

import os
import signal
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path

_PROC = Path("/proc")
_HAS_PROC = (_PROC / "self" / "stat").exists()


@dataclass(frozen=True, slots=True)
class Identity:
    """A process beyond doubt: its pid and the moment it started, as the system marks it."""

    pid: int = 0
    start_mark: str = ""
    """Clock ticks since boot on Linux, seconds since 1970 elsewhere; empty when unknown."""

    @property
    def is_alive(self) -> bool:
        """Whether this very process still runs (a zombie does not)."""
        return self.pid > 0 and self.start_mark != "" and start_mark(self.pid) == self.start_mark


NOBODY = Identity()
"""No process at all."""


@dataclass(frozen=True, slots=True)
class Running:
    """One running process as the system lists it."""

    identity: Identity
    arguments: tuple[str, ...]
    environment: dict[str, str]
    parent: int = 0
    """Pid of its parent."""


@cache
def boot_id() -> str:
    """An id of this boot of the machine, empty where the system gives none."""
    try:
        return (_PROC / "sys/kernel/random/boot_id").read_text().strip()
    except OSError:
        return ""


def identify(pid: int) -> Identity:
    """The identity of the process that has this pid now."""
    return Identity(pid, start_mark(pid))


def start_mark(pid: int) -> str:
    """When the process started, as an exact mark; empty when none runs under this pid."""
    return _mark_from_proc(pid) if _HAS_PROC else _mark_from_psutil(pid)


def running() -> Iterator[Running]:
    """Every process whose arguments and environment this user may read, but for the asking one."""
    found = _list_proc() if _HAS_PROC else _list_psutil()
    return (process for process in found if process.identity.pid != os.getpid())


def end_all(identities: list[Identity], grace_s: float) -> None:
    """TERM each process, wait up to `grace_s` seconds for all of them, KILL the rest; returns when none lives."""
    _signal(identities, signal.SIGTERM)
    if not wait_until(lambda: not any(one.is_alive for one in identities), grace_s):
        _signal(identities, signal.SIGKILL)
        wait_until(lambda: not any(one.is_alive for one in identities), 5.0)


def wait_until(holds: Callable[[], bool], seconds: float, pause_s: float = 0.02) -> bool:
    """Whether `holds` came true within that time."""
    deadline = time.monotonic() + seconds
    while not holds():
        if time.monotonic() >= deadline:
            return False
        time.sleep(pause_s)
    return True


def _signal(identities: list[Identity], number: signal.Signals) -> None:
    for one in identities:
        if one.is_alive:
            with suppress(ProcessLookupError):
                os.kill(one.pid, number)


def _mark_from_proc(pid: int) -> str:
    fields = _stat(pid)
    return "" if fields[0] in "ZX" else fields[19]


def _stat(pid: int) -> list[str]:
    """What the system says of a process from its state on; only a dead state when it is gone."""
    try:
        stat = (_PROC / str(pid) / "stat").read_text(errors="replace")
    except OSError:
        return ["X", "0"]
    # The name stands in brackets and may hold anything, brackets too: the fixed fields follow the last one.
    return stat.rpartition(")")[2].split()


def _mark_from_psutil(pid: int) -> str:
    import psutil

    try:
        process = psutil.Process(pid)
        return "" if process.status() == psutil.STATUS_ZOMBIE else f"{process.create_time():.2f}"
    except psutil.Error:
        return ""


def _list_proc() -> Iterator[Running]:
    for entry in _PROC.iterdir():
        if not entry.name.isdigit():
            continue
        try:
            arguments = (entry / "cmdline").read_bytes()
            environment = (entry / "environ").read_bytes()
        except OSError:
            continue
        words = tuple(os.fsdecode(word) for word in arguments.split(b"\0")[:-1])
        pairs = (os.fsdecode(pair).partition("=") for pair in environment.split(b"\0") if pair)
        pid = int(entry.name)
        yield Running(identify(pid), words, {name: value for name, _, value in pairs}, int(_stat(pid)[1]))


def _list_psutil() -> Iterator[Running]:
    import psutil

    for process in psutil.process_iter(["cmdline", "environ", "ppid"]):
        arguments, environment = process.info["cmdline"], process.info["environ"]
        if arguments and environment:
            parent = process.info["ppid"] or 0
            yield Running(identify(process.pid), tuple(arguments), dict(environment), parent)
