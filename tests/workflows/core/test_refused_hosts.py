"""Who decides about a host that a command was refused, and what a question about hosts is bound to."""

import pytest

from workflows.contracts.permissions import Decision, Mode, Policy, Rules, Unattended, Verdict
from workflows.core.permissions import Opinion, policy_of_rules, wants_opinion
from workflows.core.refused_hosts import Standing, host_verdict, host_verdicts, hosts_digest, told_of

HOST = "a.example"
ASKING = (Mode.DEFAULT, Mode.ACCEPT_EDITS, Mode.PLAN)


def standing(mode: Mode = Mode.DEFAULT, rules: Rules | None = None, **more: object) -> Standing:
    given: dict[str, object] = {"policy": policy_of_rules(rules or Rules()), "mode": mode, **more}
    return Standing(**given)  # type: ignore[arg-type]  # fields of a standing by name


@pytest.mark.parametrize("mode", ASKING)
@pytest.mark.parametrize("unattended", [Unattended.NO, Unattended.WAIT])
def test_a_person_is_asked_where_one_answers(mode: Mode, unattended: Unattended) -> None:
    assert host_verdict(HOST, standing(mode, unattended=unattended)).decision == Decision.ASK


@pytest.mark.parametrize(
    ("mode", "unattended", "rule"),
    [
        *((mode, Unattended.DENY, "unattended: deny") for mode in ASKING),
        *((Mode.DONT_ASK, each, "dontAsk") for each in Unattended),
        *((Mode.BYPASS, each, "bypassPermissions") for each in Unattended),
    ],
)
def test_where_nobody_is_asked_it_stays_closed_by_a_named_rule(mode: Mode, unattended: Unattended, rule: str) -> None:
    verdict = host_verdict(HOST, standing(mode, unattended=unattended))
    assert (verdict.decision, verdict.rule) == (Decision.DENY, rule)
    assert (told_of(verdict, [HOST]) == "") == (mode == Mode.BYPASS)


@pytest.mark.parametrize("allow", ["WebFetch", "WebFetch(domain:a.example)", "Bash", "Bash(*)"])
@pytest.mark.parametrize("mode", list(Mode))
def test_no_allow_rule_and_no_mode_opens_a_host(allow: str, mode: Mode) -> None:
    assert host_verdict(HOST, standing(mode, Rules(allow=(allow,)))).decision != Decision.ALLOW


@pytest.mark.parametrize(
    ("deny", "decision"),
    [
        ("WebFetch(domain:a.example)", Decision.DENY),
        ("WebFetch(domain:*.example)", Decision.DENY),
        ("WebFetch(domain:b.example)", Decision.ASK),
        ("WebFetch", Decision.ASK),
        ("Bash(curl *)", Decision.ASK),
    ],
)
@pytest.mark.parametrize("host", [HOST, f"{HOST}:8443"])
def test_a_deny_rule_counts_that_names_the_host(deny: str, decision: Decision, host: str) -> None:
    assert host_verdict(host, standing(rules=Rules(deny=(deny,)))).decision == decision


def test_a_setting_and_an_earlier_no_come_before_everything_else() -> None:
    no = Verdict(decision=Decision.DENY, by="person", rule="me@here")
    strict = Verdict(decision=Decision.DENY, by="settings", rule="strictAllowlist", text="strictAllowlist of f")
    found = host_verdicts([HOST, "b.example"], standing(known={HOST: no}, strict=strict))
    assert found == {no: (HOST,), strict: ("b.example",)}
    assert "me@here did not open a.example in this session" in told_of(no, [HOST])
    assert "nobody is asked to open b.example: strictAllowlist of f" in told_of(strict, ["b.example"])


def test_in_auto_mode_the_small_model_is_asked_about_what_nothing_else_decides() -> None:
    case = standing(Mode.AUTO, Rules(deny=("WebFetch(domain:b.example)",)), unattended=Unattended.DENY)
    assert [wants_opinion(host_verdict(host, case)) for host in (HOST, "b.example")] == [True, False]
    yes, no, person = (Opinion(each, "so") for each in (Decision.ALLOW, Decision.DENY, Decision.ASK))
    assert host_verdict(HOST, case, yes).decision == Decision.ALLOW
    assert host_verdict("b.example", case, yes).decision == Decision.DENY
    assert host_verdict(HOST, case, no).by == "classifier"
    assert host_verdict(HOST, case, person).by == "unattended"


def test_rules_that_cannot_be_read_close_every_host() -> None:
    broken = Policy(broken="settings.json: it is no JSON")
    assert host_verdict(HOST, Standing(broken, Mode.DEFAULT)).decision == Decision.DENY


def test_a_question_is_bound_to_session_call_input_and_exactly_its_hosts() -> None:
    one = ("s", "1.0", "d" * 64, (HOST, "b.example"))
    others = [("t", *one[1:]), ("s", "1.1", *one[2:]), (*one[:2], "e" * 64, one[3]), (*one[:3], (HOST,))]
    assert len({hosts_digest(*each) for each in (one, *others)}) == 5
