"""Capture: a command's output on disk, its beginning and a ring that holds the last MiB; and the status at its end."""

import errno
import os

from activities.processes.claim import fsync_folder, write_all
from activities.processes.lean import dump_json

RING = 1024 * 1024
"""Bytes of the end that are kept once the cap is reached."""


class Capture:
    """Takes output as it comes and goes on counting when there is no more room."""

    def __init__(self, folder: str, cap: int) -> None:
        self.folder = folder
        self.cap = cap
        self.total = 0
        self.stored = 0
        self.ringed = 0
        self.error = ""
        self.file = os.open(f"{folder}/output", os.O_WRONLY | os.O_CREAT, 0o600)
        self.ring: int | None = None
        self.is_ring_lost = False

    def add(self, data: bytes) -> None:
        """Keep what fits; a full disk ends the storing, never the command."""
        fits = self.store(data[: self.cap - self.stored]) if self.stored < self.cap else 0
        rest = data[fits:]
        if rest and not self.is_ring_lost:
            self.store_in_ring(rest)
        self.total += len(data)

    def store(self, data: bytes) -> int:
        """Append to the beginning; how many bytes went there."""
        before = self.stored
        try:
            while data:
                count = os.write(self.file, data)
                self.stored += count
                data = data[count:]
        except OSError as error:
            self.error = error.strerror or str(error)
            self.cap = self.stored
        return self.stored - before

    def store_in_ring(self, data: bytes) -> None:
        """Overwrite the oldest bytes of the end."""
        try:
            if self.ring is None:
                self.ring = os.open(f"{self.folder}/tail", os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
            while data:
                place = self.ringed % RING
                part = data[: RING - place]
                os.lseek(self.ring, place, os.SEEK_SET)
                write_all(self.ring, part)
                self.ringed += len(part)
                data = data[len(part) :]
        except OSError as error:
            self.error = error.strerror or str(error)
            # A ring with a hole would show bytes that are not neighbours as neighbours.
            self.ringed = 0
            self.is_ring_lost = True

    def facts(self) -> dict[str, object]:
        """What the status says of the output, once it is safe on disk."""
        for descriptor in (self.file, self.ring):
            if descriptor is not None:
                self.flush(descriptor)
        return {
            "output_bytes": self.total,
            "stored_bytes": self.stored,
            "tail_bytes": min(self.ringed, RING),
            "output_error": self.error,
        }

    def flush(self, descriptor: int) -> None:
        """Make it survive a power cut, or say that it will not."""
        try:
            os.fsync(descriptor)
        except OSError as error:
            self.error = error.strerror or str(error)


class Status:
    """The file that says how a command ended; its room is taken beforehand, so that a full disk cannot lose it."""

    ROOM = 8192

    def __init__(self, folder: str) -> None:
        self.folder = folder
        self.private = f"{folder}/status.{os.getpid()}"
        self.file = os.open(self.private, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        try:
            os.posix_fallocate(self.file, 0, self.ROOM)
        except AttributeError:
            pass  # macOS
        except OSError as error:
            if error.errno == errno.ENOSPC:
                raise

    def write(self, facts: dict[str, object]) -> None:
        """Tell how it ended, whole or not at all."""
        data = (dump_json(facts) + "\n").encode("ascii")
        write_all(self.file, data)
        os.ftruncate(self.file, len(data))
        os.fsync(self.file)
        os.rename(self.private, f"{self.folder}/status")
        fsync_folder(self.folder)

    def forget(self) -> None:
        """Somebody else runs this command."""
        os.unlink(self.private)
