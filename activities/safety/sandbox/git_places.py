"""Git's control files: which make a later git run somebody's code, and where the repository of a workspace lies."""

import os
import stat
from dataclasses import dataclass
from pathlib import Path

from activities.stores.files import read_start

CONTROL = ("hooks", "config", "config.worktree", "info/attributes", "commondir")
"""In a repository's folder."""

MOST_MODULES = 1_000
"""Of submodules, and of worktrees, that are looked at."""


@dataclass(frozen=True)
class Repository:
    """Where git keeps what belongs to a workspace."""

    entry: Path
    """`.git` in the workspace: a folder, or the file of a worktree."""
    common: Path
    """Folder with objects, refs, hooks and config; the entry itself but for worktrees."""


def repository_of(workspace: Path) -> Repository | None:
    """The repository whose `.git` stands in the workspace; None without one, or when its file does not lead home.

    The file of a worktree is believed only when the repository it names points back: a planted one would open any
    folder to the commands.
    """
    entry = workspace / ".git"
    if is_folder(entry):
        return Repository(entry, entry)
    folder = named_in(entry, "gitdir:")
    if folder is None or folder.parent.name != "worktrees" or named_in(folder / "gitdir") != entry.resolve():
        return None
    common = named_in(folder / "commondir")
    return Repository(entry, common) if common == folder.parent.parent and common.is_dir() else None


def is_folder(path: Path) -> bool:
    """Whether a folder stands there itself, no link to one; not where nobody may look."""
    try:
        return stat.S_ISDIR(path.lstat().st_mode)
    except OSError:
        return False


def named_in(file: Path, before: str = "") -> Path | None:
    """The real path that a small file of git names; None for a link, and for what names none."""
    try:
        text = read_start(file, 4096).decode().strip()
        return Path(os.path.realpath(file.parent / text.removeprefix(before).strip())) if _names(text, before) else None
    except (OSError, ValueError):
        return None


def folder_of(entry: Path) -> Path | None:
    """Where the repository whose `.git` that is keeps its index; None where a link or nothing stands there."""
    return entry if is_folder(entry) else named_in(entry, "gitdir:")


def _names(text: str, before: str) -> bool:
    return text.startswith(before) and bool(text.removeprefix(before).strip())


def control_files(repository: Repository) -> list[Path]:
    """Every control file that may be there; the caller looks which are."""
    found = [repository.common / name for name in CONTROL]
    for module in modules(repository.common / "modules"):
        found += [module / name for name in CONTROL]
    for tree in worktrees(repository):
        found += [tree / name for name in ("config.worktree", "commondir", "gitdir")]
    return found


def configurations(repository: Repository) -> list[Path]:
    """The files that git writes when it is told of a remote, a branch's upstream or a name."""
    folder = folder_of(repository.entry)
    beside = [] if folder in {None, repository.common} else [folder / "config.worktree"]
    return [repository.common / "config", repository.common / "config.worktree", *beside]


def worktrees(repository: Repository) -> list[Path]:
    """What the repository keeps of each of its worktrees."""
    return [folder for folder in _in(repository.common / "worktrees") if is_folder(folder)][:MOST_MODULES]


def modules(folder: Path, depth: int = 3) -> list[Path]:
    """The repositories of submodules below a `modules` folder."""
    found: list[Path] = []
    for child in _in(folder) if depth else ():
        if os.path.lexists(child / "HEAD"):
            found += [child, *modules(child / "modules", depth - 1)]
        elif is_folder(child):
            found += modules(child, depth - 1)
    return found[:MOST_MODULES]


def _in(folder: Path) -> list[Path]:
    """What stands in a folder that is no link; nothing where nobody may look."""
    try:
        return sorted(folder.iterdir()) if is_folder(folder) else []
    except OSError:
        return []
