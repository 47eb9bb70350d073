"""Atomic writes, and files of whole lines that survive a crash."""

import errno
import fcntl
import json
import os
import secrets
import stat
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from workflows.contracts.errors import FailureKind, UserError

FREE_SPACE = "free some space, or set PERDURE_HOME to a folder on another disk, then try again"
OTHER_HOME = "change that, or set PERDURE_HOME to a folder that can be written"
REASONS: dict[int, tuple[str, str, str]] = {
    errno.ENOSPC: ("the disk is full", FREE_SPACE, FailureKind.DISK_FULL),
    errno.EDQUOT: ("the disk quota is used up", FREE_SPACE, FailureKind.DISK_FULL),
    errno.EFBIG: ("the file is larger than this process may write (ulimit -f)", FREE_SPACE, FailureKind.DISK_FULL),
    errno.EROFS: ("the file system is read-only", OTHER_HOME, "read_only"),
    errno.EACCES: ("permission denied", OTHER_HOME, "no_permission"),
    errno.EPERM: ("not permitted", OTHER_HOME, "no_permission"),
    errno.ENOENT: ("no such file or folder", "create it, or correct the path", "missing"),
    errno.ENOTDIR: ("a file is where a folder belongs", "move that file away, then try again", "in_the_way"),
    errno.EEXIST: ("something else is in the way", "move it away, then try again", "in_the_way"),
    errno.EISDIR: ("a folder is where a file belongs", "move that folder away, then try again", "in_the_way"),
    errno.EMFILE: ("too many files are open", "raise the limit (ulimit -n), then try again", "too_many_files"),
}
TAIL_CHUNK = 64 * 1024


@dataclass(frozen=True)
class Damage:
    """A line that could not be read."""

    line: int
    """Its number, from 1."""

    why: str
    """What is wrong with it, as half a sentence."""


def explain_os_error(error: OSError, path: Path) -> UserError:
    """The one line that tells a person what the disk refused and what to do about it."""
    fallback = (error.strerror or type(error).__name__, "correct that, then try again", "disk")
    why, remedy, reason = REASONS.get(error.errno or 0, fallback)
    return UserError(f"{path} cannot be used: {why}; {remedy}.", reason=reason)


def make_folder(path: Path) -> None:
    """Create a folder and its parents, each 0700, lasting through a power cut."""
    if path.is_dir():
        return
    if path.parent != path:
        make_folder(path.parent)
    try:
        with suppress(FileExistsError):
            path.mkdir(mode=0o700)
            sync_folder(path.parent)
        if not path.is_dir():
            raise NotADirectoryError(errno.ENOTDIR, "not a folder")
    except OSError as error:
        raise explain_os_error(error, path) from error


def sync_folder(path: Path) -> None:
    """Make the names in a folder last through a power cut."""
    descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    except OSError as error:
        # Some network file systems cannot sync a folder; their rename is as lasting as it gets.
        if error.errno != errno.EINVAL:
            raise
    finally:
        os.close(descriptor)


def sync_data(descriptor: int) -> None:
    """Make a file's content last through a power cut; its times may not."""
    if sys.platform == "darwin":
        os.fsync(descriptor)
    else:
        os.fdatasync(descriptor)


def write_atomic(path: Path, data: bytes, mode: int = 0o600, *, lasts: bool = True) -> None:
    """Replace a file's content as a whole; whoever reads sees the old bytes or the new ones.

    It outlives the machine's death unless it need not last: what only helps as long as this machine runs.
    """
    try:
        with _prepared(path, data, mode, lasts=lasts) as temporary:
            temporary.rename(path)
        if lasts:
            sync_folder(path.parent)
    except OSError as error:
        raise explain_os_error(error, path) from error


def create_once(path: Path, data: bytes, mode: int = 0o600) -> bytes:
    """Create a file with this content unless it is there; the content that won, the same for every process."""
    try:
        if not path.exists():
            with _prepared(path, data, mode) as temporary, suppress(FileExistsError):
                # A link, not an exclusive open: nobody ever sees the name without its content.
                os.link(temporary, path)
        sync_folder(path.parent)
        return path.read_bytes()
    except OSError as error:
        raise explain_os_error(error, path) from error


@contextmanager
def _prepared(path: Path, data: bytes, mode: int, *, lasts: bool = True) -> Iterator[Path]:
    """A file of that content beside `path`, synced if it lasts; gone at the end unless it was renamed."""
    temporary = path.with_name(f".{path.name[:100]}.{secrets.token_hex(8)}.tmp")
    try:
        descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, mode)
        try:
            os.fchmod(descriptor, mode)
            write_whole(descriptor, data)
            if lasts:
                os.fsync(descriptor)
        finally:
            os.close(descriptor)
        yield temporary
    finally:
        temporary.unlink(missing_ok=True)


def read_start(path: Path, most: int) -> bytes:
    """The first bytes of a regular file that is no link. Raises OSError for everything else, without waiting."""
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOCTTY | os.O_NOFOLLOW)
    try:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise OSError(errno.EINVAL, "it is no regular file")
        with open(descriptor, "rb", closefd=False) as file:
            return file.read(most)
    finally:
        os.close(descriptor)


def write_whole(descriptor: int, data: bytes) -> None:
    """Write all bytes; one system call unless the disk takes less."""
    written = os.write(descriptor, data)
    while written < len(data):
        written += os.write(descriptor, data[written:])


def append_line(path: Path, line: bytes, *, lasting: bool = True) -> None:
    """Append one record (a JSON object without newline) as a whole line, after repairing a torn last line."""
    if b"\n" in line:
        raise ValueError("a line holds no newline")
    try:
        with _locked_for_append(path) as descriptor:
            size = repair_tail(descriptor, path)
            append_whole(descriptor, line + b"\n", size)
            if lasting:
                sync_data(descriptor)
        if lasting and size == 0:
            sync_folder(path.parent)
    except OSError as error:
        raise explain_os_error(error, path) from error


@contextmanager
def _locked_for_append(path: Path) -> Iterator[int]:
    descriptor = os.open(path, os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield descriptor
    finally:
        os.close(descriptor)


def append_whole(descriptor: int, data: bytes, size: int) -> None:
    """Append all bytes to a locked file of that size, or none of them."""
    try:
        write_whole(descriptor, data)
    except OSError:
        os.ftruncate(descriptor, size)
        raise


def repair_tail(descriptor: int, path: Path) -> int:
    """Cut a torn last line off a locked file, keeping it in `<name>.damaged`; the file's size afterwards.

    A last line that lacks nothing but its newline gets it instead.
    """
    size = os.fstat(descriptor).st_size
    if size == 0 or os.pread(descriptor, 1, size - 1) == b"\n":
        return size
    start = last_line_start(descriptor, size)
    piece = os.pread(descriptor, size - start, start)
    if why_damaged(piece) is None:
        append_whole(descriptor, b"\n", size)
        return size + 1
    _keep_damaged(path, piece)
    os.ftruncate(descriptor, start)
    return start


def last_line_start(descriptor: int, end: int) -> int:
    """Where the line that ends at `end` (its own newline not counted) begins."""
    while end > 0:
        start = max(0, end - TAIL_CHUNK)
        newline = os.pread(descriptor, end - start, start).rfind(b"\n")
        if newline >= 0:
            return start + newline + 1
        end = start
    return 0


def _keep_damaged(path: Path, piece: bytes) -> None:
    target = path.with_name(path.name + ".damaged")
    descriptor = os.open(target, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        write_whole(descriptor, piece + b"\n")
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def read_lines(path: Path) -> tuple[list[bytes], list[Damage]]:
    """The whole records of a file of lines (none if it is not there), and what else stands in it."""
    try:
        data = _read_between_writes(path)
    except FileNotFoundError:
        return [], []
    except OSError as error:
        raise explain_os_error(error, path) from error
    pieces = data.split(b"\n")
    if pieces[-1] == b"":
        pieces.pop()
    whys = [why_damaged(piece) for piece in pieces]
    if whys and whys[-1] is not None and not data.endswith(b"\n"):
        whys[-1] = f"torn last line: {whys[-1]}"
    good = [piece for piece, why in zip(pieces, whys, strict=True) if why is None]
    return good, [Damage(number, why) for number, why in enumerate(whys, 1) if why is not None]


def _read_between_writes(path: Path) -> bytes:
    with path.open("rb") as file:
        # Under the lock no writer is in the middle of a line; a file system without locks is read as it is.
        with suppress(OSError):
            fcntl.flock(file, fcntl.LOCK_SH)
        return file.read()


def why_damaged(line: bytes) -> str | None:
    """What is wrong with a record, or None: a record is one JSON object."""
    if not line.strip():
        return "blank line"
    if b"\0" in line:
        return f"{line.count(0)} NUL bytes"
    try:
        value = json.loads(line)
    except (ValueError, RecursionError):
        return "not JSON"
    return None if isinstance(value, dict) else "not a JSON object"
