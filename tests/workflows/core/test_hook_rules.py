"""The hooks of a settings file become rules, and what of them has no effect is told."""

from typing import Any

import pytest

from workflows.contracts.extensions import HookHeader, HookKind, HookRule
from workflows.core.hook_rules import parse_hooks


def problems(given: Any) -> str:
    return "; ".join(parse_hooks(given, "s.json").problems)


def one(**entry: Any) -> dict[str, Any]:
    return {"PreToolUse": [{"matcher": "Bash", "hooks": [entry]}]}


def test_a_command_hook_is_read_with_all_its_fields() -> None:
    given = one(
        type="command", command="./guard", args=["-v"], timeout=5, asyncRewake=True, statusMessage="…",
        **{"if": "Bash(git *)"},
    )  # fmt: skip
    assert parse_hooks(given, "s.json", "/plugin").rules == [
        HookRule(
            event="PreToolUse", kind=HookKind.COMMAND, matcher="Bash", condition="Bash(git *)", command="./guard",
            args=("-v",), timeout=5.0, is_async=True, wakes=True, status_message="…", source="s.json", root="/plugin",
        )
    ]  # fmt: skip


def test_an_http_hook_is_read_with_its_headers() -> None:
    given = one(type="http", url="http://h/x", headers={"A": "Bearer $T"}, allowedEnvVars=["T"])
    found = parse_hooks(given, "s.json")
    assert found.problems == []
    assert found.rules[0].headers == (HookHeader(name="A", value="Bearer $T"),)
    assert found.rules[0].allowed_env == ("T",)


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ([], "hooks must be an object of events"),
        ({"BeforeTool": []}, "there is no hook event BeforeTool"),
        ({"PreCompact": []}, "PreCompact is not raised: comes with compaction"),
        ({"Stop": {}}, "hooks.Stop must be a list"),
        ({"Stop": ["x"]}, "holds something that is no object"),
        ({"Stop": [{"hooks": [], "matchers": "x"}]}, "unknown key 'matchers'"),
        (one(type="command", command="x", comand="y"), "unknown key 'comand'"),
        (one(type="command"), "has no command"),
        (one(type="shell", command="x"), "has the type 'shell', which there is not"),
        (one(type="agent", prompt="x"), "cannot run yet; until then it refuses what it was to judge"),
        (one(type="command", command="x", timeout="5"), "has a timeout that is not a number of seconds"),
        (one(type="command", command="x", timeout=9999), "asks for 9999 seconds; it gets 1800"),
        (one(type="command", command="x", shell="fish"), "names the shell 'fish'"),
        (one(type="command", command="x", **{"async": True}), "is async, so it can refuse nothing"),
        (one(type="command", command="x", once=True), "says `once`"),
        ({"Stop": [{"hooks": [{"type": "command", "command": "x", "if": "Bash"}]}]}, "has an `if`"),
        ({"Stop": [{"matcher": "x", "hooks": [{"type": "command", "command": "x"}]}]}, "has a matcher"),
        ({"SessionStart": [{"hooks": [{"type": "http", "url": "http://h"}]}]}, "which SessionStart does not take"),
    ],
)
def test_what_has_no_effect_is_told(given: Any, told: str) -> None:
    assert told in problems(given)


def test_a_guard_that_cannot_be_read_is_kept_so_that_it_refuses() -> None:
    (rule,) = parse_hooks(one(type="shell", command="x"), "s.json").rules
    assert (rule.event, rule.matcher, rule.command) == ("PreToolUse", "Bash", "")


@pytest.mark.parametrize(
    "groups",
    [
        {"matcher": "Bash"},
        ["exit 2"],
        [{"type": "command", "command": "exit 2"}],
        [{"matcher": "Bash", "hooks": {"type": "command", "command": "exit 2"}}],
        [{"matcher": "Bash", "hooks": ["exit 2"]}],
    ],
)
def test_a_guard_of_another_shape_is_kept_so_that_it_refuses_and_any_other_is_left_out(groups: Any) -> None:
    found = parse_hooks({"PreToolUse": groups, "PostToolUse": groups}, "s.json")
    assert [(rule.event, rule.command) for rule in found.rules] == [("PreToolUse", "")]
    assert "until it is mended it refuses" in "; ".join(found.problems)


def test_an_event_in_other_letters_is_the_one_that_it_means_and_that_is_told() -> None:
    found = parse_hooks({"pretooluse": one(type="command", command="x")["PreToolUse"]}, "s.json")
    assert [(rule.event, rule.command) for rule in found.rules] == [("PreToolUse", "x")]
    assert found.problems == ["s.json: the hook event pretooluse is read as PreToolUse"]
