"""What a rewind would change, as a person reads it; and what a session that goes on from there takes along."""

import difflib
from collections.abc import Iterator

from activities.stores.environments import keep_environment, kept_environment
from activities.stores.home import Home
from activities.stores.regular_files import shown
from activities.stores.text_files import decode
from worker.rewind import Restoration

_MOST = 2 * 1024 * 1024
"""Bytes of a file above which no diff is made."""


def differences(files: list[Restoration]) -> str:
    """A unified diff of all of them, from what they are to what they will be."""
    return "".join(line for file in files for line in _difference(file))


def _difference(file: Restoration) -> Iterator[str]:
    name = shown(file.path)
    sides = (name if file.now.digest else "/dev/null"), (name if file.then.digest else "/dev/null")
    if max(len(file.now.data), len(file.then.data)) > _MOST or b"\0" in file.now.data + file.then.data:
        yield f"--- {sides[0]}\n+++ {sides[1]}\n"
        yield f"[no text, or too large: {len(file.now.data):,} bytes now, {len(file.then.data):,} then]\n"
        return
    now, then = (decode(version.data)[0].splitlines(keepends=True) for version in (file.now, file.then))
    for line in difflib.unified_diff(now, then, *sides):
        yield line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n"


def take_along(home: Home, older: str, session: str) -> None:
    """Give the session the environment that was kept for the older one."""
    kept = kept_environment(home, older)
    if kept is not None:
        keep_environment(home, session, kept)
