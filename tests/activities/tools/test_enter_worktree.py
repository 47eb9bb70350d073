"""A session moves into a git worktree and back, loses nothing on the way, and runs no code of the repository."""

import asyncio
import subprocess
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from activities.tools.enter_worktree import EnterWorktree
from activities.tools.exit_worktree import ExitWorktree
from tests.activities.tool_calls.stage import Stage, text, use
from tests.fakes.world import make_call
from tests.fakes.world import use as used
from workflows.contracts.directives import Move
from workflows.contracts.tools import CallStatus, ToolDone
from workflows.contracts.transcript import OutcomeBody

pytestmark = pytest.mark.journey


def git(folder: Path, *words: str) -> str:
    """Run git as a person would, who has no settings."""
    named = ("-c", "user.name=t", "-c", "user.email=t@t", "-c", "init.defaultBranch=main")
    return subprocess.run(["git", *named, *words], cwd=folder, check=True, capture_output=True, text=True).stdout


@pytest.fixture
def stage(tmp_path: Path) -> Stage:
    made = Stage(tmp_path)
    (made.workspace / "a.txt").write_text("one\n")
    git(made.workspace, "init")
    git(made.workspace, "add", ".")
    git(made.workspace, "commit", "-m", "first")
    return made


def place(stage: Stage, name: str) -> Path:
    return stage.workspace.parent / "work.worktrees" / name


async def enter(stage: Stage, **given: Any) -> tuple[ToolDone, OutcomeBody]:
    return await stage.run(use("EnterWorktree", **given))


async def leave(stage: Stage, workspace: Path, exchange: int = 2, **given: Any) -> tuple[ToolDone, OutcomeBody]:
    return await stage.run(use("ExitWorktree", **given), workspace=str(workspace), exchange=exchange)


async def test_the_session_goes_on_in_a_new_worktree_and_comes_back(stage: Stage) -> None:
    (stage.workspace / "a.txt").write_text("not committed\n")
    done, body = await enter(stage, name="feature")
    tree = place(stage, "feature")
    assert done.directives == (Move(workspace=str(tree)),), text(body)
    assert (tree / "a.txt").read_text() == "one\n"
    assert git(tree, "branch", "--show-current") == "perdure/feature\n"
    _done, body = await stage.run(use("Bash", command="pwd; echo two > b.txt"), workspace=str(tree), exchange=3)
    assert text(body).splitlines()[0] == str(tree)
    assert (tree / "b.txt").exists()
    done, body = await leave(stage, tree, action="keep")
    assert done.directives == (Move(),)
    assert (tree / "b.txt").exists()
    assert (stage.workspace / "a.txt").read_text() == "not committed\n"


def left_half_made(stage: Stage, name: str) -> Path:
    """A worktree as git leaves it when it is killed while it puts the files there."""
    tree = place(stage, name)
    git(stage.workspace, "worktree", "add", "-b", f"perdure/{name}", str(tree))
    git(stage.workspace, "worktree", "lock", "--reason", "initializing", str(tree))
    (tree / "a.txt").unlink()
    return tree


@pytest.mark.timeout(90)
@pytest.mark.parametrize("is_repeat", [False, True])
async def test_a_worktree_whose_maker_was_killed_is_made_anew(stage: Stage, *, is_repeat: bool) -> None:
    tree = left_half_made(stage, "feature")
    outcome = await used(make_call(stage.world, stage.workspace, is_repeat=is_repeat), EnterWorktree(), name="feature")
    assert outcome.directives == (Move(workspace=str(tree)),)
    assert (tree / "a.txt").read_text() == "one\n"
    assert "locked" not in git(stage.workspace, "worktree", "list", "--porcelain")


@pytest.mark.timeout(90)
async def test_a_worktree_is_entered_once_its_maker_has_finished_it(stage: Stage) -> None:
    tree = left_half_made(stage, "feature")
    call = make_call(stage.world, stage.workspace, is_repeat=True)
    entering = asyncio.ensure_future(used(call, EnterWorktree(), name="feature"))
    await asyncio.sleep(1)
    (tree / "a.txt").write_text("finished\n")
    git(stage.workspace, "worktree", "unlock", str(tree))
    assert (await entering).directives == (Move(workspace=str(tree)),)
    assert (tree / "a.txt").read_text() == "finished\n"


async def test_a_worktree_that_is_not_finished_is_not_entered_by_its_path(stage: Stage) -> None:
    tree = left_half_made(stage, "feature")
    _done, body = await enter(stage, path=str(tree))
    assert body.status == CallStatus.ERROR
    assert "not all there yet" in text(body)


async def test_paths_are_checked_against_the_worktree_once_the_session_works_there(stage: Stage) -> None:
    await enter(stage, name="feature")
    tree = place(stage, "feature")
    done, _body = await stage.run(use("Write", file_path="new", content="x"), workspace=str(tree), exchange=3)
    assert done.status == CallStatus.OK
    assert (tree / "new").exists()
    outside = stage.request(mode="acceptEdits", workspace=str(tree), exchange=4)
    await stage.reply(use("Write", file_path=str(stage.workspace / "other"), content="x"))
    from activities.tool_calls.run import run_tool

    done = await run_tool(stage.world, outside.model_copy(update={"entry": stage.entry, "context": stage.context}))
    assert done.status == CallStatus.NEEDS_APPROVAL


async def test_what_is_not_committed_is_lost_only_when_the_call_says_so(stage: Stage) -> None:
    await enter(stage, name="feature")
    tree = place(stage, "feature")
    (tree / "precious").write_text("x")
    done, body = await leave(stage, tree, action="remove")
    assert (done.status, done.directives) == (CallStatus.ERROR, ())
    assert "?? precious" in text(body)
    done, _body = await leave(stage, tree, exchange=3, action="remove", discard_changes=True)
    assert done.directives == (Move(),)
    assert not tree.exists()
    assert "perdure/feature" not in git(stage.workspace, "branch")


async def test_commits_stay_on_their_branch(stage: Stage) -> None:
    await enter(stage, name="feature")
    tree = place(stage, "feature")
    git(tree, "commit", "--allow-empty", "-m", "work")
    _done, body = await leave(stage, tree, action="remove")
    assert "kept, it has commits" in text(body)
    assert git(stage.workspace, "log", "-1", "--format=%s", "perdure/feature") == "work\n"


async def test_a_worktree_that_is_there_is_entered_and_never_removed(stage: Stage) -> None:
    other = stage.workspace.parent / "mine"
    git(stage.workspace, "worktree", "add", str(other))
    done, _body = await enter(stage, path=str(other))
    assert done.directives == (Move(workspace=str(other)),)
    done, body = await leave(stage, other, action="remove", discard_changes=True)
    assert "was not made by EnterWorktree" in text(body)
    assert other.exists()
    done, body = await enter(stage, path="/tmp")  # the folder of no worktree
    assert "is no worktree of this repository" in text(body)


async def test_a_call_that_is_tried_again_enters_what_it_made(stage: Stage) -> None:
    first, _body = await enter(stage)
    (record,) = stage.world.journal.calls("s1")
    (record.path / "outcome").unlink()
    second, body = await stage.after_a_crash().again()
    assert second.directives == first.directives
    assert body.crash == "repeated"
    assert len(git(stage.workspace, "worktree", "list").splitlines()) == 2


async def test_a_call_that_died_after_the_folder_was_gone_tells_of_it_and_takes_the_branch_too(stage: Stage) -> None:
    await enter(stage, name="feature")
    tree = place(stage, "feature")
    git(stage.workspace, "worktree", "remove", str(tree))
    call = make_call(stage.world, stage.workspace, "ExitWorktree", is_repeat=True)
    call = replace(call, workspace=tree, own_folder=stage.workspace)
    told = await ExitWorktree().run(call, ExitWorktree.input.model_validate({"action": "remove"}))
    assert [(effect.kind, effect.path) for effect in told.effects] == [("remove", str(tree))]
    assert "perdure/feature" not in git(stage.workspace, "branch")


async def test_a_name_that_is_taken_or_odd_is_refused(stage: Stage) -> None:
    place(stage, "taken").mkdir(parents=True)
    for given, wrong in (
        ({"name": "taken"}, "is no worktree"),
        ({"name": "../out"}, "letters, digits"),
        ({"name": "a", "path": "b"}, "not both"),
    ):
        done, body = await enter(stage, **given)
        assert (done.status, done.directives) == (CallStatus.ERROR, ())
        assert wrong in text(body)
    _done, body = await stage.run(use("ExitWorktree", action="keep"), exchange=5)
    assert "no worktree to leave" in text(body)


async def test_without_a_repository_nothing_is_made(tmp_path: Path) -> None:
    _done, body = await enter(Stage(tmp_path), name="x")
    assert "in no git repository" in text(body)


async def test_neither_hooks_nor_filters_of_the_repository_run(stage: Stage) -> None:
    hook = stage.workspace / ".git/hooks/post-checkout"
    hook.write_text(f"#!/bin/sh\ntouch {stage.folder}/hooked\n")
    hook.chmod(0o755)
    (stage.workspace / ".gitattributes").write_text("* filter=bad\n")
    git(stage.workspace, "add", ".gitattributes")
    git(stage.workspace, "commit", "-m", "attributes")
    git(stage.workspace, "config", "filter.bad.smudge", f"touch {stage.folder}/filtered; cat")
    git(stage.workspace, "config", "filter.bad.required", "true")
    git(stage.workspace, "config", "core.fsmonitor", f"touch {stage.folder}/watched")
    done, body = await enter(stage, name="safe")
    assert done.status == CallStatus.OK, text(body)
    assert (await leave(stage, place(stage, "safe"), action="remove"))[0].status == CallStatus.OK
    assert [name for name in ("hooked", "filtered", "watched") if (stage.folder / name).exists()] == []
