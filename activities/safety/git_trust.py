"""Does git obey nothing but git here? A configuration may name programs, and files may name other repositories."""

import os
import re
from collections.abc import Callable
from pathlib import Path

from activities.safety.sandbox.git_index import linked_folders
from activities.safety.sandbox.git_keys import names_program
from activities.safety.sandbox.git_places import folder_of, repository_of
from activities.stores.files import read_start

_MOST = 262_144
"""Bytes of a configuration that are read; a longer one is not trusted."""
_DEEPEST = 4
"""Submodules inside each other."""
_SECTION = re.compile(r'\[\s*([\w.-]+)\s*(?:"((?:[^"\\]|\\.)*)")?\s*\]\s*(.*)', re.DOTALL)
_KEY = re.compile(r"([A-Za-z][\w-]*)\s*(?:=\s*(.*))?", re.DOTALL)
_GOES_INSIDE = {("diff", "submodule"), ("status", "submodulesummary"), ("submodule", "recurse")}
"""Keys by which git looks into submodules also where its index names none."""

_KEPT: dict[tuple[Path, Path | None, tuple[int, ...]], bool] = {}
_MOST_KEPT = 256


def is_git_trusted(folder: Path) -> bool:
    """Whether git finds no repository here, or one whose own files neither run programs nor lead elsewhere.

    The same must hold for its submodules: `git status` and `git diff` run git in each.
    """
    root = next((one for one in (folder, *folder.parents) if os.path.lexists(one / ".git")), None)
    if root is None:
        return True
    repository = repository_of(root)
    if repository is None:
        return False
    own = folder_of(repository.entry)
    odd = [repository.common / "config.worktree"]
    if repository.entry == repository.common:
        odd.append(repository.common / "commondir")
    if any(os.path.lexists(path) for path in odd):
        return False
    return own is not None and _is_harmless_file(repository.common / "config") and _are_submodules_trusted(root, own)


def _are_submodules_trusted(root: Path, own: Path, depth: int = 0) -> bool:
    named = linked_folders(own)
    return (
        named is not None
        and (not named or depth < _DEEPEST)
        and all(_is_submodule_trusted(root / name, depth + 1) for name in named)
    )


def _is_submodule_trusted(root: Path, depth: int) -> bool:
    if not os.path.lexists(root / ".git"):
        return True
    own = folder_of(root / ".git")
    if own is None or any(os.path.lexists(own / name) for name in ("config.worktree", "commondir")):
        return False
    return _is_harmless_file(own / "config", root) and _are_submodules_trusted(root, own, depth)


def _is_harmless_file(path: Path, tree: Path | None = None) -> bool:
    """`tree`: where the files of a submodule lie, which its configuration may name."""
    try:
        facts = path.stat()
        stamp = (facts.st_dev, facts.st_ino, facts.st_size, facts.st_mtime_ns, facts.st_ctime_ns)
        known = _KEPT.get((path, tree, stamp))
        if known is None:
            held = read_start(Path(os.path.realpath(path)), _MOST + 1)
            known = len(held) <= _MOST and is_harmless(held.decode(), _leads_to(path.parent, tree))
            while len(_KEPT) >= _MOST_KEPT:
                _KEPT.pop(next(iter(_KEPT)), None)
            _KEPT[path, tree, stamp] = known
        return known
    except FileNotFoundError:
        return True
    except (OSError, ValueError):
        return False


def _leads_to(folder: Path, tree: Path | None) -> Callable[[str], bool]:
    return lambda value: tree is not None and (folder / value).resolve() == tree


def is_harmless(text: str, is_own: Callable[[str], bool] = lambda _value: False) -> bool:
    """Whether a configuration of git names no program; one that cannot be read line by line is not trusted.

    `is_own`: whether `core.worktree` may have that value.
    """
    section = ""
    for line in _lines(text):
        rest = line
        if rest.startswith("["):
            found = _SECTION.fullmatch(rest)
            if found is None:
                return False
            section, rest = found[1].lower().split(".")[0], found[3]
        rest = rest.strip()
        if not rest or rest[0] in "#;":
            continue
        key = _KEY.fullmatch(rest)
        if key is None or not _is_harmless_key(section, key[1].lower(), (key[2] or "").strip().strip('"'), is_own):
            return False
    return True


def _is_harmless_key(section: str, name: str, value: str, is_own: Callable[[str], bool]) -> bool:
    if (section, name) == ("core", "worktree"):
        return is_own(value)
    return (section, name) not in _GOES_INSIDE and not names_program(section, name, value)


def _lines(text: str) -> list[str]:
    """Its lines, those that a backslash continues joined."""
    return [line.strip() for line in text.replace("\r\n", "\n").replace("\\\n", " ").split("\n")]
