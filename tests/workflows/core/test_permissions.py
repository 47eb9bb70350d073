"""Deny rule, deny finding, ask rule, ask finding, mode, allow rule, person: the first that speaks decides."""

import pytest

from workflows.contracts.permissions import Decision, Finding, Mode, Rules, Unattended
from workflows.core.permissions import Asked, decide, may_still

ALLOW, ASK, DENY = Decision.ALLOW, Decision.ASK, Decision.DENY
COMMAND = Asked(tool="Bash", content="make")
READ = Asked(tool="Read", content="/w/f", is_read_only=True)
EDIT = Asked(tool="Edit", content="/w/f", edits_files=True)
OUTSIDE = {"is_inside": False}


def finding(action: Decision) -> Finding:
    return Finding(check="check", action=action, text="seen")


def test_each_decider_is_overruled_by_those_before_it_and_by_no_other() -> None:
    rules = Rules(allow=("Bash",), ask=("Bash",), deny=("Bash",))
    both = (finding(ASK), finding(DENY))
    decided = [
        decide(COMMAND, Mode.BYPASS, rules, both),
        decide(COMMAND, Mode.BYPASS, rules.model_copy(update={"deny": ()}), both),
        decide(COMMAND, Mode.BYPASS, Rules(allow=("Bash",), ask=("Bash",)), (finding(ASK),)),
        decide(COMMAND, Mode.BYPASS, Rules(allow=("Bash",)), (finding(ASK),)),
        decide(COMMAND, Mode.BYPASS, Rules(allow=("Bash",))),
        decide(COMMAND, Mode.DEFAULT, Rules(allow=("Bash",))),
        decide(COMMAND, Mode.DEFAULT, Rules()),
    ]
    assert [(verdict.decision, verdict.by) for verdict in decided] == [
        (DENY, "rule"),
        (DENY, "finding"),
        (ASK, "rule"),
        (ASK, "finding"),
        (ALLOW, "mode"),
        (ALLOW, "rule"),
        (ASK, "mode"),
    ]


def test_a_verdict_names_what_decided() -> None:
    assert decide(COMMAND, Mode.DEFAULT, Rules(deny=("Bash(make)",))).rule == "Bash(make)"
    assert decide(COMMAND, Mode.DEFAULT, Rules(), (finding(DENY),)).rule == "check"
    assert decide(COMMAND, Mode.BYPASS, Rules()).rule == "bypassPermissions"


@pytest.mark.parametrize(
    ("mode", "read", "read_outside", "edit", "edit_outside", "command"),
    [
        (Mode.DEFAULT, ALLOW, ASK, ASK, ASK, ASK),
        (Mode.ACCEPT_EDITS, ALLOW, ASK, ALLOW, ASK, ASK),
        (Mode.PLAN, ALLOW, ASK, DENY, DENY, ASK),
        (Mode.DONT_ASK, ALLOW, DENY, DENY, DENY, DENY),
        (Mode.BYPASS, ALLOW, ALLOW, ALLOW, ALLOW, ALLOW),
    ],
)
def test_a_mode_decides_by_what_a_call_does_and_where(
    mode: Mode, read: Decision, read_outside: Decision, edit: Decision, edit_outside: Decision, command: Decision
) -> None:
    outside = [Asked(**{**vars(asked), **OUTSIDE}) for asked in (READ, EDIT)]
    calls = [READ, outside[0], EDIT, outside[1], COMMAND]
    decided = [decide(asked, mode, Rules()).decision for asked in calls]
    assert decided == [read, read_outside, edit, edit_outside, command]


def test_plan_mode_changes_no_file_even_where_a_rule_allows_it() -> None:
    assert decide(EDIT, Mode.PLAN, Rules(allow=("Edit",))).decision == DENY


def test_the_dont_ask_mode_runs_what_a_rule_allows_and_denies_the_rest_in_its_name() -> None:
    assert decide(COMMAND, Mode.DONT_ASK, Rules(allow=("Bash",))).decision == ALLOW
    for rules, findings in ((Rules(), ()), (Rules(ask=("Bash",)), ()), (Rules(), (finding(ASK),))):
        verdict = decide(COMMAND, Mode.DONT_ASK, rules, findings)
        assert (verdict.decision, verdict.by, verdict.rule) == (DENY, "mode", "dontAsk")


def test_unattended_a_question_is_denied_by_a_named_rule_or_waits() -> None:
    verdict = decide(COMMAND, Mode.DEFAULT, Rules(), unattended=Unattended.DENY)
    assert (verdict.decision, verdict.by, verdict.rule) == (DENY, "unattended", "unattended: deny")
    assert decide(COMMAND, Mode.DEFAULT, Rules(), unattended=Unattended.WAIT).decision == ASK


def test_unattended_nothing_that_is_allowed_is_denied() -> None:
    assert decide(COMMAND, Mode.DEFAULT, Rules(allow=("Bash",)), unattended=Unattended.DENY).decision == ALLOW


def test_after_a_persons_yes_only_a_deny_rule_still_counts() -> None:
    assert may_still(COMMAND, Rules(ask=("Bash",))) is None
    denied = may_still(COMMAND, Rules(deny=("Bash",)))
    assert denied is not None
    assert denied.decision == DENY
