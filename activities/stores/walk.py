"""Walk: files below a folder whose names fit a pattern, and what was not looked at."""

import heapq
import os
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

ENTRIES = 2_000_000
"""Names looked at before a walk is given up."""
BRACES = re.compile(r"\{([^{}]*,[^{}]*)\}")
MAGIC = re.compile(r"[*?\[{]")
ALTERNATIVES = 1_000


@dataclass
class Walk:
    """What a walk gave."""

    newest: list[str] = field(default_factory=list)
    """Paths, the file changed last first."""
    total: int = 0
    skipped: dict[str, list[str]] = field(default_factory=dict)
    """Folders that were not entered, by reason."""
    is_cut: bool = False
    """Given up because there were too many names."""

    def skip(self, reason: str, path: str) -> None:
        """Note a folder that is not entered."""
        self.skipped.setdefault(reason, []).append(path)


def split_pattern(pattern: str) -> tuple[str, str]:
    """The leading folders of a pattern that are plain names, and the rest."""
    if MAGIC.search(pattern) is None:
        folder, _, name = pattern.rpartition("/")
        return (folder or ("/" if pattern.startswith("/") else "")), name
    start = pattern[: MAGIC.search(pattern).start()]  # type: ignore[union-attr]  # looked for above
    folder, slash, _ = start.rpartition("/")
    return (folder or slash), pattern[len(folder) + len(slash) :]


def matcher(pattern: str) -> re.Pattern[str]:
    """A pattern as a regular expression over paths relative to where the walk starts.

    Without a slash it fits names at any depth. `*` and `?` stay inside a name, `**` spans folders, `{a,b}` is either.
    """
    if "/" not in pattern:
        pattern = f"**/{pattern}"
    return re.compile("|".join(f"(?:{_translated(each)})" for each in _expanded(pattern)), re.DOTALL)


def _expanded(pattern: str) -> list[str]:
    done: list[str] = []
    waiting = [pattern]
    while waiting:
        one = waiting.pop()
        match = BRACES.search(one)
        if match is None or len(done) + len(waiting) > ALTERNATIVES:
            done.append(one)
            continue
        waiting += [one[: match.start()] + part + one[match.end() :] for part in match[1].split(",")]
    return done


def _translated(pattern: str) -> str:
    parts = [part for part in pattern.split("/") if part not in {"", "."}]
    expression = ""
    for place, part in enumerate(parts):
        is_last = place == len(parts) - 1
        if part == "**":
            expression += ".*" if is_last else "(?:.*/)?"
        else:
            expression += _name(part) + ("" if is_last else "/")
    return expression


def _name(part: str) -> str:
    expression = ""
    place = 0
    while place < len(part):
        letter = part[place]
        place += 1
        if letter == "*":
            expression += "[^/]*"
        elif letter == "?":
            expression += "[^/]"
        elif letter == "[" and (end := part.find("]", place + 1)) > 0:
            inner = part[place:end].replace("\\", "\\\\").replace("[", "\\[")
            expression += f"[^{inner[1:]}]" if inner[0] in "!^" else f"[{inner}]"
            place = end + 1
        else:
            expression += re.escape(letter)
    return expression


def walk(
    root: Path,
    pattern: str,
    most: int,
    *,
    avoid: Callable[[str], str],
    hides: Callable[[str], bool] = lambda _path: False,
    stopped: Callable[[], bool] = lambda: False,
) -> Walk:
    """The `most` files below `root` that fit and were changed last. `avoid` gives a reason not to enter a folder,
    `hides` says of a file that fits whether it is passed over.

    Links to folders are not entered; files that are links are named. Names and memory are bounded.
    """
    told = Walk()
    fits = matcher(pattern)
    depth = len(str(root).rstrip("/")) + 1

    def is_found(path: str) -> bool:
        return fits.fullmatch(path[depth:]) is not None and not hides(path)

    newest = heapq.nlargest(most, _files(told, root, is_found, avoid, stopped))
    told.newest = [path for _, path in newest]
    return told


def _files(
    told: Walk,
    root: Path,
    fits: Callable[[str], bool],
    avoid: Callable[[str], str],
    stopped: Callable[[], bool],
) -> Iterator[tuple[int, str]]:
    waiting = [str(root)]
    seen = 0
    while waiting:
        folder = waiting.pop()
        for entry in _listed(told, folder):
            seen += 1
            if seen > ENTRIES or stopped():
                told.is_cut = True
                return
            if entry.is_dir(follow_symlinks=False):
                if reason := avoid(entry.path):
                    told.skip(reason, entry.path)
                else:
                    waiting.append(entry.path)
            elif _leads_to_folder(told, entry):
                continue
            elif fits(entry.path):
                told.total += 1
                yield _changed(entry), entry.path


def _listed(told: Walk, folder: str) -> list[os.DirEntry[str]]:
    try:
        with os.scandir(folder) as listing:
            return sorted(listing, key=lambda entry: entry.name)
    except OSError as error:
        told.skip(f"not readable ({error.strerror})", folder)
        return []


def _leads_to_folder(told: Walk, entry: os.DirEntry[str]) -> bool:
    """Whether it is a link that a walk would have to enter, or that leads nowhere for ever; both are told."""
    if not entry.is_symlink():
        return False
    try:
        if not entry.is_dir():
            return False
    except OSError:
        told.skip("link that leads in a circle", entry.path)
        return True
    target = os.path.realpath(entry.path)
    is_loop = entry.path.startswith(target.rstrip("/") + "/")
    told.skip("link to a folder above it, a circle" if is_loop else "link to a folder, not followed", entry.path)
    return True


def _changed(entry: os.DirEntry[str]) -> int:
    try:
        return entry.stat(follow_symlinks=False).st_mtime_ns
    except OSError:
        return 0
