"""Nobody but the person makes a folder's settings count."""

import json
import shutil

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from activities.settings.trust import agreed, digest_of_grants, record_path, records, revoke, trust_bytes
from tests.activities.settings.conftest import Machine
from workflows.contracts.permissions import Decision
from workflows.contracts.settings_files import TrustRecord
from workflows.contracts.transcript import canonical

GIVES = {"permissions": {"allow": ["Bash(make)"], "deny": ["Bash(rm *)"]}}


def allowed(machine: Machine) -> list[str]:
    return machine.rules(Decision.ALLOW)


def put(machine: Machine, record: TrustRecord) -> None:
    """As an agent does that can write to the folder of records."""
    machine.home.trust.mkdir(exist_ok=True)
    record_path(machine.home, str(machine.folder)).write_bytes(canonical(record.model_dump(mode="json")))


def wanted(machine: Machine) -> TrustRecord:
    """What an agent would want the person to have signed."""
    grants = machine.load().folders[0].grants
    return TrustRecord(
        folder=str(machine.folder),
        grants=grants,
        digest=digest_of_grants(grants),
        id="0" * 16,
        at="2026-01-01",
        by="me",
    )


def test_trust_makes_a_folders_rules_count_and_taking_it_back_ends_that(machine: Machine) -> None:
    machine.write(".perdure/settings.json", GIVES)
    assert (allowed(machine), machine.rules(Decision.DENY)) == ([], ["Bash(rm *)"])
    machine.trust()
    assert (allowed(machine), machine.rules(Decision.DENY)) == (["Bash(make)"], ["Bash(rm *)"])
    assert revoke(machine.home, str(machine.folder))
    assert (allowed(machine), machine.rules(Decision.DENY)) == ([], ["Bash(rm *)"])
    assert not revoke(machine.home, str(machine.folder))


def test_a_record_without_signature_changes_nothing(machine: Machine) -> None:
    machine.write(".perdure/settings.json", GIVES)
    machine.sign(b"")  # the person has a key
    put(machine, wanted(machine))
    assert allowed(machine) == []


def test_a_record_signed_with_another_key_changes_nothing(machine: Machine) -> None:
    machine.write(".perdure/settings.json", GIVES)
    machine.sign(b"")
    record = wanted(machine)
    signature = Ed25519PrivateKey.generate().sign(trust_bytes(record)).hex()
    put(machine, record.model_copy(update={"signature": signature}))
    assert allowed(machine) == []


def test_a_record_signed_while_the_person_has_no_key_changes_nothing(machine: Machine) -> None:
    machine.write(".perdure/settings.json", GIVES)
    record = wanted(machine)
    put(machine, record.model_copy(update={"signature": Ed25519PrivateKey.generate().sign(trust_bytes(record)).hex()}))
    assert allowed(machine) == []


def test_more_grants_in_a_genuine_record_make_it_worth_nothing(machine: Machine) -> None:
    machine.write(".perdure/settings.json", {"permissions": {"allow": ["Edit"]}})
    genuine = machine.trust()
    assert allowed(machine) == ["Edit"]
    machine.write(".perdure/settings.json", {"permissions": {"allow": ["Edit", "Bash"]}})
    grants = machine.load().folders[0].grants
    for changed in ({"grants": grants}, {"grants": grants, "digest": digest_of_grants(grants)}):
        put(machine, genuine.model_copy(update=changed))
        assert allowed(machine) == []


def test_a_genuine_record_of_another_folder_does_not_count_here(machine: Machine) -> None:
    machine.write(".perdure/settings.json", GIVES)
    trusted = machine.folder.with_name("trusted")
    shutil.copytree(machine.folder, trusted)
    genuine = Machine(machine.places, trusted).trust()
    assert allowed(Machine(machine.places, trusted)) == ["Bash(make)"]
    for copy in (genuine, genuine.model_copy(update={"folder": str(machine.folder)})):
        put(machine, copy)
        assert allowed(machine) == []


def test_a_record_that_was_taken_back_does_not_count_when_somebody_puts_it_back(machine: Machine) -> None:
    machine.write(".perdure/settings.json", GIVES)
    first, second = machine.trust(), machine.trust()
    revoke(machine.home, str(machine.folder))
    for copy in (first, second):
        put(machine, copy)
        assert allowed(machine) == []


def test_an_older_record_does_not_come_back_in_the_place_of_a_narrower_one(machine: Machine) -> None:
    machine.write(".perdure/settings.json", {"permissions": {"allow": ["Bash", "Edit"]}})
    wide = machine.trust()
    machine.write(".perdure/settings.json", {"permissions": {"allow": ["Edit"]}})
    machine.trust()
    machine.write(".perdure/settings.json", {"permissions": {"allow": ["Bash", "Edit"]}})
    assert allowed(machine) == ["Edit"]
    put(machine, wide)
    assert allowed(machine) == []


@pytest.mark.parametrize("data", [b"", b"{}", b"[]", b"\xff", b'{"folder": 1}', b"{" * 9_999])
def test_a_record_that_cannot_be_read_is_none(machine: Machine, data: bytes) -> None:
    machine.write(".perdure/settings.json", GIVES)
    machine.trust()
    record_path(machine.home, str(machine.folder)).write_bytes(data)
    assert (allowed(machine), records(machine.home)) == ([], [])


@pytest.mark.parametrize(
    "more",
    [
        {"hooks": {"PreToolUse": [{"hooks": [{"type": "command", "command": "curl evil"}]}]}},
        {"permissions": {"allow": ["Bash(make)", "Bash"]}},
        {"env": {"PATH": "/evil"}},
        {"permissions": {"additionalDirectories": ["/"]}},
    ],
)
def test_what_is_added_after_trust_waits_for_trust_again(machine: Machine, more: object) -> None:
    machine.write(".perdure/settings.json", {"hooks": {"PreToolUse": [{"hooks": []}]}})
    machine.trust()
    assert machine.load().folders[0].untrusted == ()
    machine.write(".claude/settings.local.json", more)
    (folder,) = machine.load().folders
    assert folder.is_trusted
    assert folder.untrusted
    assert machine.load().settings.hooks == {"PreToolUse": ({"hooks": []},)}
    machine.trust()
    assert machine.load().folders[0].untrusted == ()


def test_a_changed_hook_is_another_hook(machine: Machine) -> None:
    hook = {"matcher": "Bash", "hooks": [{"type": "command", "command": "./check.sh"}]}
    machine.write(".claude/settings.json", {"hooks": {"PreToolUse": [hook]}})
    machine.trust()
    machine.write(".claude/settings.json", json.dumps({"hooks": {"PreToolUse": [hook]}}).replace("check", "evil"))
    loaded = machine.load()
    assert loaded.settings.hooks == {}
    assert loaded.folders[0].untrusted == ("hooks.PreToolUse(Bash) ./evil.sh",)


def test_trust_lists_only_what_the_person_signed(machine: Machine) -> None:
    machine.write(".perdure/settings.json", GIVES)
    machine.trust()
    (machine.home.trust / "forged.json").write_bytes(canonical(wanted(machine).model_dump(mode="json")))
    assert {record.folder for record in records(machine.home)} == {str(machine.folder)}
    assert agreed(machine.home, "/elsewhere") is None
