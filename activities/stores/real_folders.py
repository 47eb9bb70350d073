"""Folders reached without following a link: what a path was seen to be, it is still when it is used."""

import errno
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

_FLAGS = getattr(os, "O_PATH", os.O_RDONLY) | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


@contextmanager
def real_folder(path: Path) -> Iterator[int]:
    """A descriptor of the folder with this real path, below which names are used.

    Raises OSError, ELOOP where a link stands on the way: somebody put it there since the path was resolved.
    """
    descriptor = os.open(path.anchor or ".", _FLAGS)
    try:
        for part in path.parts[1:] if path.anchor else path.parts:
            below = _below(descriptor, part)
            os.close(descriptor)
            descriptor = below
        yield descriptor
    finally:
        os.close(descriptor)


def _below(folder: int, name: str) -> int:
    try:
        return os.open(name, _FLAGS, dir_fd=folder)
    except NotADirectoryError as error:
        if stat.S_ISLNK(os.stat(name, dir_fd=folder, follow_symlinks=False).st_mode):
            raise OSError(errno.ELOOP, os.strerror(errno.ELOOP)) from error
        raise
