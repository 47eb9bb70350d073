"""The git that runs outside the sandbox runs nothing that a folder could have put in its way."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from activities.safety.git import git, git_program
from workflows.contracts.errors import ToolError


@pytest.fixture
def work(tmp_path: Path) -> Path:
    """A folder whose own bin holds a git."""
    (tmp_path / "work/bin").mkdir(parents=True)
    own = tmp_path / "work/bin/git"
    own.write_text("#!/bin/sh\ntouch ran\n")
    own.chmod(0o755)
    return tmp_path / "work"


def test_the_machines_git_is_taken_before_any_on_path(work: Path) -> None:
    assert git_program({"PATH": f"{work}/bin"}, work) == shutil.which("git", path="/usr/local/bin:/usr/bin:/bin")


def test_a_git_inside_the_folder_is_never_taken_not_even_by_a_link(work: Path, tmp_path: Path) -> None:
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside/git").symlink_to(work / "bin/git")
    unusual = str(tmp_path / "nowhere")
    assert git_program({"PATH": f"{work}/bin:bin:{tmp_path}/outside"}, work, unusual) == ""
    assert git_program({"PATH": f"{work}/bin"}, tmp_path / "elsewhere", unusual) == f"{work}/bin/git"


async def test_what_a_repository_names_to_run_is_not_run(work: Path) -> None:
    surroundings = {"PATH": f"{work}/bin:{os.environ['PATH']}", "HOME": str(work)}
    assert (await git(work, surroundings, "init", "-q")).code == 0
    (work / "f").write_text("one\n")
    await git(work, surroundings, "add", "f")
    planted = f"{work}/bin/git"
    for key in ("core.fsmonitor", "diff.external", "core.pager", "filter.a.clean", "alias.status"):
        await git(work, surroundings, "config", key, f"!{planted}" if key.startswith("alias") else planted)
    (work / ".gitattributes").write_text("* filter=a\n")
    (work / ".git/hooks/post-index-change").symlink_to(planted)
    (work / "f").write_text("two\n")
    for words in (("status", "--short"), ("diff",), ("add", "f"), ("log",)):
        await git(work, surroundings, *words)
    assert not (work / "ran").exists()


@pytest.mark.parametrize("name", ["x\x0cy", "x\u2028y", "x.y"])
async def test_a_filter_is_switched_off_whatever_its_name_is(work: Path, name: str) -> None:
    surroundings = await _with_filter(work, f"filter.{name}.clean")
    assert (await git(work, surroundings, "status", "--short")).code == 0
    assert not (work / "ran").exists()


async def test_a_filter_that_cannot_be_switched_off_is_told_and_git_not_run(work: Path) -> None:
    surroundings = await _with_filter(work, "filter.x=y.clean")
    with pytest.raises(ToolError, match=r"cannot be switched off.*'filter\.x=y'"):
        await git(work, surroundings, "status", "--short")
    assert not (work / "ran").exists()


async def test_a_filter_of_one_worktree_alone_is_switched_off_too(work: Path) -> None:
    surroundings = await _with_filter(work, "user.unused")
    await git(work, surroundings, "config", "extensions.worktreeConfig", "true")
    await git(work, surroundings, "config", "--worktree", "filter.a.clean", f"{work}/bin/git")
    (work / ".gitattributes").write_text("* filter=a\n")
    assert (await git(work, surroundings, "status", "--short")).code == 0
    assert not (work / "ran").exists()


async def test_what_attributes_name_to_show_differences_is_not_run(work: Path) -> None:
    surroundings = await _with_filter(work, "diff.a.command")
    await git(work, surroundings, "config", "diff.a.textconv", f"{work}/bin/git")
    (work / ".gitattributes").write_text("* diff=a\n")
    assert "+two" in (await git(work, surroundings, "diff")).out
    assert not (work / "ran").exists()


async def _with_filter(work: Path, key: str) -> dict[str, str]:
    """A repository with a changed file and a program under this key, which attributes name as its filter."""
    surroundings = {"PATH": os.environ["PATH"], "HOME": str(work)}
    await git(work, surroundings, "init", "-q")
    (work / "f").write_text("one\n")
    await git(work, surroundings, "add", "f")
    subprocess.run(["git", "config", key, f"{work}/bin/git"], cwd=work, check=True)
    (work / ".gitattributes").write_text(f"* filter={key.removeprefix('filter.').rpartition('.')[0]}\n")
    (work / "f").write_text("two\n")
    return surroundings


async def test_a_repository_without_a_folder_of_its_own_is_not_taken_for_one(work: Path) -> None:
    surroundings = {"PATH": os.environ["PATH"], "HOME": str(work)}
    await git(work, surroundings, "init", "-q", "--bare", "planted")
    assert (await git(work / "planted", surroundings, "log")).code != 0
    assert "bare repository" in (await git(work / "planted", surroundings, "status")).error


async def test_what_a_repository_below_names_to_run_is_not_run(work: Path) -> None:
    surroundings = {"PATH": os.environ["PATH"], "HOME": str(work)}
    named = ("-c", "user.name=a", "-c", "user.email=a@b")
    below = work / "a/below"
    below.mkdir(parents=True)
    for folder in (work, below):
        await git(folder, surroundings, "init", "-q")
    (below / "f").write_text("one\n")
    (below / ".gitattributes").write_text("* filter=a\n")
    await git(below, surroundings, "add", ".")
    subprocess.run(["git", *named, "commit", "-qm", "a"], cwd=below, check=True, timeout=30)
    assert (await git(work, surroundings, "add", "a/below")).code == 0
    for key in ("filter.a.clean", "core.fsmonitor"):
        await git(below, surroundings, "config", key, f"{work}/bin/git")
    # Its own word for it would count more than a setting.
    (work / ".gitmodules").write_text('[submodule "a"]\n\tpath = a/below\n\turl = ./x\n\tignore = none\n')
    (below / "f").write_text("two\n")
    for words in (("status", "--porcelain", "--untracked-files=all"), ("diff",), ("diff", "HEAD")):
        await git(work, surroundings, *words)
    assert not [*work.rglob("ran")]
