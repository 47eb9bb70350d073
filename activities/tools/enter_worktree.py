"""EnterWorktree: work in a separate git worktree."""

import asyncio
import re
import time
from pathlib import Path
from typing import Self

from pydantic import Field, model_validator

from activities.safety.environment import command_environment
from activities.safety.git import git
from activities.safety.worktrees import BRANCH, Worktree, Worktrees, worktrees
from activities.tool import Call, Tool, ToolInput
from workflows.contracts.directives import Move
from workflows.contracts.errors import ToolError
from workflows.contracts.messages import Text
from workflows.contracts.tools import Effect, Repeat, ToolOutcome

FINISHED_S, LOOK_S = 20.0, 0.5
"""Seconds that one whose maker may have died is waited for, and between two looks at it."""
LONGEST_PATH = 700
"""Bytes of a folder's path, which travels through the session's history."""
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")


class Input(ToolInput):
    name: str = Field(default="", description="Name of a new worktree: letters, digits, dots, dashes, underscores.")
    path: str = Field(default="", description="Folder of a worktree of this repository that is there already.")

    @model_validator(mode="after")
    def _one_of_both(self) -> Self:
        if self.name and self.path:
            raise ValueError("give a name or a path, not both")
        if self.name and (not _NAME.fullmatch(self.name) or ".." in self.name or self.name.endswith((".", ".lock"))):
            raise ValueError("a name has letters, digits, dots, dashes and underscores, at most 64")
        return self


class EnterWorktree(Tool[Input]):
    """Go on in a git worktree of its own, so that the files of the session's folder stay as they are.

    - With a `name`, or with nothing, a new one is made beside the repository, on a new branch from the present commit;
      changes that are not committed stay where they are. With a `path`, one that is there is entered.
    - From then on commands start there, and relative paths count from there. ExitWorktree comes back.
    - Only when the person asked for a worktree, or for work that must not touch their files.
    """

    name = "EnterWorktree"
    input = Input
    repeat = Repeat.CHECKED
    timeout = 300

    def summary(self, given: Input) -> str:
        return f"work in the worktree {given.path or given.name or '(new)'}"

    async def run(self, call: Call, given: Input) -> ToolOutcome:
        if call.own_folder is not None:
            raise ToolError(
                f"The session works in a worktree already: {call.workspace}. ExitWorktree comes back first."
            )
        environment = command_environment(call)
        known = await worktrees(call.workspace, environment)
        inside = _inside(call.workspace, known)
        if given.path:
            tree, is_new = _named(known, call.path(given.path)), False
        else:
            tree, is_new = await _made(call, known, given.name or f"{call.session}-{call.exchange}")
        folder = tree.path / inside if (tree.path / inside).is_dir() else tree.path
        text = (
            f"The session works in {folder} now{f', on branch {tree.branch}' if tree.branch else ''}. Files named by "
            f"absolute paths in {call.workspace} are those of the folder it left; ExitWorktree comes back to it."
        )
        return ToolOutcome(
            content=(Text(text=text),),
            effects=(Effect(kind="create", path=str(tree.path)),) if is_new else (),
            directives=(Move(workspace=str(folder)),),
            data={"worktree": str(tree.path), "branch": tree.branch},
        )


def _inside(workspace: Path, known: Worktrees) -> Path:
    """Where the session's folder lies in its worktree."""
    roots = [tree.path for tree in known.found if workspace.is_relative_to(tree.path)]
    return workspace.relative_to(max(roots, key=lambda path: len(path.parts))) if roots else Path()


def _named(known: Worktrees, path: Path) -> Worktree:
    _check_length(path)
    tree = known.at(path)
    if tree is None or not tree.path.is_dir():
        names = ", ".join(str(each.path) for each in known.found[:10])
        raise ToolError(f"{path} is no worktree of this repository. There are: {names}.")
    if tree.is_unfinished:
        raise ToolError(f"{path} is a worktree whose files are not all there yet. Choose another, or make a new one.")
    return tree


async def _made(call: Call, known: Worktrees, name: str) -> tuple[Worktree, bool]:
    """The worktree of that name, and whether it is new."""
    target, branch, environment = known.place / name, f"{BRANCH}{name}", command_environment(call)
    _check_length(target)
    if (there := await _finished(call, known, target)) is not None and target.is_dir():
        if not call.is_repeat and there.branch != branch:
            raise ToolError(f"{target} is a worktree of another branch. Enter it by its path, or choose another name.")
        return there, call.is_repeat
    if target.exists():
        raise ToolError(f"{target} exists and is no worktree. Choose another name.")
    has_branch = await git(known.main, environment, "rev-parse", "--verify", "--quiet", f"refs/heads/{branch}")
    where = (str(target), branch) if has_branch.code == 0 else ("-b", branch, str(target), "HEAD")
    added = await git(call.workspace, environment, "worktree", "add", *where)
    if added.code:
        raise ToolError(f"The worktree could not be made: {added.why}")
    return Worktree(target, branch), True


async def _finished(call: Call, known: Worktrees, target: Path) -> Worktree | None:
    """The worktree there, once all its files are; one that nobody finishes is taken away to be made anew."""
    environment, until = command_environment(call), time.monotonic() + FINISHED_S
    while (there := known.at(target)) is not None and there.is_unfinished and time.monotonic() < until:
        await asyncio.sleep(LOOK_S)
        known = await worktrees(call.workspace, environment)
    if there is None or not there.is_unfinished:
        return there
    if not known.is_made_here(there):
        raise ToolError(f"{target} is a worktree that somebody else makes. Choose another name.")
    # Twice: git's own lock is on it. Nobody has worked in what nobody could enter.
    removed = await git(known.main, environment, "worktree", "remove", "--force", "--force", str(target))
    if removed.code:
        raise ToolError(f"{target} is a worktree that was never finished, and cannot be removed: {removed.why}")
    return None


def _check_length(path: Path) -> None:
    if len(str(path).encode()) > LONGEST_PATH:
        raise ToolError(f"The path of that worktree has over {LONGEST_PATH} bytes. Choose a shorter one.")
