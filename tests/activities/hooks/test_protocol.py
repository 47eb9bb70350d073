"""What a hook printed becomes its answer."""

import json
from typing import Any

import pytest

from activities.hooks.protocol import BadAnswer, Said, answer_of
from workflows.contracts.extensions import HookAnswer
from workflows.contracts.permissions import Decision

PRE, POST, STOP = "PreToolUse", "PostToolUse", "Stop"


def said(stdout: Any = "", stderr: str = "", code: int = 0) -> Said:
    return Said(stdout if isinstance(stdout, str) else json.dumps(stdout), stderr, code)


def specific(event: str, **fields: Any) -> Said:
    return said({"hookSpecificOutput": {"hookEventName": event, **fields}})


@pytest.mark.parametrize(
    ("event", "given", "answer"),
    [
        (PRE, said(), HookAnswer()),
        (PRE, said("all good"), HookAnswer()),
        ("SessionStart", said("be brief\n"), HookAnswer(context="be brief")),
        ("UserPromptSubmit", said("it is Monday"), HookAnswer(context="it is Monday")),
        (PRE, said(stderr="no rm", code=2), HookAnswer(decision=Decision.DENY, reason="no rm")),
        (PRE, said('{"bad json', "no", 2), HookAnswer(decision=Decision.DENY, reason="no")),
        (POST, said(stderr="format it", code=2), HookAnswer(blocks=True, reason="format it")),
        (STOP, said(stderr="tests fail", code=2), HookAnswer(blocks=True, reason="tests fail")),
        ("UserPromptSubmit", said(stderr="no", code=2), HookAnswer(blocks=True, reason="no")),
        (PRE, said({"decision": "block", "reason": "r"}), HookAnswer(decision=Decision.DENY, reason="r")),
        (PRE, said({"decision": "approve"}), HookAnswer(decision=Decision.ALLOW)),
        (STOP, said({"decision": "block", "reason": "r"}), HookAnswer(blocks=True, reason="r")),
        (STOP, said({"continue": False, "stopReason": "s"}), HookAnswer(stops=True, stop_reason="s")),
        (STOP, said({"systemMessage": "m"}), HookAnswer(message="m")),
        (
            PRE,
            specific(PRE, permissionDecision="ask", permissionDecisionReason="look", updatedInput={"command": "ls"}),
            HookAnswer(decision=Decision.ASK, reason="look", updated_input={"command": "ls"}),
        ),
        (PRE, specific(PRE, additionalContext="c"), HookAnswer(context="c")),
        (POST, specific(POST, updatedToolOutput="short"), HookAnswer(output="short")),
        (POST, specific(POST, updatedToolOutput={"a": 1}), HookAnswer(output='{"a": 1}')),
        (
            "PermissionRequest",
            specific("PermissionRequest", decision={"behavior": "deny", "message": "m", "interrupt": True}),
            HookAnswer(decision=Decision.DENY, reason="m", stops=True, stop_reason="m"),
        ),
        ("PermissionDenied", specific("PermissionDenied", retry=True), HookAnswer(retry=True)),
    ],
)
def test_exit_codes_and_json_mean_what_the_protocol_says(event: str, given: Said, answer: HookAnswer) -> None:
    assert answer_of(event, given) == answer


@pytest.mark.parametrize(
    ("event", "given", "why"),
    [
        (PRE, said('{"decision": "block"'), "bad JSON"),
        (PRE, said('{"decision": "block"} {"x": 1}'), "bad JSON"),
        (PRE, said({"decision": "perhaps"}), "decision is 'perhaps'"),
        (PRE, said({"continue": "no"}), "continue is neither true nor false"),
        (PRE, said({"reason": 7}), "reason is no text"),
        (PRE, said({"async": True}), "say so in the settings"),
        (PRE, said({"hookSpecificOutput": []}), "hookSpecificOutput is no object"),
        (PRE, specific(POST), "is for 'PostToolUse'"),
        (PRE, specific(PRE, permissionDecision="yes"), "permissionDecision is 'yes'"),
        (PRE, specific(PRE, updatedInput="ls"), "updatedInput is no object"),
        ("PermissionRequest", specific("PermissionRequest", decision={"behavior": "ask"}), "behavior is 'ask'"),
    ],
)
def test_an_answer_that_does_not_fit_is_bad(event: str, given: Said, why: str) -> None:
    with pytest.raises(BadAnswer, match=why):
        answer_of(event, given)


@pytest.mark.parametrize(
    ("event", "given", "told"),
    [
        (PRE, said({"permissionDecision": "deny"}), "unknown key 'permissionDecision'"),
        (PRE, said({"suppressOutput": True}), "suppressOutput has no effect here"),
        (PRE, specific(PRE, updatedToolOutput="x"), "unknown or unused key hookSpecificOutput.updatedToolOutput"),
        (PRE, specific(PRE, permissionDecision="defer"), "'defer' leaves the decision to rules and mode"),
        ("SessionStart", said({"decision": "block"}), "decision 'block' has no effect at SessionStart"),
        ("Notification", said(stderr="x", code=2), "exit 2 blocks nothing at this event"),
        (
            "PermissionRequest",
            specific("PermissionRequest", decision={"behavior": "allow", "updatedPermissions": []}),
            "decision.updatedPermissions has no effect",
        ),
        (
            "PermissionRequest",
            specific("PermissionRequest", decision={"behavior": "allow", "updatedInput": {"command": "ls"}}),
            "a yes with updatedInput leaves the question to the person: PreToolUse changes inputs",
        ),
    ],
)
def test_what_has_no_effect_is_told(event: str, given: Said, told: str) -> None:
    answer = answer_of(event, given)
    assert told in "; ".join(answer.told)


@pytest.mark.parametrize("word", ["allow", "ask", "defer"])
def test_a_hook_that_says_both_no_and_something_else_says_no(word: str) -> None:
    specific_part = {"hookEventName": PRE, "permissionDecision": word, "permissionDecisionReason": "b"}
    answer = answer_of(PRE, said({"decision": "block", "reason": "a", "hookSpecificOutput": specific_part}))
    assert (answer.decision, answer.reason) == (Decision.DENY, "a")


def test_long_words_are_cut_and_the_cut_is_told() -> None:
    answer = answer_of("SessionStart", said("x" * 12_000))
    assert len(answer.context) < 10_100
    assert answer.context.endswith("[2,000 more characters of the hook left out]")
