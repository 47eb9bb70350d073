"""Which rules of a person speak of a path: gitignore patterns, counted from one of four folders."""

import posixpath
import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

from pathspec import GitIgnoreSpec
from pathspec.patterns.gitignore import GitIgnorePatternError

_FIXED = ("/", "~", "./", "../")
"""Beginnings that say from where a pattern counts."""


@dataclass(frozen=True)
class Bases:
    """The folders that path rules count from."""

    cwd: str
    """The session's folder: of `./x` and of names without a slash in front."""
    home: str = ""
    """Of `~/x`."""


@dataclass(frozen=True)
class NamedPath:
    """A path as a call names it, absolute, and where it leads when every link is followed."""

    path: str
    real: str = ""

    @property
    def both(self) -> tuple[str, ...]:
        """The path, and the real one where that is another."""
        return (self.path, self.real) if self.real and self.real != self.path else (self.path,)


def allows_paths(content: str, paths: Sequence[NamedPath], bases: Bases, root: str = "") -> bool:
    """Whether an allow rule covers each of these paths, the link and what it leads to."""
    return bool(paths) and all(_allows(content, one, bases, root) for path in paths for one in path.both)


def forbids_paths(content: str, paths: Sequence[NamedPath], bases: Bases, root: str = "") -> bool:
    """Whether a deny or ask rule speaks of any of these paths, by its name or by where it leads."""
    return any(_forbids(content, one, bases, root) for path in paths for one in path.both)


@dataclass(frozen=True)
class Keeper:
    """A deny or ask rule for many paths: the same answer as `forbids_paths`, made ready once."""

    start: str
    """What a path begins with that it can speak of, in lower case."""
    fits: re.Pattern[str] | None
    """Of what follows; None for a rule that speaks of nothing."""
    is_all: bool = False
    """It speaks of the folder itself too."""

    def forbids(self, path: str) -> bool:
        """Whether the rule speaks of this normal absolute path."""
        path = path.lower()
        if path.rstrip("/") == self.start.rstrip("/"):
            return self.is_all
        rest = path[len(self.start) :]
        return self.fits is not None and path.startswith(self.start) and self.fits.match(rest) is not None


def keeper(content: str, bases: Bases, root: str = "") -> Keeper:
    """The rule with this content, ready for many paths."""
    folder, pattern = _placed(content, bases, root)
    is_fixed = content.strip().startswith(_FIXED)
    folder = posixpath.normpath(folder).lower() if is_fixed and folder else "/" if not is_fixed else ""
    spec = _spec(f"/{pattern.lower()}" if is_fixed else f"**/{pattern.lower()}")
    if not folder or spec is None:
        return Keeper("/", None)
    fits = next((one.regex for one in spec.patterns if one.include), None)
    start = folder if folder.endswith("/") else f"{folder}/"
    return Keeper(start, fits, pattern in {".", "**", "*"})


def plain_place(content: str, bases: Bases, root: str = "") -> str:
    """The one absolute path that a fixed pattern names, with all in it or not; empty where stars stand elsewhere."""
    folder, pattern = _placed(content, bases, root)
    plain = pattern.removesuffix("**").rstrip("/")
    is_plain = content.strip().startswith(_FIXED) and bool(folder) and not set(plain) & set("*?[!\\")
    return posixpath.normpath(posixpath.join(folder, plain)) if is_plain else ""


def _allows(content: str, path: str, bases: Bases, root: str) -> bool:
    folder, pattern = _placed(content, bases, root)
    return _fits(folder, pattern, path, is_anchored=content.strip().startswith(_FIXED) or "/" in pattern.rstrip("/"))


def _forbids(content: str, path: str, bases: Bases, root: str) -> bool:
    """A rule that takes rights is read without regard to case: on many disks `.ENV` is `.env`."""
    folder, pattern = _placed(content, bases, root)
    if content.strip().startswith(_FIXED):
        return _fits(folder.lower(), pattern.lower(), path.lower(), is_anchored=True)
    # Any depth, anywhere: a name without a folder is meant wherever it stands.
    return _fits("/", pattern.lower(), path.lower(), is_anchored=False)


def _placed(content: str, bases: Bases, root: str) -> tuple[str, str]:
    """The folder that a pattern counts from, and the pattern in it."""
    text = content.strip()
    if text.startswith("//"):
        return "/", text.lstrip("/")
    if text.startswith("~/") or text == "~":
        return bases.home, text[2:] or "**"
    if text.startswith("/"):
        return root or bases.cwd, text.lstrip("/")
    folder = bases.cwd
    while text.startswith(("./", "../")):
        folder = posixpath.dirname(folder) if text.startswith("../") else folder
        text = text.split("/", 1)[1]
    return folder, text or "**"


def _fits(folder: str, pattern: str, path: str, *, is_anchored: bool) -> bool:
    if not folder or not pattern:
        return False
    folder, path = posixpath.normpath(folder), posixpath.normpath(path)
    if path == folder:
        return pattern in {".", "**", "*"}
    start = folder if folder.endswith("/") else f"{folder}/"
    if not path.startswith(start):
        return False
    spec = _spec(f"/{pattern}" if is_anchored else f"**/{pattern}")
    return spec is not None and spec.match_file(path[len(start) :])


@lru_cache(maxsize=2048)
def _spec(pattern: str) -> GitIgnoreSpec | None:
    try:
        return GitIgnoreSpec.from_lines([pattern])
    except GitIgnorePatternError:
        return None


def is_pattern(content: str) -> bool:
    """Whether a path rule's content can be read."""
    _, pattern = _placed(content, Bases("/"), "/")
    return bool(pattern) and _spec(f"/{pattern}") is not None


def literal(path: str) -> str:
    """The rule content that means exactly this absolute path; empty for one that no pattern can name."""
    if path != path.strip() or not path.startswith("/") or "\n" in path:
        return ""
    return "//" + "".join(f"\\{char}" if char in "\\*?[]!#" else char for char in path.strip("/"))
