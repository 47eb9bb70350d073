"""A hook runs scripts of the workspace only as the person trusted them."""

import os
from pathlib import Path

import pytest

from activities.settings.opening import hooks_of
from activities.settings.scripts import changed_script, exposed_scripts
from tests.activities.settings.conftest import Machine
from workflows.contracts.extensions import HookRule


@pytest.mark.parametrize(
    ("handler", "is_named"),
    [
        ({"command": "./check.sh --strict"}, True),
        ({"command": "bash 'check.sh'"}, True),
        ({"command": '"$CLAUDE_PROJECT_DIR"/check.sh'}, True),
        ({"command": "python3", "args": ["${PERDURE_PROJECT_DIR}/check.sh"]}, True),
        ({"command": ".perdure/hooks/check.sh"}, False),
        ({"command": "echo hi"}, False),
        ({"command": "unclosed 'quote check.sh"}, False),
        ({"url": "http://127.0.0.1/check.sh"}, False),
    ],
)
def test_a_script_of_the_folder_that_is_not_protected_is_named(
    machine: Machine, handler: dict[str, object], is_named: bool
) -> None:
    for name in ("check.sh", ".perdure/hooks/check.sh"):
        machine.write(name, "exit 0")
    machine.write(".claude/settings.json", {"hooks": {"PreToolUse": [{"hooks": [{"type": "command", **handler}]}]}})
    found = exposed_scripts(machine.load())
    assert [line.split()[0] for line in found] == [f"{machine.folder}/check.sh"] * is_named


def fix(machine: Machine, command: str, **more: object) -> HookRule:
    """A guard of the folder as a session that starts now has it."""
    group = {"hooks": [{"type": "command", "command": command, **more}]}
    machine.write(".claude/settings.json", {"hooks": {"PreToolUse": [group]}})
    machine.trust()
    (rule,), _problems = hooks_of(machine.load())
    return rule


def why(machine: Machine, rule: HookRule, cwd: Path | None = None) -> str:
    return changed_script(machine.home, rule, cwd or machine.folder, machine.folder)


@pytest.mark.parametrize(
    "command",
    [
        "./check.sh",
        "bash -eu check.sh README.md",
        "env bash check.sh",
        '"$CLAUDE_PROJECT_DIR"/check.sh',
        "cd . && ./check.sh",
        "bash -c 'exec ./check.sh'",
        ". ./check.sh; exit 0",
    ],
)
def test_a_script_that_changed_runs_no_more_before_it_is_trusted_again(machine: Machine, command: str) -> None:
    for name in ("check.sh", "README.md"):
        machine.write(name, "exit 0")
    rule = fix(machine, command)
    machine.write("README.md", "what a hook reads is no script")
    assert why(machine, rule) == ""
    machine.write("check.sh", "exit 0 # the agent's")
    assert f"{machine.folder}/check.sh is not as it was when you trusted it" in why(machine, rule)
    assert f"perdure trust {machine.folder}" in why(machine, rule)
    assert machine.load().folders[0].untrusted == ("hooks.PreToolUse as check.sh is now",)
    machine.trust()
    assert (why(machine, rule), machine.load().folders[0].untrusted) == ("", ())


def test_a_session_that_starts_after_the_change_runs_it_no_more_than_one_before(machine: Machine) -> None:
    machine.write("check.sh", "exit 0")
    fix(machine, "./check.sh")
    machine.write("check.sh", "exit 0 # the agent's")
    (later,), _problems = hooks_of(machine.load())
    assert "is not as it was" in why(machine, later)


def test_another_file_of_that_name_where_the_session_has_gone_is_not_run(machine: Machine) -> None:
    machine.write("check.sh", "exit 1")
    rule = fix(machine, "./check.sh")
    machine.write("below/check.sh", "exit 0")
    assert f"{machine.folder}/below/check.sh is not as it was" in why(machine, rule, machine.folder / "below")


def test_a_script_that_was_not_there_when_the_folder_was_trusted_is_not_run(machine: Machine) -> None:
    rule = fix(machine, "test -e local.sh && ./local.sh; exit 0")
    assert why(machine, rule) == ""
    machine.write("local.sh", "exit 0")
    assert "local.sh is not as it was" in why(machine, rule)


def test_a_hook_of_the_persons_own_runs_what_its_script_held_when_the_session_started(machine: Machine) -> None:
    machine.write("check.sh", "exit 0")
    group = {"hooks": [{"type": "command", "command": '"$CLAUDE_PROJECT_DIR"/check.sh'}]}
    machine.write(machine.places.user / ".claude/settings.json", {"hooks": {"PreToolUse": [group]}})
    (rule,), _problems = hooks_of(machine.load())
    assert (why(machine, rule), machine.load().folders[0].untrusted) == ("", ())
    machine.write("check.sh", "exit 0 # the agent's")
    assert "is not as it was" in why(machine, rule)


def test_a_pipe_in_a_scripts_place_neither_runs_nor_hangs(machine: Machine) -> None:
    machine.write("check.sh", "exit 0")
    rule = fix(machine, "./check.sh")
    (machine.folder / "check.sh").unlink()
    os.mkfifo(machine.folder / "check.sh")
    assert "is not as it was" in why(machine, rule)
    assert machine.load().folders[0].scripts == ()
