"""ExitWorktree: come back from the worktree."""

from collections.abc import Mapping
from enum import StrEnum
from pathlib import Path

from pydantic import Field

from activities.safety.environment import command_environment
from activities.safety.git import git
from activities.safety.worktrees import Worktree, Worktrees, worktrees
from activities.tool import Call, Tool, ToolInput
from workflows.contracts.directives import Move
from workflows.contracts.errors import ToolError
from workflows.contracts.messages import Text
from workflows.contracts.tools import Effect, Repeat, ToolOutcome

SHOWN = 20


class Action(StrEnum):
    KEEP = "keep"
    REMOVE = "remove"


class Input(ToolInput):
    action: Action = Field(description="keep leaves the worktree where it is, remove deletes its folder.")
    discard_changes: bool = Field(default=False, description="Remove it although changes in it are not committed.")


class ExitWorktree(Tool[Input]):
    """Come back from a worktree to the session's own folder.

    - `remove` deletes the folder of a worktree that EnterWorktree made. Commits stay on its branch. It is refused
      while changes are not committed, unless `discard_changes` says that they may be lost: ask the person first.
    """

    name = "ExitWorktree"
    input = Input
    repeat = Repeat.CHECKED
    timeout = 300

    def summary(self, given: Input) -> str:
        lost = ", changes that are not committed too" if given.discard_changes else ""
        return f"leave the worktree and {given.action} it{lost}"

    async def run(self, call: Call, given: Input) -> ToolOutcome:
        if call.own_folder is None:
            raise ToolError("The session works in its own folder; there is no worktree to leave.")
        back = f"The session works in {call.own_folder} again."
        if given.action == Action.KEEP:
            return ToolOutcome(content=(Text(text=f"{back} {call.workspace} is kept."),), directives=(Move(),))
        known = await worktrees(call.own_folder, command_environment(call))
        tree = next((each for each in known.found if call.workspace.is_relative_to(each.path)), None)
        if tree is None and call.is_repeat:
            # An attempt that died may have removed it, and only its branch is left.
            tree = known.gone_from(call.workspace)
        if tree is None or not known.is_made_here(tree):
            raise ToolError(f"{call.workspace} was not made by EnterWorktree and is not removed. Leave it with keep.")
        if call.tasks:
            raise ToolError(f"{call.tasks} background tasks run. Stop them first, or leave the worktree with keep.")
        branch = await _removed(call, known, tree, given)
        return ToolOutcome(
            content=(Text(text=f"{back} {tree.path} is removed; {branch}"),),
            effects=(Effect(kind="remove", path=str(tree.path)),),
            directives=(Move(),),
            data={"worktree": str(tree.path), "branch": tree.branch},
        )


async def _removed(call: Call, known: Worktrees, tree: Worktree, given: Input) -> str:
    """Remove it; what became of its branch. Raises ToolError while something of it would be lost."""
    environment = command_environment(call)
    if tree in known.found:
        await _remove_folder(known.main, environment, tree, discards=given.discard_changes)
    # Only a branch without commits of its own goes with it.
    await git(known.main, environment, "branch", "-d", tree.branch)
    left = await git(known.main, environment, "rev-parse", "--verify", "--quiet", f"refs/heads/{tree.branch}")
    return f"its branch {tree.branch} is {'gone too' if left.code else 'kept, it has commits that are nowhere else'}."


async def _remove_folder(main: Path, environment: Mapping[str, str], tree: Worktree, *, discards: bool) -> None:
    if not discards:
        status = await git(tree.path, environment, "status", "--porcelain", "--untracked-files=all")
        if status.code:
            raise ToolError(f"Whether changes would be lost cannot be told: {status.why}")
        if changes := status.out.splitlines():
            more = f"\n… and {len(changes) - SHOWN} more" if len(changes) > SHOWN else ""
            listed = "\n".join(changes[:SHOWN])
            raise ToolError(
                f"Changes in {tree.path} are not committed; commit them, or keep the worktree:\n{listed}{more}"
            )
    force = ("--force",) if discards else ()
    removed = await git(main, environment, "worktree", "remove", *force, str(tree.path), beside=tree.path)
    if removed.code:
        raise ToolError(f"The worktree could not be removed: {removed.why}")
