"""Regular files of the person: opened without hanging, read in one piece or hashed, replaced whole with their mode."""

import errno
import hashlib
import os
import stat
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path

from activities.stores.files import sync_folder, write_whole
from activities.stores.real_folders import real_folder
from workflows.contracts.errors import ToolError
from workflows.contracts.messages import clean

CHUNK = 1024 * 1024
WHOLE_LIMIT = 256 * 1024 * 1024
"""Bytes of a file that may still be changed; more is never held in memory."""
KINDS = (
    (stat.S_ISDIR, "a folder"),
    (stat.S_ISFIFO, "a named pipe"),
    (stat.S_ISSOCK, "a socket"),
    (stat.S_ISCHR, "a device"),
    (stat.S_ISBLK, "a device"),
)


@dataclass(frozen=True)
class Version:
    """A file's whole content at one moment."""

    data: bytes
    digest: str
    facts: os.stat_result


def shown(path: Path | str) -> str:
    """A path as text for model and screen: bytes that are no UTF-8 are replaced visibly."""
    return clean(str(path))


def kind_of(mode: int) -> str:
    """What stands there, in words, when it is no regular file; empty for one."""
    return next((name for is_kind, name in KINDS if is_kind(mode)), "")


@contextmanager
def opened(path: Path) -> Iterator[int]:
    """A descriptor to read a regular file by its real path, in which no link is followed.

    Raises ToolError for what is none, and for what cannot be opened.
    """
    flags = os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOCTTY | os.O_NOFOLLOW
    try:
        with real_folder(path.parent) as folder:
            # Asked before opening: opening a device may already do something.
            _check_regular(path, os.stat(path.name or ".", dir_fd=folder, follow_symlinks=False).st_mode)
            descriptor = os.open(path.name, flags, dir_fd=folder)
    except (OSError, ValueError) as error:
        raise unusable(path, error) from error
    try:
        _check_regular(path, os.fstat(descriptor).st_mode)
        yield descriptor
    except OSError as error:
        raise unusable(path, error) from error
    finally:
        os.close(descriptor)


def _check_regular(path: Path, mode: int) -> None:
    if stat.S_ISDIR(mode):
        raise ToolError(f"{shown(path)} is a folder. Use Glob with path {shown(path)} to see what is in it.")
    if kind := kind_of(mode):
        raise ToolError(f"{shown(path)} is {kind}, not a regular file; only regular files are read and written.")


def unusable(path: Path, error: OSError | ValueError) -> ToolError:
    """What the disk refused, told to the model with what it can do."""
    if isinstance(error, FileNotFoundError):
        return ToolError(f"{shown(path)} does not exist.{_near_names(path)}")
    if isinstance(error, OSError) and error.errno == errno.ELOOP:
        return ToolError(f"{shown(path)} is a symbolic link that leads in a circle, or one was put there just now.")
    why = (error.strerror if isinstance(error, OSError) else "") or str(error)
    return ToolError(f"{shown(path)} cannot be used: {clean(why)}.")


def _near_names(path: Path) -> str:
    parent = path.parent
    while not parent.is_dir() and parent != parent.parent:
        parent = parent.parent
    missing = path.relative_to(parent).parts[0]
    try:
        with os.scandir(parent) as listing:
            names = {shown(entry.name): None for _, entry in zip(range(20_000), listing, strict=False)}
    except OSError:
        return ""
    lower = {name.lower(): name for name in names}
    near = [lower[name] for name in get_close_matches(missing.lower(), lower, n=4, cutoff=0.6)]
    if near:
        return f" In {shown(parent)} there is: {', '.join(near)}."
    return f" The nearest folder that exists is {shown(parent)}; use Glob to see what is in it."


def find_shown(path: Path) -> Path:
    """The file whose name is shown like this one, where the very name is missing; ToolError when several are."""
    if "\ufffd" not in str(path) and "\u2400" not in str(path):
        return path
    found = Path(path.anchor or ".")
    for part in path.parts[1:] if path.anchor else path.parts:
        found = _child(found, part)
    return found


def _child(folder: Path, part: str) -> Path:
    exact = folder / part
    if os.path.lexists(exact) or ("\ufffd" not in part and "\u2400" not in part):
        return exact
    try:
        same = [name for name in os.listdir(folder) if shown(name) == part]
    except OSError:
        return exact
    if len(same) > 1:
        raise ToolError(f"{len(same)} names in {shown(folder)} are shown as {part}. Rename them with Bash first.")
    return folder / same[0] if same else exact


def chunks(descriptor: int) -> Iterator[bytes]:
    """The bytes of a file from where it stands, a piece at a time."""
    while piece := os.read(descriptor, CHUNK):
        yield piece


def digest_of_file(path: Path) -> str:
    """SHA-256 of a file's bytes in flat memory; empty when there is no file. Raises ToolError for what is no file."""
    if not path.exists():
        return ""
    with opened(path) as descriptor:
        return hash_rest(descriptor)


def hash_rest(
    descriptor: int, look: Callable[[bytes], None] = lambda _piece: None, stopped: Callable[[], bool] = lambda: False
) -> str:
    """SHA-256 of what follows in a file; each piece is shown to `look`. Empty when it was stopped."""
    digest = hashlib.sha256()
    for piece in chunks(descriptor):
        if stopped():
            return ""
        digest.update(piece)
        look(piece)
    return digest.hexdigest()


def read_version(path: Path) -> Version | None:
    """A file's content, digest and facts; None when there is none. Raises ToolError, also when it is too large."""
    try:
        path.lstat()
    except FileNotFoundError:
        return None
    except (OSError, ValueError) as error:
        raise unusable(path, error) from error
    with opened(path) as descriptor:
        facts = os.fstat(descriptor)
        if facts.st_size > WHOLE_LIMIT:
            raise ToolError(f"{shown(path)} has {facts.st_size:,} bytes; files over {WHOLE_LIMIT:,} are not changed.")
        data = b"".join(chunks(descriptor))
    return Version(data, hashlib.sha256(data).hexdigest(), facts)


def replace_content(path: Path, data: bytes, like: os.stat_result | None, key: str) -> None:
    """Put a whole new content under a real path, lasting, with mode, owner and attributes of what stood there.

    Missing folders are made; no link is followed.
    The temporary file beside it is named by `key`, so that the repetition of a call that died takes it over.
    """
    name = _leftover(path, key).name
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC | os.O_NOFOLLOW
    try:
        _make_folders(path.parent)
        with real_folder(path.parent) as folder:
            with suppress(FileNotFoundError):
                os.unlink(name, dir_fd=folder)
            descriptor = os.open(name, flags, 0o666 if like is None else 0o600, dir_fd=folder)
            try:
                write_whole(descriptor, data)
                if like is not None:
                    _take_over(descriptor, path, like)
                os.fsync(descriptor)
            finally:
                os.close(descriptor)
            os.rename(name, path.name, src_dir_fd=folder, dst_dir_fd=folder)
        sync_folder(path.parent)
    except (OSError, ValueError) as error:
        remove_leftover(path, key)
        raise unusable(path, error) from error


def _leftover(path: Path, key: str) -> Path:
    return path.with_name(f".{path.name[:40]}.{key[:16]}.tmp")


def remove_leftover(path: Path, key: str) -> None:
    """Remove the temporary file of an attempt that died before its rename."""
    with suppress(OSError, ValueError):
        _leftover(path, key).unlink()


def missing_folders(path: Path) -> int:
    """How many of the folders right above a file are not there yet. OSError when the disk does not tell."""
    return sum(not folder.exists() for folder in path.parents)


def _make_folders(folder: Path) -> None:
    if folder.is_dir():
        return
    _make_folders(folder.parent)
    with suppress(FileExistsError), real_folder(folder.parent) as above:
        os.mkdir(folder.name, dir_fd=above)
        sync_folder(folder.parent)


def _take_over(descriptor: int, path: Path, like: os.stat_result) -> None:
    # Ownership first: a change of owner clears set-user-id bits.
    with suppress(OSError):
        os.fchown(descriptor, like.st_uid, like.st_gid)
    os.fchmod(descriptor, stat.S_IMODE(like.st_mode))
    if hasattr(os, "listxattr"):
        with suppress(OSError):
            for name in os.listxattr(path):
                os.setxattr(descriptor, name, os.getxattr(path, name))
