"""Tree kill: who descends from a process, who carries a tag, and how all of them are ended."""

from __future__ import annotations

import os
import time

TYPE_CHECKING = False
if TYPE_CHECKING:
    import signal
    from collections.abc import Callable, Iterable
else:
    import _signal as signal  # the wrapper around it costs the runner 4 ms

TICK = 0.01
"""Seconds between two looks while processes are being ended."""


class Process:
    """One process as /proc shows it: pid, parent, session, start time in ticks since boot."""

    __slots__ = ("parent", "pid", "session", "started")

    def __init__(self, pid: int, parent: int, session: int, started: int) -> None:
        self.pid = pid
        self.parent = parent
        self.session = session
        self.started = started


def read_process(pid: int) -> Process | None:
    """A living process; None when it is gone or only waits to be collected."""
    raw = read_proc(f"/proc/{pid}/stat")
    # The name in parentheses may itself hold parentheses and blanks.
    fields = raw[raw.rfind(b")") + 2 :].split()
    if len(fields) < 20 or fields[0] in {b"Z", b"X"}:
        return None
    return Process(pid, int(fields[1]), int(fields[3]), int(fields[19]))


def read_proc(path: str) -> bytes:
    """The whole of a small file under /proc; empty when it is not to be had."""
    try:
        descriptor = os.open(path, os.O_RDONLY)
    except OSError:
        return b""
    parts = []
    try:
        while part := os.read(descriptor, 65536):
            parts.append(part)
    except OSError:
        pass
    finally:
        os.close(descriptor)
    return b"".join(parts)


def boot_id() -> str:
    """What tells this run of the machine from the one before a restart; empty where the system does not say."""
    return read_proc("/proc/sys/kernel/random/boot_id").decode("ascii", "replace").strip()


def start_time(pid: int) -> int:
    """When a process started, in ticks since boot; 0 when it is gone or the system does not say (macOS)."""
    process = read_process(pid)
    return process.started if process else 0


def is_same(pid: int, started: int) -> bool:
    """Whether this pid still means the process that had it then."""
    return pid > 0 and started > 0 and start_time(pid) == started


def all_processes() -> list[Process]:
    """Every living process of this machine, our own included; none on macOS."""
    try:
        names = os.listdir("/proc")
    except OSError:
        return []
    found = (read_process(int(name)) for name in names if name.isdigit())
    return [process for process in found if process is not None]


def below(roots: Iterable[int], among: list[Process]) -> list[Process]:
    """All descendants of some processes, themselves not included."""
    children: dict[int, list[Process]] = {}
    for process in among:
        children.setdefault(process.parent, []).append(process)
    found: dict[int, Process] = {}
    waiting = list(roots)
    while waiting:
        for child in children.get(waiting.pop(), ()):
            if child.pid not in found:
                found[child.pid] = child
                waiting.append(child.pid)
    return list(found.values())


def descendants(root: int) -> list[Process]:
    """All living descendants of one process."""
    return below([root], all_processes())


def carries(process: Process, tag: bytes) -> bool:
    """Whether a process was started with this NAME=VALUE in its environment."""
    environment = read_proc(f"/proc/{process.pid}/environ")
    return tag in environment.split(b"\0")


def send(process: Process, number: int) -> None:
    """Signal a process, unless it is gone or not ours to signal."""
    try:
        os.kill(process.pid, number)
    except (ProcessLookupError, PermissionError):
        return


def ask_to_end(processes: list[Process]) -> None:
    """TERM, and CONT so that a stopped process hears it."""
    for process in processes:
        send(process, signal.SIGTERM)
        send(process, signal.SIGCONT)


def end_all(find: Callable[[], list[Process]], grace: float, limit: float) -> tuple[int, ...]:
    """TERM all that `find` finds, KILL after `grace` seconds until none is left; gives pids that outlive `limit`."""
    began = time.monotonic()
    left = find()
    ask_to_end(left)
    while left and time.monotonic() - began < limit:
        if time.monotonic() - began >= grace:
            for process in left:
                send(process, signal.SIGKILL)
        time.sleep(TICK)
        left = find()
    return tuple(process.pid for process in left)
