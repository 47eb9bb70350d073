"""Git kept: which files git shows in any case, since it holds them itself."""

import os
from collections.abc import Callable
from pathlib import Path

from activities.safety.sandbox.git_index import kept_files
from activities.safety.sandbox.git_places import folder_of


def kept_by_git(workspace: str) -> Callable[[str], bool]:
    """Whether the repository around the workspace holds a file, or anything of a folder."""
    root = next((one for one in (Path(workspace), *Path(workspace).parents) if os.path.lexists(one / ".git")), Path())
    git = folder_of(root / ".git")
    kept = [f"{root}/{name}" for name in (kept_files(git) if git else None) or ()]
    known = set(kept)
    return lambda path: path in known or any(each.startswith(f"{path}/") for each in kept)
