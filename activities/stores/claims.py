"""Which task tokens a worker holds: a worker that starts gives back those of a dead one."""

import fcntl
import hashlib
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from activities.stores.files import make_folder


class Claims:
    """The tokens of one living worker, each a file beside a lock that ends with the worker."""

    def __init__(self, root: Path) -> None:
        self._folder = root / f"{os.getpid()}-{os.urandom(4).hex()}"
        make_folder(self._folder)
        self._lock = os.open(self._folder / "lock", os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o600)
        fcntl.flock(self._lock, fcntl.LOCK_EX)

    @contextmanager
    def held(self, workflow: str, token: bytes) -> Iterator[None]:
        """Note the token while its attempt runs. Losing a note only means a wait for the heartbeat timeout."""
        path = self._folder / hashlib.sha256(token).hexdigest()[:32]
        with suppress(OSError):
            path.write_bytes(workflow.encode() + b"\n" + token)
        try:
            yield
        finally:
            with suppress(OSError):
                path.unlink(missing_ok=True)


@dataclass(frozen=True)
class Abandoned:
    """What a dead worker held."""

    folder: Path
    attempts: tuple[tuple[str, bytes], ...]
    """Workflow id and task token of each."""

    def forget(self) -> None:
        """Remove the notes."""
        for path in self.folder.iterdir():
            path.unlink(missing_ok=True)
        self.folder.rmdir()


def abandoned(root: Path) -> list[Abandoned]:
    """The notes of workers that are dead, known by their lock."""
    if not root.is_dir():
        return []
    return [Abandoned(folder, _attempts(folder)) for folder in sorted(root.iterdir()) if _is_dead(folder)]


def _attempts(folder: Path) -> tuple[tuple[str, bytes], ...]:
    notes = [path.read_bytes().partition(b"\n") for path in sorted(folder.iterdir()) if path.name != "lock"]
    return tuple((workflow.decode("utf-8", "replace"), token) for workflow, _newline, token in notes if token)


def _is_dead(folder: Path) -> bool:
    try:
        descriptor = os.open(folder / "lock", os.O_RDWR | os.O_CLOEXEC)
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
