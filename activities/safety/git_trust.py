"""Does git obey nothing but git here? A configuration may name programs, and files may name other repositories."""

import os
import re
from pathlib import Path

from activities.safety.sandbox.git_keys import names_program
from activities.safety.sandbox.git_places import repository_of

_MOST = 262_144
"""Bytes of a configuration that are read; a longer one is not trusted."""
_SECTION = re.compile(r'\[\s*([\w.-]+)\s*(?:"((?:[^"\\]|\\.)*)")?\s*\]\s*(.*)', re.DOTALL)
_KEY = re.compile(r"([A-Za-z][\w-]*)\s*(?:=\s*(.*))?", re.DOTALL)

_KEPT: dict[tuple[str, tuple[int, ...]], bool] = {}
_MOST_KEPT = 256


def is_git_trusted(folder: Path) -> bool:
    """Whether git finds no repository here, or one whose own files neither run programs nor lead elsewhere."""
    root = next((one for one in (folder, *folder.parents) if os.path.lexists(one / ".git")), None)
    if root is None:
        return True
    repository = repository_of(root)
    if repository is None:
        return False
    odd = [repository.common / "config.worktree"]
    if repository.entry == repository.common:
        odd.append(repository.common / "commondir")
    if any(os.path.lexists(path) for path in odd):
        return False
    return _is_harmless_file(repository.common / "config")


def _is_harmless_file(path: Path) -> bool:
    try:
        facts = path.stat()
        stamp = (facts.st_dev, facts.st_ino, facts.st_size, facts.st_mtime_ns, facts.st_ctime_ns)
        known = _KEPT.get((str(path), stamp))
        if known is None:
            known = facts.st_size <= _MOST and is_harmless(path.read_text(encoding="utf-8"))
            while len(_KEPT) >= _MOST_KEPT:
                _KEPT.pop(next(iter(_KEPT)), None)
            _KEPT[str(path), stamp] = known
        return known
    except FileNotFoundError:
        return True
    except (OSError, ValueError):
        return False


def is_harmless(text: str) -> bool:
    """Whether a configuration of git names no program; one that cannot be read line by line is not trusted."""
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
        if key is None or names_program(section, key[1].lower(), (key[2] or "").strip().strip('"')):
            return False
    return True


def _lines(text: str) -> list[str]:
    """Its lines, those that a backslash continues joined."""
    return [line.strip() for line in text.replace("\r\n", "\n").replace("\\\n", " ").split("\n")]
