"""Git found: the repositories that a git in the workspace enters, and the entries that lead it to others."""

import os
from collections.abc import Iterable, Iterator
from pathlib import Path

from activities.safety.sandbox.git_index import linked_folders
from activities.safety.sandbox.git_places import (
    Repository,
    folder_of,
    is_folder,
    modules,
    named_in,
    repository_of,
    worktrees,
)

MOST_LINKED = 1_000
"""Deeper folders that are looked at since an index holds them."""


def repositories(workspace: Path) -> list[Repository]:
    """The workspace's own, those right below it, and deeper ones that a git enters from these by itself."""
    own, nested = repository_of(workspace), [each / ".git" for each in _folders(workspace)]
    return [*([own] if own else []), *(Repository(each, each) for each in nested if is_folder(each))]


def strays(workspace: Path) -> Iterator[Path]:
    """What is named `.git` below the workspace and leads git to a repository whose control files nobody looks at."""
    entries = [entry for each in _folders(workspace) if not is_folder(entry := each / ".git")]
    known = set(_parts(repositories(workspace)) if entries else ())
    yield from (entry for entry in entries if named_in(entry, "gitdir:") not in known)


def _parts(found: Iterable[Repository]) -> Iterator[Path]:
    """What these keep of their submodules and worktrees, whose control files are looked at, by their real paths."""
    for each in found:
        for folder in (*modules(each.common / "modules"), *worktrees(each)):
            yield Path(os.path.realpath(folder))


def _folders(workspace: Path) -> list[Path]:
    """The folders below the workspace in which something named `.git` stands, and no link leads to them."""
    waiting, found, looked_at = [*_below(workspace), *_linked(workspace)], dict[Path, None](), 0
    while waiting:
        folder = waiting.pop()
        if folder not in found and os.path.lexists(folder / ".git"):
            found[folder] = None
            linked = _linked(folder)
            looked_at += len(linked)
            waiting += linked if looked_at <= MOST_LINKED else ()
    return sorted(found)


def _below(workspace: Path) -> list[Path]:
    with os.scandir(workspace) as entries:
        return [workspace / each.name for each in entries if each.is_dir(follow_symlinks=False) and each.name != ".git"]


def _linked(folder: Path) -> list[Path]:
    """What its index holds as repositories, inside of it by their real paths."""
    git = folder_of(folder / ".git")
    real = Path(os.path.realpath(folder))
    paths = (folder / name for name in ((linked_folders(git) if git else None) or ()))
    return [path for path in paths if os.path.realpath(path) == str(real / path.relative_to(folder))]
