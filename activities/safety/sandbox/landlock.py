"""Landlock: the rules of tier 2 from the same policy, for the kernel's own calls."""

import ctypes
from pathlib import Path

from activities.safety.sandbox.policy import Kind, Policy

_CREATE, _VERSION = 444, 1

EXECUTE, WRITE_FILE, READ_FILE, READ_FOLDER = 1 << 0, 1 << 1, 1 << 2, 1 << 3
_FIRST = (1 << 13) - 1
"""All access of the first version: also making and removing of every kind of thing."""
REFER, TRUNCATE, IOCTL_DEVICE = 1 << 13, 1 << 14, 1 << 15
_CONNECT, _BIND = 1 << 1, 1 << 0
_ABSTRACT_SOCKETS, _SIGNALS = 1 << 0, 1 << 1

READ = EXECUTE | READ_FILE | READ_FOLDER
_OF_FILES = EXECUTE | WRITE_FILE | READ_FILE | TRUNCATE | IOCTL_DEVICE
_DEVICES = ("/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom", "/dev/tty", "/dev/ptmx", "/dev/pts")
_SHARED_MEMORY = "/dev/shm"  # noqa: S108 - programs make theirs here
MOST_LISTED = 2_000


def version() -> int:
    """The kernel's version of Landlock; 0 for none."""
    found = ctypes.CDLL(None, use_errno=True).syscall(_CREATE, None, 0, _VERSION)
    return max(int(found), 0)


def handled(abi: int) -> tuple[int, int, int]:
    """What is refused unless a rule allows it: access to files, to ports, and what leaves the command's own domain."""
    files = _FIRST | (REFER if abi >= 2 else 0) | (TRUNCATE if abi >= 3 else 0) | (IOCTL_DEVICE if abi >= 5 else 0)
    return files, _CONNECT | _BIND if abi >= 4 else 0, _ABSTRACT_SOCKETS | _SIGNALS if abi >= 6 else 0


def rules(policy: Policy, abi: int) -> tuple[tuple[str, int], ...]:
    """Path and access of each rule: nothing is taken back below an allowed path, so what is hidden is gone around."""
    all_access = handled(abi)[0]
    found: dict[str, int] = {}
    closed = [place.path for place in policy.places if place.kind == Kind.HIDDEN or place.source]
    for path in _around("/", closed):
        _allow(found, path, READ & all_access)
    for place in policy.places:
        if place.kind == Kind.READ:
            _allow(found, place.path, READ & all_access)
        elif place.kind == Kind.WRITE:
            _allow(found, place.source or place.path, all_access)
    for device in (*_DEVICES, _SHARED_MEMORY):
        _allow(found, device, all_access)
    return tuple(found.items())


def _allow(found: dict[str, int], path: str, access: int) -> None:
    if Path(path).exists():
        found[path] = found.get(path, 0) | (access if Path(path).is_dir() else access & _OF_FILES)


def _around(path: str, closed: list[str]) -> list[str]:
    """The largest folders that hold nothing closed."""
    if path in closed:
        return []
    if not any(other.startswith(path.rstrip("/") + "/") for other in closed):
        return [path]
    try:
        children = sorted(child for child in Path(path).iterdir() if not child.is_symlink())
    except OSError:
        return []
    return [found for child in children[:MOST_LISTED] for found in _around(str(child), closed)]
