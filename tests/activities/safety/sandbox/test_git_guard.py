"""What a command leaves for a later git or agent is moved away; ordinary work of git is not."""

import json
import subprocess
from pathlib import Path

import pytest

from activities.safety.sandbox.git_guard import Inventory, settle, take_inventory


@pytest.fixture
def work(tmp_path: Path) -> Path:
    folder = tmp_path.resolve() / "work"
    git(folder.parent, "init", "-q", "work")
    return folder


def git(folder: Path, *words: str) -> None:
    named = ("-c", "user.name=a", "-c", "user.email=a@b", "-c", "protocol.file.allow=always")
    subprocess.run(["git", *named, *words], cwd=folder, check=True, capture_output=True, timeout=30)


def before(work: Path) -> Inventory:
    """As it comes back from the disk after a crash."""
    found: Inventory = json.loads(json.dumps(take_inventory(work)))
    return found


def names(work: Path, was: Inventory) -> list[str]:
    moved = settle(work, was, work.parent / "quarantine")
    for each in moved:
        assert not Path(each.path).exists()
        assert Path(each.to).exists() or Path(each.to).is_symlink()
    return [str(Path(each.path).relative_to(work)) for each in moved]


def test_ordinary_work_leaves_nothing_to_move(work: Path) -> None:
    was = before(work)
    (work / "a").write_text("a")
    git(work, "add", ".")
    git(work, "commit", "-qm", "a")
    git(work, "branch", "other")
    git(work, "worktree", "add", "-q", "tree", "other")
    git(work, "init", "-q", "below")
    assert names(work, was) == []


def test_git_init_in_a_folder_without_a_repository_is_ordinary(tmp_path: Path) -> None:
    work = tmp_path.resolve() / "w"
    work.mkdir()
    was = before(work)
    git(work, "init", "-q", ".")
    assert names(work, was) == []


@pytest.mark.parametrize("name", ["hooks/post-checkout", "commondir"])
def test_a_planted_control_file_is_moved(work: Path, name: str) -> None:
    was = before(work)
    (work / ".git" / name).write_text("/evil")
    assert names(work, was) == [f".git/{name}"]
    assert names(work, was) == []


def test_a_hook_that_was_there_stays_and_a_changed_one_goes(work: Path) -> None:
    for name in ("pre-commit", "pre-push"):
        (work / ".git/hooks" / name).write_text("#!/bin/sh\n")
    was = before(work)
    (work / ".git/hooks/pre-push").write_text("#!/bin/sh\nevil\n")
    assert names(work, was) == [".git/hooks/pre-push"]


def test_hooks_of_a_repository_below_are_moved(work: Path) -> None:
    was = before(work)
    git(work, "init", "-q", "below")
    (work / "below/.git/hooks/post-checkout").write_text("evil")
    assert names(work, was) == ["below/.git/hooks/post-checkout"]


def test_a_git_file_that_leads_elsewhere_is_moved(tmp_path: Path) -> None:
    work = tmp_path.resolve() / "w"
    work.mkdir()
    was = before(work)
    (work / ".git").write_text("gitdir: /evil\n")
    assert names(work, was) == [".git"]


def test_settings_of_agents_are_moved_and_our_own_stand_ins_removed(work: Path) -> None:
    was = before(work)
    (work / ".perdure").mkdir()
    (work / ".claude").mkdir()
    (work / ".claude/settings.json").write_text("{}")
    (work / ".mcp.json").write_text("{}")
    assert names(work, was) == [".claude", ".mcp.json"]
    assert not (work / ".perdure").exists()


def test_a_new_file_among_present_settings_is_moved_and_the_rest_stays(work: Path) -> None:
    (work / ".claude/skills").mkdir(parents=True)
    (work / ".claude/settings.json").write_text("{}")
    was = before(work)
    (work / ".claude/skills/a b.md").write_text("evil")
    assert names(work, was) == [".claude/skills/a b.md"]
    assert (work / ".claude/settings.json").exists()


def test_a_folder_made_into_a_bare_repository_is_none_afterwards(tmp_path: Path) -> None:
    work = tmp_path.resolve() / "w"
    work.mkdir()
    was = before(work)
    git(work, "init", "-q", "--bare", ".")
    assert names(work, was) == ["HEAD"]
