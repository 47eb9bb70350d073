"""Git is trusted where the files of its repository name no program and lead nowhere else."""

import subprocess
from pathlib import Path

import pytest

from activities.safety.git_trust import is_git_trusted, is_harmless


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    subprocess.run(["git", "init", "-q", str(tmp_path / "r")], check=True, timeout=20, capture_output=True)
    return tmp_path / "r"


def add(repository: Path, text: str) -> None:
    with (repository / ".git/config").open("a") as file:
        file.write(text)


def test_a_fresh_repository_and_a_folder_without_one_are_trusted(repository: Path, tmp_path: Path) -> None:
    (repository / "sub").mkdir()
    assert is_git_trusted(repository / "sub")
    assert is_git_trusted(tmp_path)


@pytest.mark.parametrize(
    "text",
    [
        "[core]\n\tfsmonitor = ./x\n",
        "[core] pager = ./x\n",
        "[CORE]\n\tHooksPath=x\n",
        "[core]\n sshCommand = sh x\n",
        '[diff "a"]\n\ttextconv = ./x\n',
        '[filter "lfs"]\n\tprocess = git-lfs\n',
        "[alias]\n\tst = !./x\n",
        '[alias]\n\tst = "!./x"\n',
        "[include]\n\tpath = ../x\n",
        '[includeIf "gitdir:/"]\n\tpath = x\n',
        "[pager]\n\tlog = ./x\n",
        "[gpg]\n\tprogram = ./x\n",
        "[credential]\n\thelper = !x\n",
        "[core]\n\tpager = \\\n./x\n",
        "[core\n",
        "no section = [\n[x",
    ],
)
def test_a_configuration_that_runs_or_reads_something_else_is_not(repository: Path, text: str) -> None:
    add(repository, text)
    assert not is_git_trusted(repository)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[core]\n\tfsmonitor = true\n\tbare = false\n",
        '[remote "origin"]\n\turl = https://x/y\n\tfetch = +refs/heads/*:refs/remotes/origin/*\n',
        "[alias]\n\tst = status\n# [core] pager = x\n; x\n",
        '[branch "main"]\n\tremote = origin\n\tmerge = refs/heads/main\n',
        "[user]\n\tname = A B\n\temail = a@b\n",
    ],
)
def test_an_ordinary_configuration_is(text: str) -> None:
    assert is_harmless(text)


def test_a_change_is_seen_at_once(repository: Path) -> None:
    assert is_git_trusted(repository)
    add(repository, "[core]\n\tpager = ./x\n")
    assert not is_git_trusted(repository)


def test_files_that_lead_git_elsewhere_are_not_trusted(repository: Path, tmp_path: Path) -> None:
    for name in ("commondir", "config.worktree"):
        path = repository / ".git" / name
        path.write_text("x")
        assert not is_git_trusted(repository)
        path.unlink()
    planted = tmp_path / "planted"
    planted.mkdir()
    (planted / ".git").write_text(f"gitdir: {repository}/.git\n")
    assert not is_git_trusted(planted)
    linked = tmp_path / "linked"
    linked.mkdir()
    (linked / ".git").symlink_to(repository / ".git")
    assert not is_git_trusted(linked)


def test_a_real_work_tree_is_trusted(repository: Path, tmp_path: Path) -> None:
    git = ["git", "-C", str(repository), "-c", "user.name=a", "-c", "user.email=a@b"]
    subprocess.run([*git, "commit", "-q", "--allow-empty", "-m", "x"], check=True, timeout=20, capture_output=True)
    subprocess.run([*git, "worktree", "add", "-q", str(tmp_path / "t")], check=True, timeout=20, capture_output=True)
    assert is_git_trusted(tmp_path / "t")
    add(repository, "[core]\n\tpager = ./x\n")
    assert not is_git_trusted(tmp_path / "t")
