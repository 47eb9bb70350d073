"""Whole lines of a growing file as they are appended, and how to wait for more."""

import asyncio
import fcntl
import os
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Self

if TYPE_CHECKING:
    from inotify_simple import INotify

CHUNK = 1024 * 1024
POLL_SECONDS = 0.015
"""Where the kernel tells nothing."""
REPEAT_SECONDS = 0.25
"""Where it does; a change made on another machine is seen by this only."""


class Tail:
    """Reads whole lines after those it has read; a line that is not whole yet is left for later."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.position = 0
        self._descriptor: int | None = None

    def refresh(self) -> bool:
        """Open the file, or the one that took its name or was cut; whether reading begins anew."""
        try:
            there = os.stat(self.path)
        except FileNotFoundError:
            return False
        if self._descriptor is not None:
            ours = os.fstat(self._descriptor)
            same = (ours.st_dev, ours.st_ino) == (there.st_dev, there.st_ino)
            if same and there.st_size >= self.position:
                return False
        self.close()
        with suppress(FileNotFoundError):
            self._descriptor = os.open(self.path, os.O_RDONLY | os.O_CLOEXEC)
        self.position = 0
        return self._descriptor is not None

    def read(self) -> list[bytes]:
        """The next whole lines without their newlines, about 1 MB at most; none if there are none yet."""
        if self._descriptor is None:
            return []
        size = CHUNK
        while True:
            data = os.pread(self._descriptor, size, self.position)
            end = data.rfind(b"\n")
            if end >= 0:
                self.position += end + 1
                return data[:end].split(b"\n")
            if len(data) < size:
                return []
            size *= 2

    def torn(self) -> bytes:
        """What follows the last whole line while nobody is writing: a line whose writer died."""
        if self._descriptor is None:
            return b""
        try:
            fcntl.flock(self._descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except OSError:
            return b""
        try:
            left = os.fstat(self._descriptor).st_size - self.position
            return os.pread(self._descriptor, max(left, 0), self.position)
        finally:
            fcntl.flock(self._descriptor, fcntl.LOCK_UN)

    def close(self) -> None:
        """Give the descriptor back."""
        if self._descriptor is not None:
            os.close(self._descriptor)
            self._descriptor = None


class ChangeWatch:
    """Wakes whoever waits when files of a folder change: by inotify, else by the clock."""

    def __init__(self, folder: Path, stop: asyncio.Event | None = None) -> None:
        self._folder = folder
        self._stop = stop
        self._changed = asyncio.Event()
        self._inotify = _open_inotify()
        self._watches_folder = False
        self._may_have_names = True
        self._relay: asyncio.Task[None] | None = None

    async def __aenter__(self) -> Self:
        if self._inotify is not None:
            asyncio.get_running_loop().add_reader(self._inotify.fileno(), self._drain)
        if self._stop is not None:
            self._relay = asyncio.create_task(self._wake_at(self._stop))
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._relay is not None:
            self._relay.cancel()
        if self._inotify is not None:
            asyncio.get_running_loop().remove_reader(self._inotify.fileno())
            self._inotify.close()

    def begin(self) -> bool:
        """Forget the changes so far, before looking at the files; whether there may be new names among them."""
        self._changed.clear()
        if not self._watches_folder:
            self._watches_folder = self._add(self._folder, for_names=True)
        may_have_names, self._may_have_names = self._may_have_names, False
        return may_have_names

    def watch(self, path: Path) -> None:
        """Wake also when this file grows."""
        self._add(path, for_names=False)

    async def wait(self) -> None:
        """Until something changed since `begin`, or the time to look anyway has come."""
        try:
            async with asyncio.timeout(REPEAT_SECONDS if self._watches_folder else POLL_SECONDS):
                await self._changed.wait()
        except TimeoutError:
            self._may_have_names = True

    def _add(self, path: Path, *, for_names: bool) -> bool:
        if self._inotify is None:
            return False
        from inotify_simple import flags

        mask = flags.CREATE | flags.MOVED_TO if for_names else flags.MODIFY
        try:
            self._inotify.add_watch(path, mask)
        except OSError:
            # Not there yet, or too many watches: the clock serves.
            return False
        return True

    def _drain(self) -> None:
        if self._inotify is not None:
            # Only events of the folder carry a name; an overflow (descriptor -1) may have swallowed some.
            events = self._inotify.read(timeout=0)
            self._may_have_names |= any(event.name or event.wd < 0 for event in events)
        self._changed.set()

    async def _wake_at(self, stop: asyncio.Event) -> None:
        await stop.wait()
        self._changed.set()


def _open_inotify() -> "INotify | None":
    """The kernel's ear for changes, where it has one to give."""
    try:
        from inotify_simple import INotify

        return INotify(nonblocking=True)
    except (ImportError, OSError, AttributeError):
        return None
