"""What is read from the bytes of a settings file, and what is said of the rest."""

import json
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from workflows.contracts.permissions import Source
from workflows.contracts.settings_files import SettingsLayer
from workflows.core.settings import merge
from workflows.core.settings_parse import read_layer

NAMES = [
    "permissions",
    "allow",
    "ask",
    "deny",
    "defaultMode",
    "hooks",
    "Stop",
    "sandbox",
    "filesystem",
    "denyRead",
    "env",
]


def layer(held: Any, source: Source = Source.USER) -> SettingsLayer:
    data = held if isinstance(held, bytes) else json.dumps(held).encode()
    return read_layer(data, source, "/f.json", "/root")


def test_each_value_is_kept_under_its_key_with_dots() -> None:
    read = layer(
        {
            "permissions": {"allow": ["Edit", "Bash(ls)"], "deny": ["Read(.env)"], "defaultMode": "plan"},
            "env": {"CI": "1"},
            "hooks": {"PreToolUse": [{"matcher": "Bash", "hooks": [{"type": "command", "command": "check"}]}]},
            "sandbox": {"network": {"allowedDomains": ["a.example"]}},
        }
    )
    assert [value.key for value in read.values] == [
        "permissions.allow", "permissions.allow", "permissions.deny", "permissions.defaultMode", "env.CI",
        "hooks.PreToolUse", "sandbox.network.allowedDomains",
    ]  # fmt: skip
    assert (read.problems, read.broken) == ((), "")


def test_other_places_and_spellings_of_a_key_are_understood() -> None:
    read = layer({"disableAutoMode": "disable", "autoMode": {"soft_deny": ["push"]}})
    assert [value.key for value in read.values] == ["permissions.disableAutoMode", "autoMode.softDeny"]


def test_a_key_that_is_not_known_is_told_with_the_one_that_was_meant() -> None:
    assert layer({"modle": "x"}).problems == ("/f.json: the key modle is not known; did you mean model?",)


def test_a_misspelt_key_that_restricts_closes_everything() -> None:
    assert "permissions.denny" in layer({"permissions": {"denny": ["Bash"]}}).broken


def test_keys_of_other_programs_are_told_in_one_line() -> None:
    read = layer({"statusLine": {}, "cleanupPeriodDays": 3, "$schema": "x"})
    assert read.hints == ("/f.json: without effect here: $schema, cleanupPeriodDays, statusLine",)
    assert read.problems == ()


def test_a_rule_that_means_something_else_than_it_seems_is_explained() -> None:
    read = layer({"permissions": {"deny": ["Bash(ls*)"], "allow": ["Write(src/**)"]}})
    assert [hint.partition(": ")[2][:12] for hint in read.hints] == ["'Bash(ls*)' ", "'Write(src/*"]
    assert (len(read.values), read.problems, read.broken) == (2, (), "")


def test_a_program_that_gives_a_key_is_not_run_and_the_person_is_told_what_to_do() -> None:
    assert "ANTHROPIC_API_KEY" in layer({"apiKeyHelper": "cat key"}).problems[0]


@pytest.mark.parametrize(
    ("data", "why"),
    [
        (b'{"permissions": {"deny": ["Bash"]', "line 1 column 34"),
        (b'{"permissions": {"deny": ["Bash"]}, "permissions": {}}', '"permissions" stands twice'),
        (b'["deny"]', "no JSON object"),
        (b'{"permissions": {"deny": "Bash"}}', "permissions.deny is no list"),
        (b'{"permissions": {"deny": [7]}}', "7 in permissions.deny is no rule"),
        (b'{"permissions": {"deny": ["Bash("]}}', '"Bash(" in permissions.deny is no rule'),
        (b'{"permissions": {"ask": [[]]}}', "[] in permissions.ask is no rule"),
        (b'{"permissions": ["deny"]}', "permissions is no object"),
        (b'{"deny\xff": 1}', "byte 6 is no UTF-8"),
        (b'{"hooks": []}', "hooks is no object"),
        (b'{"hooks": {"PreToolUse": ["guard"]}}', "hooks.PreToolUse is no object"),
        (b'{"sandbox": {"filesystem": {"denyRead": "~/.ssh"}}}', "denyRead is no list"),
        (b'{"sandbox": {"failIfUnavailable": "yes"}}', "failIfUnavailable is neither true nor false"),
        (b'{"permissions": {"disableBypassPermissionsMode": true}}', 'may only be "disable"'),
        (b'{"deny": NaN}', "NaN is no JSON"),
        (b'{"deny": "\\ud800"}', "half a character"),
        (b'{"deny": ' + b"[" * 100_000, "nested too deep"),
    ],
)
def test_a_file_that_may_have_forbidden_something_closes_everything_and_names_itself(data: bytes, why: str) -> None:
    read = layer(data)
    assert why in read.broken
    assert read.broken.startswith("/f.json: ")
    assert read.broken in read.problems


@pytest.mark.parametrize(
    "data",
    [
        b'{"permissions": {"allow": "Bash"}}',
        b'{"permissions": {"allow": [7]}}',
        b'{"model": 7}',
        b'{"env": {"A B": "1", "C": 2}}',
        b'{"model": ',
        b'{"permissions": {"defaultMode": "yolo"}}',
    ],
)
def test_a_fault_that_loses_no_restriction_is_told_and_closes_nothing(data: bytes) -> None:
    read = layer(data)
    assert read.problems
    assert (read.values, read.broken) == ((), "")


@pytest.mark.parametrize("data", [b"", b" \n", b"{}", b"\xef\xbb\xbf{}"])
def test_an_empty_file_says_nothing(data: bytes) -> None:
    assert layer(data) == SettingsLayer(source=Source.USER, file="/f.json", root="/root")


def test_rules_that_fit_are_kept_beside_one_that_does_not() -> None:
    read = layer({"permissions": {"deny": ["Bash(rm *)", "Bash("]}})
    assert [value.value for value in read.values] == ["Bash(rm *)"]


@pytest.mark.parametrize(
    ("held", "needs"),
    [
        ({"permissions": {"allow": ["Edit"]}}, True),
        ({"permissions": {"deny": ["Edit"]}}, False),
        ({"permissions": {"ask": ["Edit"]}}, False),
        ({"hooks": {"Stop": [{}]}}, True),
        ({"env": {"A": "1"}}, True),
        ({"model": "m"}, True),
        ({"disableAllHooks": True}, True),
        ({"sandbox": {"enabled": True}}, True),
        ({"sandbox": {"failIfUnavailable": True}}, False),
        ({"sandbox": {"autoAllowBashIfSandboxed": True}}, True),
        ({"sandbox": {"enabled": False}}, True),
        ({"sandbox": {"filesystem": {"denyRead": ["x"]}}}, False),
        ({"sandbox": {"allowUnsandboxedCommands": False}}, False),
        ({"mcpServers": {"s": {"command": "x"}}}, True),
    ],
)
def test_what_a_folder_gives_needs_trust_and_what_it_takes_away_does_not(held: Any, needs: bool) -> None:
    for source in (Source.PROJECT, Source.LOCAL):
        assert [bool(value.grant) for value in layer(held, source).values] == [needs]
    assert [bool(value.grant) for value in layer(held, Source.USER).values] == [False]


CALM = settings(deadline=None, database=None, suppress_health_check=[HealthCheck.too_slow])
ANY = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False)
    | st.text("aÄ(*) ", max_size=12)
    | st.just("Edit"),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from([*NAMES, "other"]), inner, max_size=4),
    max_leaves=12,
)


@CALM
@given(st.dictionaries(st.sampled_from(NAMES), ANY, max_size=5))
def test_whatever_a_file_holds_it_is_read_and_no_deny_list_is_lost_in_silence(held: dict[str, Any]) -> None:
    read = layer(held, Source.PROJECT)
    merged = merge([read], {}, ["/root"])
    permissions = held.get("permissions", {})
    denied = permissions.get("deny", []) if isinstance(permissions, dict) else None
    kept = [value.value for value in read.values if value.key == "permissions.deny"]
    assert read.broken or denied == kept
    assert [rule for rule in kept if rule not in merged.settings.permissions.deny] == []
    assert merged.settings.permissions.allow == ()


@CALM
@given(
    st.binary(max_size=60)
    | st.text('{}[]":,1aÄ\ud800', max_size=60).map(lambda text: text.encode("utf-8", "surrogatepass"))
)
def test_whatever_bytes_a_file_has_it_is_read(data: bytes) -> None:
    read = layer(data)
    assert read.problems or read.values == ()
