"""One typed value changes just that of what a settings file holds."""

import pytest
from pydantic import JsonValue

from workflows.contracts.errors import UsageError
from workflows.core.settings_edit import Held, key_of, value_of, with_value, without_value

HELD: Held = {"z": 1, "model": "opus", "permissions": {"allow": ["Edit"], "deny": ["Bash(rm *)"]}, "env": {"A": "1"}}


@pytest.mark.parametrize(
    ("key", "text", "value"),
    [
        ("model", "opus", "opus"),
        ("sandbox.enabled", "True", True),
        ("sandbox.tier", "2", 2),
        ("permissions.allow", "Bash(make *)", "Bash(make *)"),
        ("permissions.defaultMode", "plan", "plan"),
        ("env.NAME", "true", "true"),
    ],
)
def test_a_typed_text_becomes_what_its_key_holds(key: str, text: str, value: JsonValue) -> None:
    assert value_of(key_of(key), text) == value


@pytest.mark.parametrize(
    ("key", "text", "why"),
    [
        ("permissions.alow", "Edit", "did you mean permissions.allow?"),
        ("sandbox.tier", "²", "is no whole number"),
        ("sandbox.tier", "--2", "is no whole number"),
        ("hooks", "x", "write them into the file"),
        ("mcpServers", "x", "write them into the file"),
        ("env", "x", "name one"),
        ("env.no-name", "x", "There is no key"),
        ("theme", "dark", "no effect"),
        ("apiKeyHelper", "x", "no program is run for a key"),
        ("allowManagedHooksOnly", "true", "managed settings alone"),
        ("sandbox.enabled", "yes", "neither true nor false"),
        ("sandbox.tier", "two", "no whole number"),
        ("permissions.deny", "Bash(", "is no rule"),
        ("permissions.defaultMode", "wild", "is none of"),
    ],
)
def test_what_no_file_may_hold_so_is_refused_with_the_reason(key: str, text: str, why: str) -> None:
    with pytest.raises(UsageError) as refused:
        value_of(key_of(key), text)
    assert why in str(refused.value)


def test_a_value_replaces_the_one_before_and_an_item_is_added_once() -> None:
    assert with_value(HELD, "model", "haiku") == HELD | {"model": "haiku"}
    once = with_value(HELD, "permissions.allow", "Read")
    assert once["permissions"] == {"allow": ["Edit", "Read"], "deny": ["Bash(rm *)"]}
    assert with_value(once, "permissions.allow", "Read") == once
    assert with_value({}, "sandbox.network.allowedDomains", "a.example") == {
        "sandbox": {"network": {"allowedDomains": ["a.example"]}}
    }


def test_a_value_that_stands_under_another_spelling_is_replaced_there_too() -> None:
    held: Held = {"disableAutoMode": "disable"}
    assert with_value(held, "permissions.disableAutoMode", "disable") == {"permissions": {"disableAutoMode": "disable"}}
    assert without_value(held, "permissions.disableAutoMode") == {}


def test_one_item_or_the_whole_key_is_taken_out_and_what_is_not_there_is_not() -> None:
    assert without_value(HELD, "permissions.deny", "Bash(rm *)")["permissions"] == {"allow": ["Edit"], "deny": []}
    assert without_value(HELD, "env.A")["env"] == {}
    assert without_value(HELD, "model") == {key: value for key, value in HELD.items() if key != "model"}
    assert without_value(HELD, "permissions.ask", "Edit") == HELD
    assert without_value(HELD, "sandbox.tier") == HELD


@pytest.mark.parametrize("held", [{"permissions": []}, {"permissions": {"allow": "Edit"}}, {"env": 3}])
def test_where_there_is_no_room_nothing_is_overwritten(held: Held) -> None:
    with pytest.raises(UsageError, match="mend it by hand"):
        with_value(held, "env.A" if "env" in held else "permissions.allow", "Read")
