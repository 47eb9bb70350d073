"""Does git obey nothing but git here? A configuration may name programs, and files may name other repositories."""

import os
import re
from pathlib import Path

from activities.safety.sandbox.git_places import repository_of

_MOST = 262_144
"""Bytes of a configuration that are read; a longer one is not trusted."""
_SECTION = re.compile(r'\[\s*([\w.-]+)\s*(?:"((?:[^"\\]|\\.)*)")?\s*\]\s*(.*)', re.DOTALL)
_KEY = re.compile(r"([A-Za-z][\w-]*)\s*(?:=\s*(.*))?", re.DOTALL)

_RUNS = {
    "core": {"fsmonitor", "pager", "sshcommand", "editor", "askpass", "hookspath", "gitproxy", "alternaterefscommand",
             "attributesfile", "worktree"},
    "diff": {"external", "command", "textconv"},
    "filter": {"clean", "smudge", "process"},
    "merge": {"driver"},
    "gpg": {"program", "defaultkeycommand"},
    "credential": {"helper"},
    "include": {"path"},
    "includeif": {"path"},
    "sequence": {"editor"},
    "interactive": {"difffilter"},
    "difftool": {"cmd", "path"},
    "mergetool": {"cmd", "path"},
    "browser": {"cmd", "path"},
    "man": {"cmd", "path"},
    "remote": {"uploadpack", "receivepack", "vcs", "proxy"},
    "uploadpack": {"packobjectshook"},
    "init": {"templatedir"},
    "sendemail": {"sendmailcmd", "smtpserver", "tocmd", "cccmd", "headercmd"},
    "trailer": {"cmd", "command"},
    "submodule": {"update"},
    "tar": {"command"},
    "ssh": {"variant"},
    "web": {"browser"},
}  # fmt: skip
"""Keys that name a program, a folder of programs, or a file with more such keys (corpora README §1)."""

_EVERY_KEY = {"pager"}
"""Sections of which each key may be a program."""
_HARMLESS = {"", "true", "false", "yes", "no", "on", "off", "0", "1"}

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
        if key is None or _runs(section, key[1].lower(), (key[2] or "").strip()):
            return False
    return True


def _lines(text: str) -> list[str]:
    """Its lines, those that a backslash continues joined."""
    return [line.strip() for line in text.replace("\r\n", "\n").replace("\\\n", " ").split("\n")]


def _runs(section: str, key: str, value: str) -> bool:
    bare = value.strip('"').lower()
    if section == "alias":
        return value.lstrip('"').lstrip().startswith("!")
    if section in _EVERY_KEY or key in _RUNS.get(section, ()):
        return bare not in _HARMLESS
    return False
