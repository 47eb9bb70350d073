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


def git(folder: Path, *words: str) -> None:
    named = ["-c", "user.name=a", "-c", "user.email=a@b", "-c", "protocol.file.allow=always"]
    subprocess.run(["git", "-C", str(folder), *named, *words], check=True, timeout=20, capture_output=True)


@pytest.fixture
def inside(repository: Path, tmp_path: Path) -> Path:
    """The folder of a submodule's own repository, made by git itself."""
    git(tmp_path, "init", "-q", "s")
    git(tmp_path / "s", "commit", "-q", "--allow-empty", "-m", "x")
    git(repository, "submodule", "add", "-q", str(tmp_path / "s"), "deep/sub")
    return repository / ".git/modules/deep/sub"


def test_a_repository_with_a_submodule_is_trusted_until_that_names_a_program(repository: Path, inside: Path) -> None:
    assert is_git_trusted(repository)
    with (inside / "config").open("a") as file:
        file.write('[filter "a"]\n\tclean = ./x\n')
    assert not is_git_trusted(repository)


@pytest.mark.parametrize("version", ["2", "3", "4", "split"])
def test_a_submodule_is_found_however_the_index_is_written(repository: Path, inside: Path, version: str) -> None:
    (repository / "deep/a").touch()
    git(repository, "add", "-N" if version == "3" else "-f", "deep/a")
    git(repository, "update-index", *(["--split-index"] if version == "split" else ["--index-version", version]))
    assert is_git_trusted(repository)
    with (inside / "config").open("a") as file:
        file.write("[core]\n\tfsmonitor = ./x\n")
    assert not is_git_trusted(repository)


def test_a_submodule_that_leads_elsewhere_is_not_trusted(repository: Path, inside: Path, tmp_path: Path) -> None:
    kept = (inside / "config").read_text()
    (inside / "config").write_text(kept.replace("worktree = ", f"worktree = {tmp_path}/elsewhere/"))
    assert not is_git_trusted(repository)
    (inside / "config").write_text(kept)
    (inside / "commondir").write_text("../../..")
    assert not is_git_trusted(repository)


def test_a_folder_that_was_added_as_a_repository_is_looked_into(repository: Path) -> None:
    git(repository, "init", "-q", "sub")
    git(repository / "sub", "commit", "-q", "--allow-empty", "-m", "x")
    git(repository, "add", "sub")
    assert is_git_trusted(repository)
    add(repository / "sub", '[filter "a"]\n\tclean = ./x\n')
    assert not is_git_trusted(repository)


@pytest.mark.parametrize("text", ["[diff]\n\tsubmodule = diff\n", "[status]\n\tsubmoduleSummary = true\n"])
def test_a_configuration_that_sends_git_into_any_submodule_is_not_trusted(repository: Path, text: str) -> None:
    add(repository, text)
    assert not is_git_trusted(repository)


def test_an_index_that_cannot_be_read_is_not_trusted(repository: Path, inside: Path) -> None:
    data = (repository / ".git/index").read_bytes()
    (repository / ".git/index").write_bytes(data[:4] + b"\x00\x00\x00\x09" + data[8:])
    assert not is_git_trusted(repository)


@pytest.mark.parametrize("line", ["mkfifo .git/config", "truncate -s 30G .git/config", "ln -s /dev/zero .git/config"])
def test_a_configuration_that_has_no_end_is_not_trusted_and_not_read(tmp_path: Path, line: str) -> None:
    subprocess.run(["git", "init", "-q"], cwd=tmp_path, check=True, timeout=20)
    (tmp_path / ".git/config").unlink()
    subprocess.run(["bash", "-c", line], cwd=tmp_path, check=True, timeout=20)
    assert not is_git_trusted(tmp_path)
