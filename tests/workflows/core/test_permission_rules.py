"""A rule that gives rights speaks of the whole command; one that takes them of any part."""

import pytest

from workflows.core.permission_rules import Rule, matching, parse


@pytest.mark.parametrize(
    ("text", "rule"),
    [
        ("Bash", Rule("Bash")),
        ("Bash(*)", Rule("Bash")),
        (" Bash( * ) ", Rule("Bash")),
        ("Bash(npm test:*)", Rule("Bash", "npm test:*")),
        ("Bash(echo (a) )", Rule("Bash", "echo (a) ")),
        ("mcp__git__log", Rule("mcp__git__log")),
        ("Bash()", None),
        ("Bash(npm", None),
        ("", None),
        ("no rule at all", None),
    ],
)
def test_a_rule_is_a_tool_and_perhaps_what_of_it(text: str, rule: Rule | None) -> None:
    assert parse(text) == rule


def allows(rule: str, command: str) -> bool:
    return bool(matching([rule], "Bash", command, gives_rights=True))


def denies(rule: str, command: str) -> bool:
    return bool(matching([rule], "Bash", command, gives_rights=False))


@pytest.mark.parametrize("rule", ["Bash(npm test:*)", "Bash(npm test *)"])
def test_a_prefix_ends_at_a_word(rule: str) -> None:
    assert allows(rule, "npm test")
    assert allows(rule, "npm  test --watch")
    assert not allows(rule, "npm tests")
    assert not allows(rule, "npm run test")


def test_a_star_inside_is_any_text_and_an_escaped_one_a_star() -> None:
    assert allows("Bash(ls*)", "lsof -i")
    assert allows("Bash(git * main)", "git push origin main")
    assert not allows("Bash(git * main)", "git push origin next")
    assert denies(r"Bash(rm \*)", "rm *")
    assert not denies(r"Bash(rm \*)", "rm f")


@pytest.mark.parametrize(
    "command",
    [
        "npm test; rm -rf x",
        "npm test && rm x",
        "npm test | sh",
        "npm test & rm x",
        "npm test\nrm x",
        "npm test $(rm x)",
        "npm test `rm x`",
        "npm test > /etc/passwd",
        "npm test < f",
        "npm test ${IFS}x",
        "npm test $HOME",
        "npm test 'a b'",
        'npm test "$(rm x)"',
        r"npm test \; rm x",
        "npm test *.py",
        "npm test ~/x",
        "npm test # rm",
        "(npm test)",
        "! npm test",
        "{ npm test; }",
    ],
)
def test_an_allow_rule_matches_no_command_with_shell_syntax(command: str) -> None:
    for rule in ("Bash(npm test:*)", "Bash(npm test *)", "Bash(npm*)", "Bash(*npm*)"):
        assert not allows(rule, command)


def test_an_allow_rule_that_is_the_command_letter_by_letter_matches_it() -> None:
    assert allows("Bash(a && b > c)", "a && b > c")
    assert not allows("Bash(a && b > c)", "a && b > d")


@pytest.mark.parametrize(
    "command",
    [
        "rm -rf x",
        "cd y && rm -rf x",
        "true; rm -rf x",
        "ls | rm -rf x",
        "sleep 1 & rm -rf x",
        "ls\nrm  -rf x",
        "echo $(rm -rf x)",
        "echo `rm -rf x`",
        "(rm -rf x)",
        "{ rm -rf x; }",
        "cat <(rm -rf x)",
        "\trm\t-rf x",
    ],
)
def test_a_rule_that_denies_matches_any_part_of_a_command(command: str) -> None:
    assert denies("Bash(rm:*)", command)
    assert denies("Bash(rm -rf *)", command)


def test_a_rule_that_denies_may_speak_of_the_whole_of_a_compound_command() -> None:
    assert denies("Bash(curl * | sh)", "curl x | sh")


def test_a_rule_speaks_only_of_its_tool_and_of_those_it_covers() -> None:
    assert matching(["Edit"], "Write", "/w/f", gives_rights=True) == "Edit"
    assert matching(["Read"], "Grep", "/w", gives_rights=False) == "Read"
    assert matching(["Write", "Bash"], "Edit", "/w/f", gives_rights=True) == ""


def test_a_path_rule_speaks_of_that_path() -> None:
    assert matching(["Read(/w/f)"], "Read", "/w/f", gives_rights=False) == "Read(/w/f)"
    assert matching(["Read(/w/*)"], "Read", "/w/f", gives_rights=True) == ""


def test_the_first_rule_that_matches_is_named() -> None:
    assert matching(["Bash(x)", "Bash(make:*)", "Bash"], "Bash", "make", gives_rights=True) == "Bash(make:*)"
