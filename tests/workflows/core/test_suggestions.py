"""What *always allow* saves is literal, at most five rules, and answers the same question the next time."""

import pytest

from tests.workflows.core.calls import WORK, bash, on_file, policy
from workflows.contracts.commands import Reason
from workflows.contracts.permissions import Decision, Mode, Policy, Source, SourcedRule
from workflows.core.permissions import Asked, decide
from workflows.core.suggestions import destination, suggested_rules


def suggested(asked: Asked, mode: Mode = Mode.DEFAULT, given: Policy | None = None) -> tuple[str, ...]:
    given = given or Policy()
    rules = suggested_rules(asked, mode, given, decide(asked, mode, given))
    with_them = tuple(SourcedRule(text=rule, action=Decision.ALLOW, source=Source.LOCAL) for rule in rules)
    again = given.model_copy(update={"rules": (*given.rules, *with_them)})
    assert not rules or decide(asked, Mode.DEFAULT, again).decision == Decision.ALLOW
    return rules


@pytest.mark.parametrize(
    ("command", "rules"),
    [
        ("make all", ("Bash(make all)",)),
        ("python3 tool.py", ("Bash(python3 tool.py)",)),
        ('grep -n "a.*b" f.txt', ('Bash(grep -n "a.\\*b" f.txt)',)),
        ("echo '*'", ("Bash(echo \\*)",)),
        ("git commit -m 'a \"b\" $c'", ('Bash(git commit -m "a \\"b\\" \\$c")',)),
        ("make a && make b; make a", ("Bash(make a)", "Bash(make b)")),
        ("sudo make", ("Bash(sudo make)",)),
        ("FOO=1 make", ("Bash(FOO=1 make)",)),
        ("make 2>&1 >/dev/null", ("Bash(make)",)),
        ("sh -c 'make x'", ('Bash(sh -c "make x")',)),
        ("printf 'a:*'", ('Bash(printf "a:\\*")',)),
    ],
)
def test_a_command_gives_the_rules_that_mean_exactly_it(command: str, rules: tuple[str, ...]) -> None:
    assert suggested(bash(command)) == rules


def test_a_saved_literal_covers_no_other_command() -> None:
    (rule,) = suggested(bash('grep -n "a.*b" f.txt'))
    for command, decision in (
        ("grep -n 'a.*b' f.txt", Decision.ALLOW),
        ('grep -n "a; touch x; b" f.txt', Decision.ASK),
        ("grep -n a.b f.txt", Decision.ASK),
        ('grep -n "a.*b" f.txt g', Decision.ASK),
    ):
        assert decide(bash(command), Mode.DEFAULT, policy(allow=[rule])).decision == decision


@pytest.mark.parametrize(
    "command",
    [
        "make $X",
        "rm *.o",
        "make > log",
        "a; b; c; d; e; f",
        "$CMD x",
        "echo 'x",
        "make $(id)",
    ],
)
def test_nothing_is_offered_that_would_not_answer_the_question(command: str) -> None:
    assert suggested(bash(command)) == ()


def test_only_the_parts_that_need_one_get_a_rule() -> None:
    assert suggested(bash("ls && make", proved=[0])) == ("Bash(make)",)


def test_nothing_is_offered_where_a_rule_would_not_count() -> None:
    sticky = bash("cp x .envrc", Reason("persistence", Decision.ASK, "later", sticky=True))
    assert suggested(sticky) == ()
    assert suggested(bash("make"), given=policy(ask=["Bash(make)"])) == ()
    assert suggested(on_file("Edit", f"{WORK}/.git/config")) == ()
    assert suggested(Asked(tool="AskUserQuestion", needs_person=True)) == ()


def test_edits_and_reads_last_until_the_session_ends_and_the_rest_is_kept_in_the_local_file() -> None:
    edit = suggested(on_file("Edit", f"{WORK}/a [b].py"))
    assert edit == (f"Edit(/{WORK}/a \\[b\\].py)",)
    assert suggested(on_file("Grep", "/etc/x")) == ("Read(//etc/x)",)
    fetch = Asked(tool="WebFetch", content="domain:example.com", host="example.com")
    assert suggested(fetch) == ("WebFetch(domain:example.com)",)
    assert suggested(Asked(tool="mcp__git__push")) == ("mcp__git__push",)
    assert [destination(rule) for rule in (*edit, "Bash(make)", "WebFetch(domain:x)", "mcp__git__push")] == [
        Source.SESSION,
        Source.LOCAL,
        Source.LOCAL,
        Source.LOCAL,
    ]


def test_a_link_outside_gets_a_rule_for_each_of_its_names() -> None:
    rules = suggested(on_file("Read", "/srv/link", "/srv/target"))
    assert rules == ("Read(//srv/link)", "Read(//srv/target)")
