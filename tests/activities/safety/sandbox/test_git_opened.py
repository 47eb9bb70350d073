"""Commands of git that write its configuration, in the real sandbox: whose they are, and what stays of them."""

import asyncio
import os
import subprocess
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import pytest

from activities.processes.attach import watch
from activities.safety.sandbox.hold import sandbox_told
from activities.tool import Call
from activities.tool_calls.vet import vet
from activities.tools.bash import Bash
from tests.activities.processes.place import until
from tests.activities.safety.sandbox.cell import Cell, cell
from tests.fakes.held import missing
from tests.fakes.world import make_call, text_of, use
from workflows.contracts.permissions import Decision, Mode, Verdict
from workflows.contracts.sandbox import FilesystemRules
from workflows.contracts.settings import SessionSettings

pytestmark = [pytest.mark.journey, pytest.mark.timeout(120)]

BY_PERSON = Verdict(decision=Decision.ALLOW, by="person", rule="me@here")
BY_RULE = Verdict(decision=Decision.ALLOW, by="rule", rule="Bash(git:*)")
BY_MODE = Verdict(decision=Decision.ALLOW, by="mode", rule="bypassPermissions")


@pytest.fixture(params=[1, 2], ids=["tier1", "tier2"])
def inside(request: pytest.FixtureRequest) -> Iterator[Cell]:
    if why := missing(request.param):
        pytest.skip(f"tier {request.param} cannot be shown here: {why}")
    with cell(request.param) as made:
        git(made, "commit", "-q", "--allow-empty", "-m", "x")
        git(made, "branch", "start")
        yield made


@pytest.fixture
def full() -> Iterator[Cell]:
    if why := missing(1):
        pytest.skip(f"no namespaces: {why}")
    with cell(1) as made:
        git(made, "commit", "-q", "--allow-empty", "-m", "x")
        yield made


def git(inside: Cell, *words: str) -> None:
    named = ("-c", "user.name=a", "-c", "user.email=a@b")
    subprocess.run(["git", *named, *words], cwd=inside.workspace, check=True, capture_output=True, timeout=30)


def call_of(inside: Cell, verdict: Verdict | None, **rules: tuple[str, ...]) -> Call:
    inside.calls += 1
    files = inside.settings.filesystem.model_copy(update=rules)
    settings = SessionSettings(sandbox=inside.settings.model_copy(update={"filesystem": files}))
    return make_call(inside.world, inside.workspace, "Bash", inside.calls, settings=settings, verdict=verdict)


async def run(inside: Cell, command: str, verdict: Verdict | None = BY_RULE) -> str:
    """What the model reads of it."""
    return text_of(await use(call_of(inside, verdict), Bash(), command=command))


def config_of(inside: Cell) -> Path:
    return inside.workspace / ".git" / "config"


@pytest.mark.parametrize(
    ("command", "told"),
    [
        ("git config user.name A", "user.name"),
        ("git remote add up https://a.example/x", "remote.up.url, remote.up.fetch"),
        ("git checkout -q -b new --track start", "branch.new.remote, branch.new.merge"),
        ("git switch -q -c new --track start", "branch.new.remote, branch.new.merge"),
        ("git branch -u start", "branch.master.remote, branch.master.merge"),
        ("cd . && git config pull.rebase true && git status 2>&1 | tail -1", "pull.rebase"),
        (
            "git submodule init",
            "submodule.lib.active, submodule.lib.url",
        ),
    ],
)
async def test_a_git_command_that_was_allowed_by_name_writes_it_and_tells(
    inside: Cell, command: str, told: str
) -> None:
    modules = '[submodule "lib"]\n\tpath = lib\n\turl = https://a.example/lib\n'
    (inside.workspace / ".gitmodules").write_text(modules)
    git(inside, "symbolic-ref", "HEAD", "refs/heads/master")
    git(inside, "update-ref", "refs/heads/master", "start")
    git(inside, "update-index", "--add", "--cacheinfo", "160000", "1" * 40, "lib")
    said = await run(inside, command)
    assert f"[sandbox: .git/config now has {told}]" in said
    assert "denial" not in said
    assert "could not write" not in said


async def test_push_keeps_the_upstream_when_a_remote_is_there(inside: Cell) -> None:
    subprocess.run(["git", "init", "-q", "--bare", inside.workspace / "hub.git"], check=True, timeout=30)
    git(inside, "remote", "add", "hub", "./hub.git")
    said = await run(inside, "git push -u hub start 2>&1 | tail -1")
    assert "[sandbox: .git/config now has branch.start.remote, branch.start.merge]" in said


@pytest.mark.parametrize("verdict", [None, BY_MODE, BY_RULE.model_copy(update={"rule": "Bash(*)"})])
async def test_whom_nobody_allowed_by_name_the_full_sandbox_leaves_it_closed(full: Cell, verdict: Verdict) -> None:
    was = config_of(full).read_bytes()
    said = await run(full, "git config user.name A", verdict)
    assert "could not write config file" in said
    assert ".git/config is opened only to commands of git, without other programs beside them" in said
    assert config_of(full).read_bytes() == was


@pytest.mark.parametrize(
    "command",
    [
        "git config user.name A; python3 -c 1",
        "git config user.name A && ./run.sh",
        "git -c core.hooksPath=x config user.name A",
        "git -C . config user.name A",
        "GIT_DIR=.git git config user.name A",
        "printf '[user]\\nname = A\\n' >> .git/config; git config user.name A",
        "sh -c 'git config user.name A'",
        "git config user.name A & wait",
    ],
)
async def test_beside_other_programs_and_by_ways_around_it_is_closed_too(full: Cell, command: str) -> None:
    was = config_of(full).read_bytes()
    await run(full, command, BY_PERSON)
    assert config_of(full).read_bytes() == was


@pytest.mark.parametrize(
    ("command", "key"),
    [
        ("git config core.hooksPath .husky", "core.hookspath"),
        ("git config alias.x 'log --output=y'", "alias.x"),
        ("git remote add up 'ext::sh -c evil'", "remote.up.url"),
        ("git config include.path ../evil; git config user.name A", "include.path"),
        ("git config --worktree core.fsmonitor ./evil", "core.fsmonitor"),
    ],
)
async def test_what_a_later_git_would_run_is_put_back_though_a_person_allowed_the_command(
    inside: Cell, command: str, key: str
) -> None:
    was = config_of(inside).read_bytes()
    said = await run(inside, command, BY_PERSON)
    assert f".git/config was put back as it was: {key} is for a person to set; what it held is at " in said
    assert config_of(inside).read_bytes() == was


async def test_a_remote_gets_another_address_only_when_a_person_allowed_just_that(inside: Cell) -> None:
    git(inside, "remote", "add", "origin", "https://a.example/x")
    command = "git remote set-url origin https://b.example/x"
    assert "put back as it was: remote.origin.url stays only where a person allows" in await run(inside, command)
    assert "a.example" in config_of(inside).read_text()
    assert "[sandbox: .git/config now has remote.origin.url]" in await run(inside, command, BY_PERSON)
    assert "b.example" in config_of(inside).read_text()


async def test_hooks_and_the_rest_stay_closed_while_it_is_open(full: Cell) -> None:
    command = "git config core.x y; git config user.name A; git remote add hooks https://a.example/x"
    hook = "git log --format='#!/bin/sh' -1 --output=.git/hooks/post-commit; "
    said = await run(full, f"{command}; cat .git/hooks/* >/dev/null; mv .git .g", BY_PERSON)
    assert (full.workspace / ".git").is_dir()
    await run(full, hook, BY_PERSON)
    assert not (full.workspace / ".git/hooks/post-commit").exists()
    assert "put back" not in said


@pytest.mark.parametrize("kind", ["symlink", "relative", "hardlink"])
async def test_a_configuration_with_another_name_is_not_opened(full: Cell, kind: str) -> None:
    mine = full.outside / "mine"
    config_of(full).rename(mine)
    if kind == "hardlink":
        os.link(mine, config_of(full))
    else:
        config_of(full).symlink_to(mine if kind == "symlink" else Path("../../outside/mine"))
    was = mine.read_bytes()
    said = await run(full, "git status >/dev/null && echo works; git config user.name A", BY_PERSON)
    assert said.startswith("works")
    assert mine.read_bytes() == was
    assert "[user]" not in config_of(full).read_text()


async def test_what_the_settings_deny_stays_closed(full: Cell) -> None:
    was = config_of(full).read_bytes()
    await use(call_of(full, BY_PERSON, deny_write=(".git/config",)), Bash(), command="git config user.name A")
    assert config_of(full).read_bytes() == was


async def test_in_a_worktree_the_one_of_its_repository_is_opened(full: Cell) -> None:
    tree = full.workspace.parent / "tree"
    git(full, "worktree", "add", "-q", "-b", "side", str(tree))
    there = replace(full, workspace=tree)
    said = await run(there, "git config user.name A; git config core.pager evil || true")
    assert f"{full.workspace}/.git/config was put back as it was: core.pager" in said
    said = await run(there, "git config user.name A")
    assert f"[sandbox: {full.workspace}/.git/config now has user.name]" in said
    said = await run(there, "git config user.name B", None)
    assert f"{full.workspace}/.git/config is opened only to commands of git" in said


async def test_whoever_sees_its_end_puts_back_and_tells_also_when_its_worker_died(inside: Cell) -> None:
    was = config_of(inside).read_bytes()
    call = call_of(inside, BY_PERSON)
    git(inside, "config", "core.editor", "sleep 0.5; true")
    was = config_of(inside).read_bytes()
    command = "git config core.pager evil; git branch --edit-description start"
    attempt = asyncio.ensure_future(use(call, Bash(), command=command))
    await until(lambda: config_of(inside).read_bytes() != was)
    attempt.cancel()
    with suppress(asyncio.CancelledError):
        await attempt
    await watch(call.record.folder)
    assert b"pager" in config_of(inside).read_bytes()
    said = text_of(await use(call, Bash(), command=command))
    assert "was put back as it was: core.pager" in said
    assert config_of(inside).read_bytes() == was
    assert "was put back as it was: core.pager" in text_of(await use(call, Bash(), command=command))


async def test_a_command_does_not_gain_by_what_a_person_sets_while_it_runs(full: Cell) -> None:
    # A file that is replaced from outside loses what was mounted over it: from then on the command could write it.
    was = config_of(full).read_bytes()
    command = "touch on; until git config user.name; do sleep 0.05; done; printf '[core]\npager=evil\n' >> .git/config"
    attempt = asyncio.ensure_future(run(full, command, None))
    await until((full.workspace / "on").exists)
    git(full, "config", "user.name", "Person")
    said = await attempt
    assert "was put back as it was: core.pager is for a person to set" in said
    assert config_of(full).read_bytes() == was
    assert "Person" in Path(said.partition("what it held is at ")[2].partition("]")[0]).read_text()


async def test_what_a_person_sets_while_a_command_runs_stays_and_is_not_told_as_its_own(full: Cell) -> None:
    attempt = asyncio.ensure_future(run(full, "touch on; until git config user.name; do sleep 0.05; done", None))
    await until((full.workspace / "on").exists)
    git(full, "config", "user.name", "Person")
    assert "now has" not in await attempt
    assert "Person" in config_of(full).read_text()


async def test_repositories_that_git_makes_in_the_workspace_are_left_alone(inside: Cell) -> None:
    command = (
        "git init -q below && git init -q --bare hub.git && git clone -q file://$PWD/hub.git copy 2>&1 | grep -v empty;"
        " cd copy && git config user.name A && git config user.email a@b && git commit -q --allow-empty -m x"
        " && git push -q -u origin HEAD && git log --oneline | wc -l"
    )
    said = await run(inside, command, None)
    assert "denial" not in said
    assert said.startswith("1\n")
    assert "[branch" in (inside.workspace / "copy/.git/config").read_text()


async def test_under_automatic_yes_to_the_sandbox_a_person_is_asked_before_it_is_written(full: Cell) -> None:
    held = full.settings.model_copy(update={"auto_allow_bash_if_sandboxed": True, "filesystem": FilesystemRules()})
    await sandbox_told(full.world, held)
    call = make_call(full.world, full.workspace, "Bash", settings=SessionSettings(sandbox=held))
    for command, decision in (
        ("git remote add up https://a.example/x", Decision.ASK),
        ("git config user.name A", Decision.ASK),
        ("git push -u origin x", Decision.ALLOW),
        ("git commit -m x", Decision.ALLOW),
    ):
        assert vet(call, Bash(), Bash.input(command=command), Mode.DEFAULT, None).decision == decision, command


async def test_a_password_in_it_is_kept_in_no_file_of_ours_in_clear(full: Cell) -> None:
    git(full, "remote", "add", "up", "https://me:hunter-2@a.example/x")
    await run(full, "git config user.name A")
    kept = [path for path in full.world.home.root.rglob("*") if path.is_file() and b"hunter-2" in path.read_bytes()]
    assert kept == []


async def test_of_two_commands_at_once_the_later_does_not_bring_back_what_the_earlier_planted(inside: Cell) -> None:
    git(inside, "config", "core.editor", "until test -e on; do sleep 0.05; done; true")
    was = config_of(inside).read_bytes()
    planting = asyncio.ensure_future(
        run(inside, "git config core.pager evil; git branch --edit-description start", BY_PERSON)
    )
    await until(lambda: config_of(inside).read_bytes() != was)
    waiting = asyncio.ensure_future(run(inside, "touch on; until test -e off; do sleep 0.05; done", None))
    assert "was put back as it was: core.pager" in await planting
    (inside.workspace / "off").touch()
    assert "put back" not in await waiting
    assert config_of(inside).read_bytes() == was
    assert not list((inside.world.home.engine / "unsettled").iterdir())
