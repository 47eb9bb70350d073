"""Git worktrees of a session's repository: which there are, and where a new one belongs."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from activities.safety.git import git
from activities.safety.paths import real
from workflows.contracts.errors import ToolError

BRANCH = "perdure/"


@dataclass(frozen=True)
class Worktree:
    """One worktree as git lists it."""

    path: Path
    branch: str = ""
    """Empty for none."""
    is_unfinished: bool = False
    """Whoever makes it has not put all files there yet, or died over it."""


@dataclass(frozen=True)
class Worktrees:
    """Those of one repository, the main one first."""

    found: tuple[Worktree, ...]

    @property
    def main(self) -> Path:
        """Folder of the repository itself."""
        return self.found[0].path

    @property
    def place(self) -> Path:
        """Where new ones are made: beside the repository, so that no tool takes them for a part of it."""
        return self.main.parent / f"{self.main.name}.worktrees"

    def at(self, path: Path) -> Worktree | None:
        """The one in that folder."""
        return next((each for each in self.found if real(each.path) == real(path)), None)

    def gone_from(self, folder: Path) -> Worktree | None:
        """The one that a session of ours made around a folder, which is gone with it; None where none can have been."""
        if folder.exists() or not folder.is_relative_to(self.place) or folder == self.place:
            return None
        name = folder.relative_to(self.place).parts[0]
        return Worktree(self.place / name, f"{BRANCH}{name}")

    def is_made_here(self, tree: Worktree) -> bool:
        """Whether a session of ours made it."""
        return tree.path.parent == self.place and tree.branch.startswith(BRANCH)


async def worktrees(folder: Path, environment: Mapping[str, str]) -> Worktrees:
    """Those of the repository around a folder. Raises ToolError when there is none."""
    listed = await git(folder, environment, "worktree", "list", "--porcelain", "-z")
    if listed.code:
        raise ToolError(f"{folder} is in no git repository that can be used: {listed.why}")
    found = []
    for part in listed.out.split("\0\0"):
        facts = dict(line.partition(" ")[::2] for line in part.split("\0") if line)
        if "worktree" in facts and "bare" not in facts:
            branch, lock = facts.get("branch", "").removeprefix("refs/heads/"), facts.get("locked")
            found.append(Worktree(Path(facts["worktree"]), branch, is_unfinished=lock == "initializing"))
    if not found:
        raise ToolError(f"The repository of {folder} has no files of its own, so nothing can be worked on beside it.")
    return Worktrees(tuple(found))
