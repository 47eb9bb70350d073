"""Claim: who may start a call's command. The name `started` is taken once; its lock is held for as long as it runs."""

import fcntl
import os
import time

from activities.processes.lean import dump_json, parse_json
from activities.processes.tree import boot_id

NAME = "started"


def fsync_folder(folder: str) -> None:
    """Make the names in a folder survive a power cut."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def write_all(descriptor: int, data: bytes) -> None:
    """Write every byte, however often the system takes only some."""
    view = memoryview(data)
    while view:
        view = view[os.write(descriptor, view) :]


def take(folder: str, facts: dict[str, object]) -> int | None:
    """Take the name with these facts; gives the locked descriptor, or None when somebody was first."""
    private = f"{folder}/{NAME}.{os.getpid()}.{time.time_ns()}"
    descriptor = os.open(private, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    try:
        # Locked before it has its name: nobody ever sees `started` of a living runner unlocked.
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        write_all(descriptor, (dump_json({**facts, "boot": boot_id(), "at": time.time()}) + "\n").encode("ascii"))
        os.fsync(descriptor)
        os.link(private, f"{folder}/{NAME}")
        fsync_folder(folder)
    except FileExistsError:
        os.close(descriptor)
        return None
    finally:
        os.unlink(private)
    return descriptor


def prevent(folder: str) -> bool:
    """Take the name so that nothing is ever started here; false when something was."""
    descriptor = take(folder, {"prevented": True})
    if descriptor is None:
        return False
    os.close(descriptor)
    return True


def is_taken(folder: str) -> bool:
    """Whether something was started here, or kept from being started."""
    return os.path.exists(f"{folder}/{NAME}")


def is_held(folder: str) -> bool:
    """Whether the runner that took the name is alive."""
    try:
        descriptor = os.open(f"{folder}/{NAME}", os.O_RDONLY)
    except FileNotFoundError:
        return False
    try:
        # Shared, so that two who look at once do not take each other for the runner.
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    finally:
        os.close(descriptor)
    return False


def facts_of(folder: str) -> dict[str, object]:
    """What the runner wrote when it took the name; empty when there is none or it is damaged."""
    try:
        with open(f"{folder}/{NAME}", "rb") as file:
            return parse_json(file.read().decode("ascii"))
    except (OSError, ValueError):
        return {}


def number(facts: dict[str, object], name: str) -> int:
    """A number among the facts; 0 when it is missing."""
    value = facts.get(name)
    return value if isinstance(value, int) else 0
