"""*Always allow* adds a rule and loses nothing."""

import json
import random
import stat
import subprocess
import sys
import time
from pathlib import Path

import pytest

from activities.settings.always import DOMAINS, always_allow, always_open
from activities.settings.editing import append_items
from activities.settings.load import load_settings
from tests.activities.settings.conftest import Machine
from tests.fakes import rule_writer
from workflows.contracts.errors import UserError
from workflows.contracts.permissions import Decision

WRITER = Path(rule_writer.__file__)


def allow(file: Path) -> list[str]:
    found = json.loads(file.read_text())["permissions"]["allow"]
    assert isinstance(found, list)
    return found


def writer(file: Path, first: int, count: int) -> "subprocess.Popen[bytes]":
    words = [sys.executable, str(WRITER), str(file), str(file.parents[1]), str(first), str(count)]
    return subprocess.Popen(words, env={"PYTHONPATH": str(Path.cwd())})


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / ".perdure/settings.local.json"


def test_an_empty_folder_that_stood_there_shares_nothing_either(file: Path) -> None:
    file.parent.mkdir()
    append_items(file, "permissions.allow", ["Edit"], file.parents[1])
    assert "settings.local.json" in (file.parent / ".gitignore").read_text()


def test_a_missing_file_is_made_for_the_person_alone_and_kept_out_of_the_repository(file: Path) -> None:
    assert append_items(file, "permissions.allow", ["Bash(make)", "Edit"], file.parents[1]) == ("Bash(make)", "Edit")
    assert json.loads(file.read_text()) == {"permissions": {"allow": ["Bash(make)", "Edit"]}}
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert "settings.local.json" in (file.parent / ".gitignore").read_text()


def test_a_rule_that_is_there_is_not_added_again_and_the_file_not_written(file: Path) -> None:
    append_items(file, "permissions.allow", ["Edit"], file.parents[1])
    before = file.stat()
    assert append_items(file, "permissions.allow", ["Edit"], file.parents[1]) == ()
    assert file.stat() == before


def test_unknown_keys_their_order_indentation_and_mode_stay(file: Path) -> None:
    file.parent.mkdir()
    file.write_text(
        '{\n    "zeta": {"é": [1]},\n    "permissions": {\n        "deny": ["Bash"]\n    },\n    "a": null\n}\n'
    )
    file.chmod(0o640)
    append_items(file, "permissions.allow", ["Edit"], file.parents[1])
    text = file.read_text()
    assert json.loads(text) == {"zeta": {"é": [1]}, "permissions": {"deny": ["Bash"], "allow": ["Edit"]}, "a": None}
    assert [line for line in text.splitlines() if line.startswith('    "')] == [
        '    "zeta": {', '    "permissions": {', '    "a": null',
    ]  # fmt: skip
    assert "é" in text
    assert stat.S_IMODE(file.stat().st_mode) == 0o640


def test_another_list_can_be_added_to(file: Path) -> None:
    append_items(file, "permissions.deny", ["Bash(rm *)"], file.parents[1])
    assert json.loads(file.read_text()) == {"permissions": {"deny": ["Bash(rm *)"]}}


@pytest.mark.parametrize(
    "held",
    [
        '{"permissions": ',
        "[]",
        '{"permissions": []}',
        '{"permissions": {"allow": "Edit"}}',
        '{"permissions": {"deny": 1}}',
        '{"a": 1, "a": 2}',
    ],
)
def test_a_malformed_file_is_refused_and_left_as_it_is(file: Path, held: str) -> None:
    file.parent.mkdir()
    file.write_text(held)
    with pytest.raises(UserError, match=r"settings\.local\.json.*mend it"):
        append_items(file, "permissions.allow", ["Edit"], file.parents[1])
    assert file.read_text() == held


def test_a_link_out_of_the_folder_is_not_followed(file: Path, tmp_path: Path) -> None:
    own = tmp_path / "user.json"
    own.write_text("{}")
    root = tmp_path / "root"
    link = root / ".perdure/settings.local.json"
    link.parent.mkdir(parents=True)
    link.symlink_to(own)
    with pytest.raises(UserError, match="is a link to"):
        append_items(link, "permissions.allow", ["Edit"], root)
    assert own.read_text() == "{}"


@pytest.mark.journey
def test_several_writers_at_once_lose_no_rule(file: Path) -> None:
    writers = [writer(file, 100 * number, 20) for number in range(4)]
    assert [one.wait(60) for one in writers] == [0] * 4
    wanted = {f"Bash(rule{100 * number + place})" for number in range(4) for place in range(20)}
    assert set(allow(file)) == wanted
    assert len(allow(file)) == len(wanted)


@pytest.mark.journey
def test_a_writer_that_is_killed_at_any_moment_leaves_the_old_file_or_the_new_one(
    file: Path, chance: random.Random
) -> None:
    append_items(file, "permissions.allow", ["Edit"], file.parents[1])
    known = {"Edit"}
    for number in range(8):
        killed = writer(file, 1_000 * number, 900)
        deadline = time.monotonic() + 20
        while f"Bash(rule{1_000 * number})" not in allow(file) and time.monotonic() < deadline:
            time.sleep(0.005)
        time.sleep(chance.random() * 0.05)
        killed.kill()
        killed.wait()
        now = set(allow(file))
        assert known < now
        known = now
    append_items(file, "permissions.allow", ["Read"], file.parents[1])
    assert sorted(path.name for path in file.parent.iterdir()) == [".gitignore", "settings.local.json"]


def test_a_rule_that_a_person_allows_for_good_counts_in_a_folder_that_is_not_trusted(machine: Machine) -> None:
    machine.sign(b"")  # the person has a key
    (machine.folder / ".git").mkdir()
    machine.write(".claude/settings.json", {"permissions": {"allow": ["Edit"]}})
    below = machine.folder / "sub"
    below.mkdir()
    file, added = always_allow(machine.places, below, ["Bash(make)", "Bash(make *)"], "me")
    assert (file, added) == (machine.folder / ".perdure/settings.local.json", ("Bash(make)", "Bash(make *)"))
    assert machine.rules(Decision.ALLOW) == ["Bash(make)", "Bash(make *)"]
    always_allow(machine.places, below, ["Read"], "me")
    assert machine.rules(Decision.ALLOW) == ["Bash(make)", "Bash(make *)", "Read"]


def test_nothing_is_allowed_for_good_without_a_key_or_against_managed_settings(machine: Machine) -> None:
    with pytest.raises(UserError, match="no key to sign with"):
        always_allow(machine.places, machine.folder, ["Edit"], "me")
    machine.sign(b"")
    machine.write(machine.places.managed[0], {"allowManagedPermissionRulesOnly": True})
    with pytest.raises(UserError, match="Only managed settings"):
        always_allow(machine.places, machine.folder, ["Edit"], "me")
    assert not (machine.folder / ".perdure").exists()


def test_dying_between_the_rule_and_its_signature_gives_no_right_and_the_next_time_does(machine: Machine) -> None:
    machine.sign(b"")
    append_items(machine.folder / ".perdure/settings.local.json", "permissions.allow", ["Edit"], machine.folder)
    assert machine.rules(Decision.ALLOW) == []
    assert always_allow(machine.places, machine.folder, ["Edit"], "me")[1] == ()
    assert machine.rules(Decision.ALLOW) == ["Edit"]


def test_hosts_that_are_always_open_count_where_nothing_else_of_the_folder_is_trusted(machine: Machine) -> None:
    machine.sign(b"")
    file = machine.folder / ".perdure/settings.local.json"
    machine.write(file, {"sandbox": {"network": {"allowedDomains": ["planted.example"]}}, "env": {"A": "1"}})
    assert always_open(machine.places, machine.folder, ["far.example:8443"], "me") == (file, ("far.example:8443",))
    loaded = load_settings(machine.places, machine.folder)
    assert loaded.settings.sandbox.network.allowed_domains == ("far.example:8443",)
    machine.write(machine.places.managed[0], {"sandbox": {"network": {"allowManagedDomainsOnly": True}}})
    with pytest.raises(UserError, match="allowManagedDomainsOnly"):
        always_open(machine.places, machine.folder, ["other.example"], "me")


def test_a_list_that_is_none_loses_nothing(machine: Machine) -> None:
    file = machine.folder / ".perdure/settings.local.json"
    machine.write(file, {"sandbox": {"network": "all"}})
    before = file.read_bytes()
    with pytest.raises(UserError, match="network is no object"):
        append_items(file, DOMAINS, ["far.example"], machine.folder)
    assert file.read_bytes() == before
