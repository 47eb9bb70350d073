"""Which hooks a moment concerns."""

import re
from typing import Any

import pytest

from activities.hooks.matching import matches, matching_hooks, may_match
from workflows.contracts.extensions import HookKind, HookRule


def hook(matcher: str = "", event: str = "PreToolUse", command: str = "x", **more: Any) -> HookRule:
    return HookRule(event=event, kind=HookKind.COMMAND, matcher=matcher, command=command, **more)


@pytest.mark.parametrize(
    ("matcher", "target", "holds"),
    [
        ("", "Bash", True),
        ("*", "Bash", True),
        ("Bash", "Bash", True),
        ("Bash", "BashOutput", False),
        ("bash", "Bash", False),
        ("Edit|Write", "Write", True),
        ("Edit, Write", "Write", True),
        ("Edit|Write", "MultiEdit", False),
        ("Edit |Write", "Edit", True),
        ("mcp__a-b__c", "mcp__a-b__c", True),
        ("Edit.*", "MultiEdit", True),
        ("^Edit", "MultiEdit", False),
        ("mcp__.*__write", "mcp__files__write_all", True),
        ("(Bash|Read)$", "Read", True),
        ("[", "", None),
    ],
)
def test_a_matcher_is_a_list_of_names_or_else_an_unanchored_expression(
    matcher: str, target: str, holds: bool | None
) -> None:
    if holds is None:
        with pytest.raises(re.error):
            matches(matcher, target)
    else:
        assert matches(matcher, target) is holds


def test_only_hooks_of_the_event_and_the_tool_run() -> None:
    rules = [hook("Bash"), hook("Read"), hook("Bash", event="PostToolUse")]
    assert matching_hooks(rules, "PreToolUse", "Bash") == [rules[0]]


def test_a_guard_whose_matcher_cannot_be_read_runs_for_every_tool_and_others_for_none() -> None:
    rules = [hook("["), hook("[", event="PostToolUse")]
    assert matching_hooks(rules, "PreToolUse", "Bash") == [rules[0]]
    assert matching_hooks(rules, "PostToolUse", "Bash") == []


def test_of_equal_hooks_the_last_one_runs() -> None:
    rules = [hook("Bash", source="user"), hook("*", source="project"), hook("Bash", command="y")]
    assert [rule.source for rule in matching_hooks(rules, "PreToolUse", "Bash")] == ["project", ""]


def test_the_same_command_under_another_if_or_another_root_is_another_hook() -> None:
    rules = [hook(condition="Bash(a)"), hook(condition="Bash(b)"), hook(root="/p"), hook()]
    assert len(matching_hooks(rules, "PreToolUse", "Bash", lambda _condition: True)) == 4


def test_an_if_is_asked_and_never_holds_where_no_call_is() -> None:
    rules = [hook(condition="Bash(git *)"), hook(command="y")]
    asked: list[str] = []

    def applies(condition: str) -> bool:
        asked.append(condition)
        return False

    assert matching_hooks(rules, "PreToolUse", "Bash", applies) == [rules[1]]
    assert asked == ["Bash(git *)"]
    stop = [hook(condition="Bash", event="Stop")]
    assert matching_hooks(stop, "Stop", "") == []


def test_an_event_without_a_target_runs_whatever_the_matcher_says() -> None:
    rules = [hook("nothing", event="Stop")]
    assert matching_hooks(rules, "Stop", "") == rules


def test_whether_a_hook_may_match_does_not_ask_its_if() -> None:
    rules = [hook("Read", condition="Read(/nowhere)")]
    assert may_match(rules, "PreToolUse", "Read")
    assert not may_match(rules, "PreToolUse", "Grep")
