"""Git's control files: which make a later git run somebody's code, and where the repository of a workspace lies."""

from dataclasses import dataclass
from pathlib import Path

CONTROL = ("hooks", "config", "config.worktree", "info/attributes")
"""In a repository's folder; `commondir` too, where it is no worktree's."""

MOST_MODULES = 200


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
    if entry.is_symlink() or not entry.exists():
        return None
    if entry.is_dir():
        return Repository(entry, entry)
    folder = _named_in(entry, "gitdir:")
    if folder is None or folder.parent.name != "worktrees" or _named_in(folder / "gitdir") != entry.resolve():
        return None
    common = _named_in(folder / "commondir")
    return Repository(entry, common) if common == folder.parent.parent and common.is_dir() else None


def _named_in(file: Path, before: str = "") -> Path | None:
    """The real path that a small file of git names."""
    try:
        text = file.read_bytes()[:4096].decode().strip()
    except (OSError, UnicodeDecodeError):
        return None
    if not text.startswith(before):
        return None
    return (file.parent / text.removeprefix(before).strip()).resolve()


def control_files(repository: Repository) -> list[Path]:
    """Every control file that may be there; the caller looks which are."""
    found = [repository.common / name for name in (*CONTROL, "commondir")]
    for module in modules(repository.common / "modules"):
        found += [module / name for name in (*CONTROL, "commondir")]
    for tree in sorted(repository.common.glob("worktrees/*"))[:MOST_MODULES]:
        found += [tree / name for name in ("config.worktree", "commondir", "gitdir")]
    return found


def configurations(repository: Repository) -> list[Path]:
    """The files that git writes when it is told of a remote, a branch's upstream or a name."""
    folder = repository.entry if repository.entry.is_dir() else _named_in(repository.entry, "gitdir:")
    beside = [] if folder in {None, repository.common} else [folder / "config.worktree"]
    return [repository.common / "config", repository.common / "config.worktree", *beside]


def modules(folder: Path, depth: int = 3) -> list[Path]:
    """The repositories of submodules below a `modules` folder."""
    if depth == 0 or not folder.is_dir() or folder.is_symlink():
        return []
    found: list[Path] = []
    for child in sorted(folder.iterdir())[:MOST_MODULES]:
        if (child / "HEAD").exists():
            found += [child, *modules(child / "modules", depth - 1)]
        elif child.is_dir():
            found += modules(child, depth - 1)
    return found[:MOST_MODULES]
