"""What a command leaves for a later git or agent is moved away; ordinary work of git is not."""

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from activities.safety.sandbox.denials import quarantined
from activities.safety.sandbox.git_guard import Inventory, settle, take_inventory
from activities.safety.sandbox.quarantine import copied_away
from tests.fakes.held import PROJECT


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


HOOK = "#!/bin/sh\nevil\n"


@pytest.mark.parametrize(
    "line",
    [
        "mkfifo .git/info/attributes",
        "truncate -s 30G .git/info/attributes",
        "mkfifo .git/commondir",
        "git init -q below && mkfifo below/.git/info/attributes",
        "ln -s /dev/zero .git/info/attributes",
    ],
)
def test_what_cannot_be_read_to_its_end_is_moved_without_reading_it(work: Path, line: str) -> None:
    (work / ".git/info").mkdir(exist_ok=True)
    was = before(work)
    subprocess.run(["bash", "-c", line], cwd=work, check=True, timeout=10)
    assert len(names(work, was)) == 1
    assert names(work, was) == []


@pytest.mark.parametrize("line", ["mkfifo .git", "truncate -s 30G .git", "printf 'gitdir: a\\0b' > .git"])
def test_a_git_entry_that_is_no_folder_is_moved_without_reading_it(tmp_path: Path, line: str) -> None:
    work = tmp_path.resolve() / "w"
    work.mkdir()
    was = before(work)
    subprocess.run(["bash", "-c", line], cwd=work, check=True, timeout=10)
    assert names(work, was) == [".git"]


def test_a_filter_behind_much_else_is_found(work: Path) -> None:
    (work / ".git/info").mkdir(exist_ok=True)
    was = before(work)
    (work / ".git/info/attributes").write_text("#" * 70_000 + "\n* filter=evil\n")
    assert names(work, was) == [".git/info/attributes"]


def test_a_hook_among_very_many_is_not_overlooked(work: Path) -> None:
    was = before(work)
    git(work, "init", "-q", "below")
    for number in range(600):
        (work / f"below/.git/hooks/{number:04}").touch()
    (work / "below/.git/hooks/pre-commit").write_text(HOOK)
    assert names(work, was) == ["below/.git/hooks"]


def test_a_repository_behind_very_many_folders_is_not_overlooked(work: Path) -> None:
    was = before(work)
    for number in range(150):
        (work / f"{number:04}" / ".git").mkdir(parents=True)
    git(work, "init", "-q", "below")
    (work / "below/.git/hooks/pre-commit").write_text(HOOK)
    assert names(work, was) == ["below/.git/hooks/pre-commit"]


@pytest.mark.parametrize("name", ["a" * 255, "b\n\x1b[31m", "\udcff"])
def test_a_hook_of_any_name_is_moved_under_a_plain_one(work: Path, name: str) -> None:
    was = before(work)
    git(work, "init", "-q", "below")
    (work / "below/.git/hooks" / name).write_text(HOOK)
    moved = settle(work, was, work.parent / "quarantine")
    assert [Path(each.path).name for each in moved] == [name]
    assert all(each.to.isprintable() for each in moved)


def nested(work: Path, folder: str) -> Path:
    git(work, "init", "-q", folder)
    git(work / folder, "commit", "-q", "--allow-empty", "-m", "a")
    return work / folder / ".git"


def linked(work: Path, folder: str) -> None:
    """A repository below another as git itself holds it: an entry of its index."""
    git(work, "add", folder)


@pytest.mark.parametrize("version", ["2", "3", "4"])
def test_hooks_of_a_repository_that_the_index_leads_into_are_moved_however_deep(work: Path, version: str) -> None:
    was = before(work)
    inner = nested(work, "a/b/c")
    (work / "a/first").touch()
    git(work, "config", "index.version", version)
    git(work, "add", "a/first")
    linked(work, "a/b/c")
    (inner / "hooks/pre-commit").write_text(HOOK)
    assert names(work, was) == ["a/b/c/.git/hooks/pre-commit"]


def test_hooks_of_a_repository_inside_such_a_one_are_moved(work: Path) -> None:
    was = before(work)
    inner = nested(work, "a/b/c")
    innermost = nested(work / "a/b/c", "d/e")
    linked(work / "a/b/c", "d/e")
    linked(work, "a/b/c")
    assert inner.is_dir()
    (innermost / "hooks/pre-commit").write_text(HOOK)
    assert names(work, was) == ["a/b/c/d/e/.git/hooks/pre-commit"]


@pytest.mark.parametrize(
    "line",
    [
        "mv below/.git evil && echo 'gitdir: ../evil' > below/.git",
        "mv below/.git evil && ln -s ../evil below/.git",
        "rm -r below/.git && mkfifo below/.git",
        "mv below/.git .git/worktrees-evil && echo 'gitdir: ../.git/worktrees-evil' > below/.git",
    ],
)
def test_an_entry_below_that_leads_to_a_repository_which_nobody_looks_at_is_moved(work: Path, line: str) -> None:
    was = before(work)
    git(work, "init", "-q", "below")
    subprocess.run(["bash", "-c", line], cwd=work, check=True, timeout=10)
    assert names(work, was) == ["below/.git"]
    assert names(work, was) == []


def test_a_worktree_that_is_kept_by_another_repository_is_moved(work: Path) -> None:
    git(work, "commit", "-q", "--allow-empty", "-m", "a")
    was = before(work)
    git(work, "worktree", "add", "-q", "tree")
    git(work, "init", "-q", "--bare", "evil")
    (work / ".git/worktrees/tree/commondir").write_text("../../../evil\n")
    assert names(work, was) == [".git/worktrees/tree/commondir"]


def test_a_submodule_is_ordinary(work: Path) -> None:
    other = work.parent / "other"
    git(work.parent, "init", "-q", "other")
    git(other, "commit", "-q", "--allow-empty", "-m", "a")
    was = before(work)
    git(work, "submodule", "add", "-q", str(other), "parts/one")
    git(work, "submodule", "add", "-q", str(other), "two")
    assert names(work, was) == []


def test_what_moved_across_disks_is_kept_as_far_as_it_can_be(tmp_path: Path) -> None:
    source, target = tmp_path / "there", tmp_path / "here"
    (source / "in").mkdir(parents=True)
    (source / "in/hook").write_text(HOOK)
    (source / "link").symlink_to("/nowhere")
    os.mkfifo(source / "pipe")
    (source / "large").touch()
    os.truncate(source / "large", 30 * 1024**3)
    copied_away(source, target)
    assert not source.exists()
    assert (target / "in/hook").read_text() == HOOK
    assert (target / "link").is_symlink()
    assert [(target / name).stat().st_size for name in ("pipe", "large")] == [0, 0]


def test_what_cannot_be_moved_is_told_and_shields_nothing_else(work: Path) -> None:
    was = before(work)
    for name in ("one", "two"):
        git(work, "init", "-q", name)
        (work / name / ".git/hooks/pre-commit").write_text(HOOK)
    (work.parent / "quarantine").write_text("a file where a folder belongs")
    moved = settle(work, was, work.parent / "quarantine")
    assert [(each.to, Path(each.path).parts[-4]) for each in moved] == [("", "one"), ("", "two")]
    assert all("could not be moved away (" in line for line in quarantined(moved))


def test_what_a_command_closed_to_the_person_is_looked_at_and_moved() -> None:
    """As another user, since root is let in anywhere."""
    program = (
        "import os, sys\n"
        "from pathlib import Path\n"
        "from activities.safety.sandbox import git_config\n"
        "from activities.safety.sandbox.git_guard import settle, take_inventory\n"
        "os.getuid() or os.setuid(65534)\n"
        "work = Path(sys.argv[1]); hooks = work / 'below/.git/hooks'; closed = work / 'closed'\n"
        "work.mkdir(); was = take_inventory(work)\n"
        "hooks.mkdir(parents=True); closed.mkdir(); (hooks / 'pre-commit').touch()\n"
        "closed.chmod(0); hooks.chmod(0o311)\n"
        "moved = settle(work, was, work.parent / 'quarantine')\n"
        "assert take_inventory(work)\n"
        "hooks.chmod(0o700); (hooks / 'post-merge').touch(); hooks.chmod(0o500)\n"
        "moved += settle(work, was, work.parent / 'quarantine')\n"
        "print(*[Path(each.path).name for each in moved], [each.name for each in hooks.iterdir()])\n"
        "config = work / 'below/.git/config'; config.write_text('[core]\\n\\tfsmonitor = evil\\n')\n"
        "config.parent.chmod(0o500)\n"
        "git_config.settle(work, {}, work.parent / 'quarantine', 'one', git_config.Right())\n"
        "print(config.exists())\n"
    )
    with tempfile.TemporaryDirectory() as place:
        Path(place).chmod(0o777)
        words = [sys.executable, "-c", program, f"{place}/work"]
        ran = subprocess.run(words, cwd=PROJECT[0], capture_output=True, text=True, timeout=30, check=False)
    assert ran.stdout.splitlines() == ["pre-commit post-merge []", "False"], ran.stderr
