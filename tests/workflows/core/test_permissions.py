"""Denies, asks of the person, bypass, sticky asks, protected paths, mode, rules: the first that speaks decides."""

import pytest

from tests.workflows.core.calls import HOME, WORK, bash, on_file, policy, reading
from workflows.contracts.commands import Reason
from workflows.contracts.permissions import Decision, Finding, Mode, Policy, Unattended, Verdict
from workflows.core.permissions import Asked, Heard, Opinion, decide, may_still, wants_opinion

ALLOW, ASK, DENY = Decision.ALLOW, Decision.ASK, Decision.DENY
COMMAND = bash("make")
FORBIDDEN = bash("rm -rf /", Reason("root-destruction", DENY, "it deletes the system"))
STICKY = bash("cp x .envrc", Reason("persistence", ASK, "it runs later", sticky=True, kind="persistence"))
READ, EDIT = on_file("Read", f"{WORK}/f"), on_file("Edit", f"{WORK}/f")
READ_OUTSIDE, EDIT_OUTSIDE = on_file("Read", "/etc/hosts"), on_file("Edit", f"{HOME}/f")
PROTECTED = on_file("Write", f"{WORK}/.Git/hooks/pre-commit")
OWN = on_file("Edit", f"{WORK}/.perdure/settings.json")
PLAN_FILE = on_file("Write", f"{HOME}/.local/plan.md", is_plan_file=True)
QUESTION = Asked(tool="AskUserQuestion", needs_person=True)


def finding(action: Decision, *, sticky: bool = False) -> Finding:
    return Finding(check="check", action=action, text="seen", sticky=sticky)


def hook(decision: Decision) -> Heard:
    return Heard(hook=Verdict(decision=decision, by="hook", rule="guard.sh", text="hook guard.sh: no"))


def test_each_decider_is_overruled_by_those_before_it_and_by_no_other() -> None:
    every = policy(allow=["Bash"], ask=["Bash"], deny=["Bash"])
    asks, allows = policy(allow=["Bash"], ask=["Bash"]), policy(allow=["Bash"])
    both = (finding(ASK, sticky=True), finding(DENY))
    decided = [
        decide(FORBIDDEN, Mode.BYPASS, every, both, heard=hook(DENY)),
        decide(COMMAND, Mode.BYPASS, every, both, heard=hook(DENY)),
        decide(COMMAND, Mode.BYPASS, every, both),
        decide(COMMAND, Mode.BYPASS, asks, both),
        decide(COMMAND, Mode.BYPASS, asks, both[:1], heard=hook(ASK)),
        decide(COMMAND, Mode.BYPASS, allows, both[:1], heard=hook(ASK)),
        decide(COMMAND, Mode.BYPASS, allows, both[:1]),
        decide(COMMAND, Mode.DEFAULT, allows, both[:1], heard=hook(ALLOW)),
        decide(COMMAND, Mode.DEFAULT, allows, heard=hook(ALLOW)),
        decide(COMMAND, Mode.DEFAULT, policy(), heard=hook(ALLOW)),
        decide(COMMAND, Mode.DEFAULT, policy()),
    ]
    assert [(verdict.decision, verdict.by) for verdict in decided] == [
        (DENY, "finding"),
        (DENY, "hook"),
        (DENY, "rule"),
        (DENY, "finding"),
        (ASK, "rule"),
        (ASK, "hook"),
        (ALLOW, "mode"),
        (ASK, "finding"),
        (ALLOW, "rule"),
        (ALLOW, "hook"),
        (ASK, "mode"),
    ]


def test_a_verdict_names_what_decided_from_which_file_and_all_that_was_seen() -> None:
    verdict = decide(COMMAND, Mode.DEFAULT, policy(deny=["Bash(make)"], digest="d" * 64))
    assert (verdict.rule, verdict.source, verdict.file) == ("Bash(make)", "local", "/f/settings.local.json")
    assert verdict.policy == "d" * 64
    assert [reason.check for reason in verdict.reasons] == ["unproved"]
    assert decide(COMMAND, Mode.DEFAULT, policy(), (finding(DENY),)).rule == "check"
    assert decide(COMMAND, Mode.BYPASS, policy()).rule == "bypassPermissions"


TABLE = {
    Mode.DEFAULT: (ALLOW, ASK, ASK, ASK, ASK, ALLOW, ASK, ASK, ASK, DENY, DENY, ALLOW, ASK),
    Mode.ACCEPT_EDITS: (ALLOW, ASK, ALLOW, ASK, ASK, ALLOW, ALLOW, ASK, ASK, DENY, DENY, ALLOW, ASK),
    Mode.PLAN: (ALLOW, ASK, DENY, DENY, ASK, ALLOW, ASK, ASK, DENY, DENY, DENY, ALLOW, ASK),
    Mode.AUTO: (ALLOW, ASK, ALLOW, ASK, ASK, ALLOW, ALLOW, ASK, ASK, DENY, DENY, ALLOW, ASK),
    Mode.DONT_ASK: (ALLOW, DENY, DENY, DENY, DENY, ALLOW, DENY, DENY, DENY, DENY, DENY, ALLOW, DENY),
    Mode.BYPASS: (ALLOW, ALLOW, ALLOW, ALLOW, ALLOW, ALLOW, ALLOW, ALLOW, ALLOW, DENY, DENY, ALLOW, ASK),
}
KINDS = (
    READ, READ_OUTSIDE, EDIT, EDIT_OUTSIDE, COMMAND, reading("ls"), bash("mkdir -p a/b && touch a/b/c"), STICKY,
    PROTECTED, FORBIDDEN, OWN, PLAN_FILE, QUESTION,
)  # fmt: skip


@pytest.mark.parametrize("mode", list(Mode))
def test_a_mode_decides_by_what_a_call_does_and_where(mode: Mode) -> None:
    assert tuple(decide(asked, mode, policy()).decision for asked in KINDS) == TABLE[mode]


@pytest.mark.parametrize("mode", list(Mode))
def test_no_mode_runs_what_a_deny_rule_names_nor_passes_over_an_ask_rule(mode: Mode) -> None:
    rules = ["Bash", "Read", "Edit", "AskUserQuestion"]
    for asked in KINDS:
        assert decide(asked, mode, policy(deny=rules)).decision == DENY
        verdict = decide(asked, mode, policy(ask=rules, allow=rules))
        assert verdict.decision in {ASK, DENY}


def test_plan_mode_changes_no_file_even_where_a_rule_allows_it() -> None:
    assert decide(EDIT, Mode.PLAN, policy(allow=["Edit"])).decision == DENY


def test_a_mode_that_the_policy_switches_off_is_the_default_one() -> None:
    assert decide(COMMAND, Mode.BYPASS, policy(disable_bypass=True)).decision == ASK
    verdict = decide(COMMAND, Mode.AUTO, policy(disable_auto=True))
    assert (verdict.by, wants_opinion(verdict)) == ("mode", False)


def test_no_allow_rule_silences_a_sticky_ask_or_a_protected_path() -> None:
    allows = policy(allow=["Bash", "Bash(cp x .envrc)", "Edit", "Edit(.git/**)"])
    assert decide(STICKY, Mode.DEFAULT, allows).decision == ASK
    assert decide(PROTECTED, Mode.ACCEPT_EDITS, allows).by == "protected"


@pytest.mark.parametrize(
    "path",
    [
        f"{WORK}/.travis.yml", f"{WORK}/ci/Jenkinsfile", f"{WORK}/.codex/config.toml", f"{WORK}/.githooks/pre-push",
        "/etc/cron.d/nightly", "/etc/systemd/system/a.service", "/var/spool/cron/root",
    ],
)  # fmt: skip
def test_what_runs_later_by_itself_is_protected(path: str) -> None:
    allows = policy(allow=["Edit", f"Edit(/{path})"])
    assert decide(on_file("Edit", path), Mode.ACCEPT_EDITS, allows).by == "protected"


def test_a_link_to_a_protected_file_is_one() -> None:
    link = on_file("Edit", f"{WORK}/x", f"{WORK}/.git/config")
    assert decide(link, Mode.ACCEPT_EDITS, policy()).by == "protected"


def test_a_work_tree_in_the_agents_folder_is_an_ordinary_folder() -> None:
    for folder in (".claude/worktrees/a/f", ".perdure/worktrees/a/f"):
        assert decide(on_file("Edit", f"{WORK}/{folder}"), Mode.ACCEPT_EDITS, policy()).decision == ALLOW
    for inner in (".claude/worktrees/a/.git/config", ".claude/worktrees/a/.claude/settings.json"):
        assert decide(on_file("Edit", f"{WORK}/{inner}"), Mode.ACCEPT_EDITS, policy()).decision == ASK


def test_a_policy_that_cannot_be_read_lets_nothing_run() -> None:
    broken = Policy(broken="settings.json cannot be read")
    for asked in KINDS:
        assert decide(asked, Mode.BYPASS, broken).decision == DENY
    assert may_still(COMMAND, broken) is not None


def test_rules_together_with_the_proof_cover_a_compound_command() -> None:
    asked = bash("ls && make test; git status | head", proved=[0, 2, 3])
    verdict = decide(asked, Mode.DEFAULT, policy(allow=["Bash(make:*)"]))
    assert (verdict.decision, verdict.rule) == (ALLOW, "Bash(make:*)")
    both = decide(bash("make a && npm test"), Mode.DEFAULT, policy(allow=["Bash(make:*)", "Bash(npm test)"]))
    assert both.text == "rules Bash(make:*), Bash(npm test)"
    assert decide(bash("make a && npm run x"), Mode.DEFAULT, policy(allow=["Bash(make:*)"])).decision == ASK


def test_what_is_asked_of_the_whole_is_not_answered_by_parts_that_only_read() -> None:
    asked = bash("cd sub && git log", Reason("environment", ASK, "git after cd"), proved=[0, 1])
    assert decide(asked, Mode.DEFAULT, policy()).decision == ASK
    assert decide(asked, Mode.DEFAULT, policy(allow=["Bash(cd:*)"])).decision == ASK
    assert decide(asked, Mode.DEFAULT, policy(allow=["Bash(cd:*)", "Bash(git log)"])).decision == ALLOW


def test_a_flag_that_runs_a_program_is_allowed_only_by_a_rule_that_spells_it_out() -> None:
    reason = Reason("exec-flags", ASK, "runs a program", sticky=True, kind="exec_flag", flag="-exec")
    asked = bash("find . -exec wc {} +", reason)
    assert decide(asked, Mode.DEFAULT, policy(allow=["Bash(find:*)"])).decision == ASK
    assert decide(asked, Mode.DEFAULT, policy(allow=["Bash(find . -exec wc *)"])).decision == ALLOW


def test_the_dont_ask_mode_runs_what_a_rule_allows_and_denies_the_rest_in_its_name() -> None:
    assert decide(COMMAND, Mode.DONT_ASK, policy(allow=["Bash"])).decision == ALLOW
    for rules, findings in ((policy(), ()), (policy(ask=["Bash"]), ()), (policy(), (finding(ASK),))):
        verdict = decide(COMMAND, Mode.DONT_ASK, rules, findings)
        assert (verdict.decision, verdict.by, verdict.rule) == (DENY, "mode", "dontAsk")


def test_unattended_a_question_is_denied_by_a_named_rule_or_waits() -> None:
    verdict = decide(COMMAND, Mode.DEFAULT, policy(), unattended=Unattended.DENY)
    assert (verdict.decision, verdict.by, verdict.rule) == (DENY, "unattended", "unattended: deny")
    assert decide(COMMAND, Mode.DEFAULT, policy(), unattended=Unattended.WAIT).decision == ASK


def test_unattended_nothing_that_is_allowed_is_denied() -> None:
    assert decide(COMMAND, Mode.DEFAULT, policy(allow=["Bash"]), unattended=Unattended.DENY).decision == ALLOW


def test_after_a_persons_yes_only_what_denies_still_counts() -> None:
    assert may_still(COMMAND, policy(ask=["Bash"])) is None
    assert may_still(STICKY, policy()) is None
    for denied in (
        may_still(COMMAND, policy(deny=["Bash"])),
        may_still(FORBIDDEN, policy()),
        may_still(COMMAND, policy(), (finding(DENY),)),
    ):
        assert denied is not None
        assert denied.decision == DENY


def test_in_auto_mode_the_small_model_has_the_last_word_over_what_nothing_else_decides() -> None:
    pending = decide(COMMAND, Mode.AUTO, policy(), unattended=Unattended.DENY)
    assert wants_opinion(pending)
    for opinion, decision, by in (
        (Opinion(ALLOW), ALLOW, "classifier"),
        (Opinion(DENY, "it deploys"), DENY, "classifier"),
        (Opinion(ASK, "blocked too often"), ASK, "limit"),
    ):
        verdict = decide(COMMAND, Mode.AUTO, policy(), heard=Heard(opinion=opinion))
        assert (verdict.decision, verdict.by) == (decision, by)
        assert not wants_opinion(verdict)
    limit = decide(COMMAND, Mode.AUTO, policy(), unattended=Unattended.DENY, heard=Heard(opinion=Opinion(ASK)))
    assert (limit.decision, limit.by) == (DENY, "unattended")


def test_in_auto_mode_a_person_is_asked_where_they_want_to_be_or_a_rule_could_not_help() -> None:
    yes = Heard(opinion=Opinion(ALLOW))
    for asked, rules in ((COMMAND, policy(ask=["Bash(make)"])), (STICKY, policy()), (PROTECTED, policy())):
        assert decide(asked, Mode.AUTO, rules, heard=yes).decision == ASK


@pytest.mark.parametrize(
    ("rule", "is_kept"),
    [
        ("Bash", False),
        ("Bash(*)", False),
        ("Bash(python3:*)", False),
        ("Bash(npx *)", False),
        ("Bash(npm run *)", False),
        ("Bash(python3 -c *)", False),
        ("Bash(* --version)", False),
        ("Bash(npm run test:*)", True),
        ("Bash(make:*)", True),
        ("Bash(python3 tool.py)", True),
    ],
)
def test_auto_mode_drops_rules_that_would_leave_the_small_model_nothing_to_see(rule: str, is_kept: bool) -> None:
    text = rule.removeprefix("Bash(").removesuffix(")").replace(":*", " x").replace("*", "x")
    asked = bash("make" if rule == "Bash" else text)
    assert decide(asked, Mode.DEFAULT, policy(allow=[rule])).decision == ALLOW
    assert (decide(asked, Mode.AUTO, policy(allow=[rule])).decision == ALLOW) is is_kept


def test_a_command_that_nobody_has_read_matches_every_deny_rule_and_no_allow_rule() -> None:
    unread = Asked(tool="Bash", content="make")
    assert decide(unread, Mode.DEFAULT, policy(allow=["Bash(make)", "Bash"])).decision == ASK
    assert decide(unread, Mode.BYPASS, policy(deny=["Bash(make:*)"])).decision == DENY
