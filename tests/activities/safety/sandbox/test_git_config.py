"""Git's configuration after a command: what is harmless stays, the rest is put back, and nothing is lost."""

import os
import subprocess
import threading
import time
from collections.abc import Mapping
from pathlib import Path

import pytest

from activities.safety.sandbox.git_config import keep, settle, settle_kept, take
from activities.safety.sandbox.git_writers import Right
from activities.stores.home import Home

OPEN, CLOSED = Right(is_open=True), Right()
WORD_FOR_WORD = Right(is_open=True, may_lead=True)


@pytest.fixture
def work(tmp_path: Path) -> Path:
    folder = tmp_path.resolve() / "work"
    git(folder.parent, "init", "-q", "-b", "main", "work")
    git(folder, "remote", "add", "origin", "https://a.example/x")
    return folder


def git(folder: Path, *words: str) -> None:
    named = ("-c", "user.name=a", "-c", "user.email=a@b", "-c", "protocol.file.allow=always")
    subprocess.run(["git", *named, *words], cwd=folder, check=True, capture_output=True, timeout=30)


def settled(work: Path, before: Mapping[str, str], right: Right = OPEN, call: str = "one") -> list[str]:
    return settle(work, before, work.parent / "quarantine", call, right)


def quarantined(work: Path) -> list[str]:
    return [path.read_text() for path in sorted((work.parent / "quarantine").glob("*"))]


def config_of(work: Path) -> str:
    return (work / ".git" / "config").read_text()


def test_what_is_harmless_stays_and_is_told_key_by_key(work: Path) -> None:
    before = take(work)
    git(work, "config", "user.name", "A")
    git(work, "remote", "add", "up", "https://b.example/x")
    git(work, "remote", "set-branches", "origin", "main")
    lines = ["[sandbox: .git/config now has remote.origin.fetch, user.name, remote.up.url, remote.up.fetch]"]
    assert settled(work, before) == lines
    assert settled(work, before) == lines
    assert settled(work, take(work)) == []


def test_what_is_gone_is_told_too(work: Path) -> None:
    git(work, "config", "branch.x.merge", "refs/heads/x")
    before = take(work)
    git(work, "config", "--remove-section", "branch.x")
    assert settled(work, before) == ["[sandbox: .git/config no longer has branch.x.merge]"]


@pytest.mark.parametrize(
    "text",
    [
        '[core]\n\tfsmonitor = "evil"\n',
        "[core] fsmonitor = evil\n",
        "[CORE]\n\tFsMonitor=ev\\\nil\n",
        "[alias]\n x = !evil\n",
        "[include]\npath=/x\n",
        "[core]\nhooksPath = h\n",
        "\n" * 1_000_000 + "[core]\nfsmonitor = evil\n",
        "[core\n",
        '[remote "up"]\nurl = ext::sh -c evil\n',
    ],
)
def test_what_names_programs_is_put_back_however_it_is_written(work: Path, text: str) -> None:
    before, was = take(work), config_of(work)
    with (work / ".git/config").open("a") as file:
        file.write(text)
    for right in (OPEN, WORD_FOR_WORD, CLOSED):
        (line,) = settled(work, before, right)
        assert line.startswith(f"[sandbox denial: {work}/.git/config was put back as it was: ")
        assert " is for a person to set; what it held is at " in line
        assert config_of(work) == was
    assert quarantined(work) == [was + text]


def test_another_address_of_a_remote_stays_only_for_a_command_that_was_allowed_word_by_word(work: Path) -> None:
    before, was = take(work), config_of(work)
    git(work, "remote", "set-url", "origin", "https://evil.example/x")
    now = config_of(work)
    (line,) = settled(work, before)
    assert ": remote.origin.url stays only where a person allows just this command; " in line
    assert config_of(work) == was
    (work / ".git/config").write_text(now)
    assert settled(work, before, WORD_FOR_WORD, "two") == ["[sandbox: .git/config now has remote.origin.url]"]
    assert config_of(work) == now


def test_a_remote_is_not_replaced_in_two_steps(work: Path) -> None:
    for step in (("remove", "origin"), ("rename", "origin", "old")):
        before = take(work)
        git(work, "remote", *step)
        (line,) = settled(work, before, call=step[0])
        assert "remote.origin.url" in line
        assert take(work) == before


def test_who_settles_after_a_crash_tells_the_same(work: Path) -> None:
    before = take(work)
    git(work, "config", "core.pager", "evil")
    first = settled(work, before)
    assert settled(work, before) == first
    assert settled(work, before, call="another") == []
    assert quarantined(work) == [path.read_text() for path in (work.parent / "quarantine").iterdir()]


def test_a_configuration_that_was_removed_comes_back(work: Path) -> None:
    before, was = take(work), config_of(work)
    (work / ".git/config").unlink()
    (line,) = settled(work, before)
    assert "remote.origin.url" in line
    assert line.endswith(" stays only where a person allows just this command]")
    assert config_of(work) == was


def test_a_link_in_its_place_is_taken_away_and_what_it_leads_to_is_left_alone(work: Path) -> None:
    before, was = take(work), config_of(work)
    outside = work.parent / "outside"
    outside.write_text("[core]\nfsmonitor = evil\n")
    (work / ".git/config").unlink()
    (work / ".git/config").symlink_to(outside)
    (line,) = settled(work, before)
    assert "(no file that git can read)" in line
    assert config_of(work) == was
    assert not (work / ".git/config").is_symlink()
    assert outside.read_text() == "[core]\nfsmonitor = evil\n"


def test_a_persons_own_link_stays_one(work: Path) -> None:
    real = work.parent / "mine"
    (work / ".git/config").rename(real)
    (work / ".git/config").symlink_to(real)
    before = take(work)
    assert settled(work, before) == []
    (work / ".git/config").unlink()
    (work / ".git/config").write_text("[core]\nfsmonitor = evil\n")
    (line,) = settled(work, before)
    assert "core.fsmonitor" in line
    assert (work / ".git/config").readlink() == real


def test_nothing_is_written_through_a_folder_that_became_a_link(work: Path) -> None:
    git(work, "init", "-q", "below")
    other = work.parent / "other"
    git(work.parent, "init", "-q", "other")
    git(other, "config", "alias.x", "!mine")
    before, was = take(work), config_of(other)
    (work / "below").rename(work / "moved")
    (work / "below").symlink_to(other)
    assert settled(work, before) == []
    assert config_of(other) == was


def test_a_repository_that_is_gone_is_no_matter(work: Path) -> None:
    before = take(work)
    (work / ".git").rename(work.parent / "gone")
    assert settled(work, before) == []
    assert not (work / ".git").exists()


def test_what_a_person_set_meanwhile_is_kept(work: Path) -> None:
    before = take(work)
    git(work, "config", "user.name", "Person")
    assert settled(work, before, CLOSED) == []
    assert "Person" in config_of(work)
    git(work, "config", "alias.x", "!mine")
    (line,) = settled(work, before, CLOSED)
    assert "alias.x is for a person to set; what it held is at " in line
    assert "!mine" in Path(line.rpartition(" is at ")[2].rstrip("]")).read_text()


def test_a_git_that_writes_at_this_moment_is_waited_for_and_not_overwritten(work: Path) -> None:
    before = take(work)
    git(work, "config", "core.pager", "evil")
    lock = work / ".git/config.lock"
    lock.touch()

    def write() -> None:
        time.sleep(0.3)
        lock.write_text(before[f"{work}/.git/config"][1:] + "[user]\n\tname = Person\n")
        lock.rename(work / ".git/config")

    person = threading.Thread(target=write)
    person.start()
    assert settled(work, before) == ["[sandbox: .git/config now has user.name]"]
    person.join()
    assert "Person" in config_of(work)
    assert not lock.exists()


@pytest.mark.journey
def test_a_lock_that_a_killed_git_left_does_not_keep_what_was_planted(work: Path) -> None:
    before, was = take(work), config_of(work)
    git(work, "config", "core.pager", "evil")
    (work / ".git/config.lock").touch()
    assert len(settled(work, before)) == 1
    assert config_of(work) == was
    assert sorted(path.name for path in (work / ".git").glob("config*")) == ["config", "config.lock"]


@pytest.mark.parametrize("bare", [(), ("--bare",)])
def test_a_repository_that_git_makes_in_the_workspace_is_left_alone(work: Path, bare: tuple[str, ...]) -> None:
    before = take(work)
    git(work, "init", "-q", *bare, "below")
    git(work, "clone", "-q", f"file://{work}", "copy")
    git(work, "-C", "copy", "config", "gc.auto", "0")
    assert settled(work, before) == []
    assert (work / "copy/.git/config").exists()
    assert quarantined(work) == []


def test_a_repository_made_where_there_was_none_is_left_alone(tmp_path: Path) -> None:
    work = tmp_path.resolve() / "w"
    work.mkdir()
    before = take(work)
    git(work, "init", "-q", ".")
    git(work, "remote", "add", "origin", "https://a.example/x")
    assert settled(work, before) == []
    git(work, "config", "core.fsmonitor", "evil")
    (line,) = settled(work, before)
    assert "was taken away: core.fsmonitor is for a person to set" in line


def test_a_repository_below_gets_its_own_back(work: Path) -> None:
    git(work, "init", "-q", "below")
    before = take(work)
    git(work / "below", "config", "commit.gpgsign", "false")
    assert settled(work, before) == []
    git(work / "below", "config", "core.worktree", os.fspath(work.parent))
    (line,) = settled(work, before)
    assert "below/.git/config was put back as it was: core.worktree" in line


def test_a_submodule_that_git_adds_is_left_alone(work: Path) -> None:
    git(work.parent, "init", "-q", "lib")
    git(work.parent / "lib", "commit", "-q", "--allow-empty", "-m", "x")
    before = take(work)
    git(work, "submodule", "add", "-q", f"file://{work.parent}/lib", "lib")
    assert settled(work, before, WORD_FOR_WORD) == [
        "[sandbox: .git/config now has submodule.lib.url, submodule.lib.active]"
    ]


def test_a_worktree_of_the_workspace_has_the_one_of_its_repository(work: Path) -> None:
    git(work, "commit", "-q", "--allow-empty", "-m", "x")
    tree = work.parent / "tree"
    git(work, "worktree", "add", "-q", "-b", "b", str(tree))
    before, was = take(tree), config_of(work)
    git(tree, "config", "core.pager", "evil")
    (line,) = settled(tree, before)
    assert line.startswith(f"[sandbox denial: {work}/.git/config was put back as it was: core.pager")
    assert config_of(work) == was
    git(tree, "config", "extensions.worktreeConfig", "true")
    git(tree, "config", "--worktree", "user.name", "A")
    assert settled(tree, before, call="two") == [
        f"[sandbox: {work}/.git/config now has extensions.worktreeconfig]",
        f"[sandbox: {work}/.git/worktrees/tree/config.worktree now has user.name]",
    ]


def test_git_of_the_workspace_is_not_believed(work: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    planted = work / "bin"
    planted.mkdir()
    (planted / "git").write_text("#!/bin/sh\ntouch ran\n")
    (planted / "git").chmod(0o755)
    monkeypatch.setenv("PATH", f"{planted}:{os.environ['PATH']}")
    before = take(work)
    with (work / ".git/config").open("a") as file:
        file.write("[core]\n\tpager = evil\n")
    (line,) = settled(work, before)
    assert "core.pager" in line
    assert not (work / "ran").exists()
    assert not Path("/ran").exists()


def test_what_another_command_left_and_nobody_has_looked_after_is_no_beginning(work: Path) -> None:
    home = Home(work.parent / "home")
    home.ensure()
    was = config_of(work)
    first = keep(home, work, OPEN)
    git(work, "config", "core.pager", "evil")
    second = keep(home, work, CLOSED, [first])
    git(work, "config", "user.name", "A")
    third = keep(home, work, CLOSED, [first, second])
    quarantine = work.parent / "quarantine"
    assert "core.pager" in settle_kept(first, quarantine, "first")[0]
    for number, record in enumerate((second, third)):
        assert settle_kept(record, quarantine, f"later {number}") == []
    assert config_of(work) == was


def test_what_another_command_may_leave_is_a_beginning(work: Path) -> None:
    home = Home(work.parent / "home")
    home.ensure()
    first = keep(home, work, OPEN)
    git(work, "config", "user.name", "A")
    second = keep(home, work, OPEN, [first])
    git(work, "config", "user.email", "a@b")
    assert settle_kept(second, work.parent / "quarantine", "x") == ["[sandbox: .git/config now has user.email]"]


@pytest.mark.parametrize("line", ["mkfifo {}", "truncate -s 30G {}", "ln -s /dev/zero {}", "mkdir {}"])
@pytest.mark.parametrize("name", [".git/config.worktree", "below/.git/config"])
def test_what_has_no_end_is_taken_away_without_reading_it(work: Path, line: str, name: str) -> None:
    before = take(work)
    git(work, "init", "-q", "below")
    (work / "below/.git/config").unlink()
    subprocess.run(["bash", "-c", line.format(name)], cwd=work, check=True, timeout=10)
    (told,) = settled(work, before)
    assert told.startswith(f"[sandbox denial: {work / name} was taken away: (no file that git can read)")
    assert not os.path.lexists(work / name)
    assert settled(work, before, call="another") == []
