"""Quarantine: what may not stay is moved away as it is, whatever it is, and kept as far as it can be."""

import errno
import os
import shutil
import stat
from contextlib import suppress
from pathlib import Path

LARGEST = 64 * 1024 * 1024
"""Bytes of a file that are copied to another disk; of a larger one nothing is kept."""
_NAME = 60
"""Characters of its name that stand in the new one."""


def moved_away(path: Path, quarantine: Path) -> Path:
    """Move it there under a new name, following nothing; where it is now. Raises OSError when it stays."""
    quarantine.mkdir(parents=True, exist_ok=True, mode=0o700)
    name = "".join(letter if letter.isprintable() else "_" for letter in path.name)[:_NAME]
    number = sum(1 for _ in quarantine.iterdir()) + 1
    while os.path.lexists(target := quarantine / f"{number}-{name}"):
        number += 1
    move(path, target)
    return target


def move(path: Path, target: Path) -> None:
    """The same to a place that is free."""
    try:
        _rename(path, target)
    except OSError as error:
        if error.errno != errno.EXDEV:
            raise
        copied_away(path, target)


def copied_away(path: Path, target: Path) -> None:
    """The same to another disk; a pipe, a device or a very large file leaves only its name there."""
    _copy(path, target)
    if path.is_symlink() or not path.is_dir():
        path.unlink()
    else:
        shutil.rmtree(path)


def opened_up(folder: Path) -> None:
    """Let the person into a folder that a command has closed; it is theirs all the same."""
    # A RuntimeError is what an older kernel's lack of such a chmod becomes.
    with suppress(OSError, RuntimeError):
        folder.chmod(stat.S_IMODE(folder.lstat().st_mode) | stat.S_IRWXU, follow_symlinks=False)


def _rename(path: Path, target: Path) -> None:
    try:
        path.rename(target)
    except PermissionError:
        opened_up(path.parent)
        if not path.is_symlink():
            opened_up(path)
        path.rename(target)


def _copy(path: Path, target: Path) -> None:
    mode = path.lstat().st_mode
    if stat.S_ISDIR(mode):
        target.mkdir(mode=0o700)
        opened_up(path)
        for child in path.iterdir():
            _copy(child, target / child.name)
    elif stat.S_ISLNK(mode):
        target.symlink_to(path.readlink())
    elif stat.S_ISREG(mode) and path.lstat().st_size <= LARGEST:
        shutil.copyfile(path, target, follow_symlinks=False)
    else:
        target.touch(0o600)
