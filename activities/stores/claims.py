"""Which task tokens a worker holds: a worker that starts gives back those of a dead one."""

import asyncio
import fcntl
import hashlib
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from activities.stores.files import make_folder

LINGER_S = 1.0
"""Seconds that a note outlives its attempt: a worker may die before its report has reached the engine."""

MOST_WORKFLOWS = 200
"""How many workflows are noted, newest first; a worker keeps about as many in memory."""

_LOCK, _IDENTITY, _WORKFLOW = "lock", "identity", "workflow-"


class Claims:
    """The tokens of one living worker, each a file beside a lock that ends with the worker."""

    def __init__(self, root: Path, identity: str = "") -> None:
        self._folder = root / f"{os.getpid()}-{os.urandom(4).hex()}"
        make_folder(self._folder)
        self._lock = os.open(self._folder / _LOCK, os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o600)
        fcntl.flock(self._lock, fcntl.LOCK_EX)
        (self._folder / _IDENTITY).write_text(identity, encoding="utf-8")
        self._workflows: dict[str, Path] = {}

    @contextmanager
    def held(self, workflow: str, token: bytes) -> Iterator[None]:
        """Note the token while its attempt runs. Losing a note only means a wait for the heartbeat timeout."""
        path = self._folder / _hashed(token)
        self._note_workflow(workflow)
        with suppress(OSError):
            path.write_bytes(workflow.encode() + b"\n" + token)
        try:
            yield
        finally:
            _later(path)

    def _note_workflow(self, workflow: str) -> None:
        """An attempt that the engine has just given out may have no note yet: its workflow is looked at then."""
        path = self._workflows.pop(workflow, None)
        if path is None:
            path = self._folder / f"{_WORKFLOW}{_hashed(workflow.encode())}"
            with suppress(OSError):
                path.write_bytes(workflow.encode())
        self._workflows[workflow] = path
        if len(self._workflows) > MOST_WORKFLOWS:
            _unlink(self._workflows.pop(next(iter(self._workflows))))


@dataclass(frozen=True)
class Abandoned:
    """What a dead worker held."""

    folder: Path
    identity: str
    """The dead worker's name at the engine; empty when it is not known."""
    attempts: tuple[tuple[str, bytes], ...]
    """Workflow id and task token of each attempt that may still run."""
    workflows: tuple[str, ...]
    """Ids of workflows that it worked for."""

    def forget(self) -> None:
        """Remove the notes; another worker that starts may be doing the same."""
        with suppress(FileNotFoundError):
            for path in self.folder.iterdir():
                path.unlink(missing_ok=True)
            self.folder.rmdir()


def abandoned(root: Path) -> list[Abandoned]:
    """The notes of workers that are dead, known by their lock."""
    if not root.is_dir():
        return []
    return [_read(folder) for folder in sorted(root.iterdir()) if _is_dead(folder)]


def _read(folder: Path) -> Abandoned:
    identity, attempts, workflows = "", list[tuple[str, bytes]](), list[str]()
    for path in sorted(folder.iterdir()):
        data = path.read_bytes()
        if path.name == _IDENTITY:
            identity = data.decode("utf-8", "replace")
        elif path.name.startswith(_WORKFLOW):
            workflows.append(data.decode("utf-8", "replace"))
        elif path.name != _LOCK:
            workflow, _newline, token = data.partition(b"\n")
            if token:
                attempts.append((workflow.decode("utf-8", "replace"), token))
    return Abandoned(folder, identity, tuple(attempts), tuple(workflows))


def _hashed(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()[:32]


def _later(path: Path) -> None:
    try:
        asyncio.get_running_loop().call_later(LINGER_S, _unlink, path)
    except RuntimeError:
        _unlink(path)


def _unlink(path: Path) -> None:
    with suppress(OSError):
        path.unlink(missing_ok=True)


def _is_dead(folder: Path) -> bool:
    try:
        descriptor = os.open(folder / _LOCK, os.O_RDWR | os.O_CLOEXEC)
    except OSError:
        return False
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    else:
        return True
    finally:
        os.close(descriptor)
