"""Git's index: the files that it holds, and those that are repositories of their own, which a git enters by itself."""

import struct
from functools import lru_cache
from pathlib import Path

from activities.stores.files import read_start

LARGEST = 64 * 1024 * 1024
"""Bytes of an index that is looked at."""

_LINK = b"\x00\x00\xe0\x00"
"""The mode of such an entry, in every version."""
_MODE, _DIGESTS, _EXTENDED = 24, (20, 32), 0x4000
_VERSIONS = {2, 3, 4}


def linked_folders(git: Path) -> list[str] | None:
    """The folders, by their path in the work tree, from the index that lies in a folder of git.

    None where that cannot be told: an index that is no regular file, too large, or not as git writes it.
    """
    return _told(git, only_links=True)


def kept_files(git: Path) -> list[str] | None:
    """All that the index holds, in the same way."""
    return _told(git, only_links=False)


def _told(git: Path, *, only_links: bool) -> list[str] | None:
    try:
        files = [git / "index", *sorted(git.glob("sharedindex.*"))]
        found = [_names(str(file), _stamp(file), only_links) for file in files]
    except OSError:
        return None
    names = [name for each in found for name in each or ()]
    return None if None in found or (only_links and "" in names) else names


def _stamp(file: Path) -> tuple[int, ...]:
    try:
        facts = file.lstat()
    except FileNotFoundError:
        return ()
    # The last moment cannot be set back by whoever writes the file.
    return facts.st_dev, facts.st_ino, facts.st_size, facts.st_mtime_ns, facts.st_ctime_ns


@lru_cache(maxsize=64)
def _names(file: str, stamp: tuple[int, ...], only_links: bool) -> tuple[str, ...] | None:  # noqa: FBT001 - part of the key
    if not stamp:
        return ()
    try:
        data = read_start(Path(file), LARGEST + 1)
    except OSError:
        return None
    if len(data) > LARGEST or len(data) < 12 or data[:4] != b"DIRC":
        return None
    if only_links and _LINK not in data:
        return ()
    version, count = struct.unpack(">II", data[4:12])
    if version not in _VERSIONS:
        return None
    read = (_entries(data, version, count, size) for size in _DIGESTS)
    entries = next((found for found in read if found is not None), None)
    return None if entries is None else tuple(name for name, mode in entries if mode == _LINK or not only_links)


def _entries(data: bytes, version: int, count: int, size: int) -> list[tuple[str, bytes]] | None:
    """The names and modes of all entries; None where they have no digests of that size."""
    at, before, found = 12, b"", []
    for _ in range(count):
        flags = at + _MODE + 16 + size
        if flags + 2 > len(data):
            return None
        start = flags + (4 if struct.unpack_from(">H", data, flags)[0] & _EXTENDED else 2)
        stripped, start = _dropped(data, start) if version == 4 else (0, start)
        end = data.find(b"\0", start)
        if end < 0 or stripped > len(before) or data[at + _MODE : at + _MODE + 2] != b"\0\0":
            return None
        name = before[: len(before) - stripped] + data[start:end] if version == 4 else data[start:end]
        found.append((name.decode("utf-8", "surrogateescape"), data[at + _MODE : at + _MODE + 4]))
        before, at = name, end + 1 if version == 4 else at + (end - at + 8) // 8 * 8
    return found


def _dropped(data: bytes, at: int) -> tuple[int, int]:
    """How many bytes of the name before are dropped, and where the rest of this name begins."""
    number = data[at] & 0x7F
    while data[at] & 0x80 and at + 1 < len(data):
        at += 1
        number = ((number + 1) << 7) | (data[at] & 0x7F)
    return number, at + 1
