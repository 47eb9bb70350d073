"""The rules that count now, read afresh for each call."""

import os
import time
from pathlib import Path

import pytest

from activities.settings.policy import current_policy
from tests.activities.settings.conftest import Machine
from workflows.contracts.permissions import Decision, Mode, Rules, Source
from workflows.contracts.settings import SessionSettings


def test_each_rule_names_its_source_its_file_and_its_root_the_one_of_most_weight_first(machine: Machine) -> None:
    managed, own = machine.places.managed[0], machine.places.user_files()[0]
    machine.write(managed, {"permissions": {"deny": ["Bash(a)"]}})
    machine.write(own, {"permissions": {"deny": ["Bash(d)"]}})
    machine.write(".claude/settings.json", {"permissions": {"deny": ["Bash(c)"]}})
    machine.write(".perdure/settings.local.json", {"permissions": {"deny": ["Bash(b)"]}})
    policy = machine.policy(rules=Rules(deny=("Bash(x)",), allow=("Edit",)))
    assert [(rule.text, rule.source, rule.file, rule.root) for rule in policy.rules if rule.action == "deny"] == [
        ("Bash(a)", Source.MANAGED, str(managed), str(managed.parent)),
        ("Bash(x)", Source.CLI, "", ""),
        ("Bash(b)", Source.LOCAL, str(machine.folder / ".perdure/settings.local.json"), str(machine.folder)),
        ("Bash(c)", Source.PROJECT, str(machine.folder / ".claude/settings.json"), str(machine.folder)),
        ("Bash(d)", Source.USER, str(own), str(machine.places.user)),
    ]


def test_folders_of_the_command_line_are_added_to_those_of_files(machine: Machine) -> None:
    machine.write(machine.places.user_files()[0], {"permissions": {"additionalDirectories": ["/a", "/b"]}})
    assert machine.policy().additional_directories == ("/a", "/b")
    assert machine.policy(added_folders=("/b", "/c")).additional_directories == ("/a", "/b", "/c")


def test_a_rule_that_is_written_acts_on_the_next_call_and_changes_the_digest(machine: Machine) -> None:
    before = machine.policy()
    assert (before.rules, machine.policy().digest) == ((), before.digest)
    machine.write(".perdure/settings.json", {"permissions": {"deny": ["Bash"]}})
    assert machine.rules(Decision.DENY) == ["Bash"]
    assert machine.policy().digest != before.digest
    (machine.folder / ".perdure/settings.json").unlink()
    assert machine.policy() == before


def test_every_one_of_many_quick_changes_of_the_same_length_is_seen(machine: Machine) -> None:
    for number in range(100, 200):
        machine.write(".perdure/settings.json", {"permissions": {"deny": [f"Bash({number})"]}})
        assert machine.rules(Decision.DENY) == [f"Bash({number})"]


def test_a_change_whose_time_is_set_back_is_seen(machine: Machine) -> None:
    path = machine.write(".perdure/settings.json", {"permissions": {"deny": ["Bash(a)"]}})
    facts = path.stat()
    time.sleep(0.06)
    machine.policy()
    with path.open("r+") as file:
        file.write(path.read_text().replace("(a)", "(b)"))
    os.utime(path, ns=(facts.st_atime_ns, facts.st_mtime_ns))
    assert machine.rules(Decision.DENY) == ["Bash(b)"]


def test_a_file_that_cannot_be_read_closes_everything_and_loses_no_rule_of_another(machine: Machine) -> None:
    machine.write(".perdure/settings.json", '{"permissions": {"deny": [')
    machine.write(".claude/settings.json", {"permissions": {"deny": ["Edit"]}})
    assert machine.rules(Decision.DENY) == ["Edit"]
    assert machine.policy().broken.startswith(f"{machine.folder}/.perdure/settings.json: it is left out: ")
    machine.write(".perdure/settings.json", {})
    assert machine.policy().broken == ""


@pytest.mark.timeout(10)
def test_what_is_no_regular_file_closes_everything_instead_of_being_waited_for(machine: Machine) -> None:
    (machine.folder / ".perdure").mkdir()
    path = machine.folder / ".perdure/settings.json"
    os.mkfifo(path)
    assert "no regular file" in machine.policy().broken
    path.unlink()
    path.mkdir()
    assert "settings.json: it cannot be read" in machine.policy().broken
    path.rmdir()
    path.symlink_to(path)
    assert "it cannot be read" in machine.policy().broken
    path.unlink()
    path.write_text(" " * 1_100_000)
    assert "over 1 MB" in machine.policy().broken


def test_a_list_of_servers_that_cannot_be_read_closes_nothing(machine: Machine) -> None:
    machine.write(".mcp.json", '{"mcpServers": ask')
    assert (machine.policy().broken, len(machine.load().problems)) == ("", 1)


def test_a_repository_that_an_agent_makes_takes_no_deny_rule_away(machine: Machine) -> None:
    (machine.folder / ".git").mkdir()
    machine.write(".perdure/settings.json", {"permissions": {"deny": ["Bash"]}})
    below = machine.folder / "sub"
    below.mkdir()
    roots = machine.load(below).folders
    session = SessionSettings(roots=tuple(folder.root for folder in roots))
    (below / ".git").mkdir()
    assert [rule.text for rule in current_policy(machine.places, below, session).rules] == ["Bash"]


def test_folders_beside_the_sessions_own_are_absolute_and_count_once_trusted(machine: Machine) -> None:
    machine.write(machine.places.user_files()[1], {"permissions": {"additionalDirectories": ["~/lib", "/opt/x/.."]}})
    machine.write(".perdure/settings.json", {"permissions": {"additionalDirectories": ["../other"]}})
    user = str(machine.places.user)
    assert machine.policy().additional_directories == (f"{user}/lib", "/opt")
    machine.trust()
    assert machine.policy().additional_directories == (str(machine.folder.parent / "other"), f"{user}/lib", "/opt")


def test_managed_settings_can_leave_out_allow_rules_of_the_command_line(machine: Machine) -> None:
    machine.write(machine.places.managed[1], {"allowManagedPermissionRulesOnly": True})
    policy = machine.policy(rules=Rules(allow=("Edit",), deny=("Read",)))
    assert [rule.text for rule in policy.rules] == ["Read"]


def test_mode_and_what_is_switched_off_reach_the_policy(machine: Machine) -> None:
    machine.write(
        machine.places.user_files()[1],
        {"permissions": {"defaultMode": "acceptEdits", "disableBypassPermissionsMode": "disable"}},
    )
    machine.write(".perdure/settings.json", {"disableAutoMode": "disable"})
    policy = machine.policy()
    assert (policy.default_mode, policy.disable_bypass, policy.disable_auto) == (Mode.ACCEPT_EDITS, True, True)


def test_two_folders_have_two_policies(machine: Machine, tmp_path: Path) -> None:
    machine.write(".perdure/settings.json", {"permissions": {"deny": ["Bash"]}})
    other = tmp_path / "other"
    other.mkdir()
    assert machine.rules(Decision.DENY) == ["Bash"]
    assert current_policy(machine.places, other, SessionSettings()).rules == ()
