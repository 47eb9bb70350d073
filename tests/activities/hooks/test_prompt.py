"""What a small model's words decide, and what is no decision."""

from typing import Any

import pytest

from activities.hooks.prompt import judged
from activities.hooks.protocol import BadAnswer
from workflows.contracts.extensions import HookAnswer, HookKind, HookRule
from workflows.contracts.permissions import Decision


def rule(event: str = "PreToolUse", **more: Any) -> HookRule:
    return HookRule(event=event, kind=HookKind.PROMPT, prompt="p", **more)


NO = '{"ok": false, "reason": "r"}'


@pytest.mark.parametrize(
    ("hook", "text", "answer"),
    [
        (rule(), '{"ok": true}', HookAnswer()),
        (rule(), 'Well: {"ok": true} I think.', HookAnswer()),
        (rule(), NO, HookAnswer(decision=Decision.DENY, reason="r")),
        (rule("PermissionRequest"), NO, HookAnswer(decision=Decision.DENY, reason="r")),
        (rule("UserPromptSubmit"), NO, HookAnswer(blocks=True, reason="r")),
        (rule("Stop"), NO, HookAnswer(blocks=True, reason="r")),
        (rule("PostToolUse"), NO, HookAnswer(stops=True, stop_reason="r", reason="r")),
        (rule("PostToolUse", continue_on_block=True), NO, HookAnswer(blocks=True, reason="r")),
    ],
)
def test_no_refuses_as_exit_code_2_does(hook: HookRule, text: str, answer: HookAnswer) -> None:
    assert judged(hook, text) == answer


def test_what_can_never_be_met_keeps_no_turn_going() -> None:
    answer = judged(rule("Stop"), '{"ok": false, "reason": "no tests here", "impossible": true}')
    assert (answer.blocks, "no tests here" in answer.message) == (False, True)


@pytest.mark.parametrize(
    "text", ["", "yes", "{", "[true]", '{"ok": "yes"}', '{"reason": "r"}', '{"ok": false, "reason": 7}']
)
def test_any_other_answer_is_none(text: str) -> None:
    with pytest.raises(BadAnswer):
        judged(rule(), text)
