"""Several hooks decide together: stop before deny before ask before allow."""

from typing import Any

import pytest

from workflows.contracts.extensions import HookAnswer, HookRecord, HookResult
from workflows.contracts.permissions import Decision, Verdict
from workflows.core.hook_answers import Answered, merged, verdict_of

ALLOW, ASK, DENY = Decision.ALLOW, Decision.ASK, Decision.DENY


def hook(name: str, **said: Any) -> Answered:
    return Answered(HookRecord(event="PreToolUse", hook=name, kind="command"), HookAnswer(**said))


@pytest.mark.parametrize(
    ("decisions", "together", "by"),
    [
        ([None, None], None, ""),
        ([ALLOW, None], ALLOW, "0"),
        ([ALLOW, ASK], ASK, "1"),
        ([ASK, DENY, ALLOW], DENY, "1"),
        ([DENY, DENY], DENY, "0"),
    ],
)
def test_deny_counts_before_ask_before_allow(
    decisions: list[Decision | None], together: Decision | None, by: str
) -> None:
    result = merged([hook(str(n), decision=decision) for n, decision in enumerate(decisions)])
    assert (result.decision, result.by) == (together, by)


def test_the_reason_is_that_of_the_hook_that_decided() -> None:
    result = merged([hook("a", decision=ALLOW, reason="fine"), hook("b", decision=DENY, reason="never")])
    assert (result.by, result.reason) == ("b", "never")
    assert verdict_of(result) == Verdict(decision=DENY, by="hook", rule="b", text="never (hook b)")


def test_a_stop_counts_before_everything() -> None:
    result = merged([hook("a", decision=ALLOW), hook("b", stops=True, stop_reason="enough")])
    verdict = verdict_of(result)
    assert verdict is not None
    assert (verdict.decision, verdict.rule, verdict.text) == (DENY, "b", "enough (hook b)")


def test_the_last_of_several_new_inputs_counts_and_all_contexts_do() -> None:
    result = merged([hook("a", updated_input={"n": 1}, context="x"), hook("b", updated_input={"n": 2}, context="y")])
    assert (result.updated_input, result.context) == ({"n": 2}, "x\ny")


def test_without_hooks_nothing_is_decided() -> None:
    assert merged([]) == HookResult()
    assert verdict_of(HookResult()) is None
    assert verdict_of(None) is None
