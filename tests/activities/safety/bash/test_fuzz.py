"""Whatever is written, the analysis ends, and never lets through what it cannot read."""

import random
import subprocess

import pytest

from activities.safety.bash.judge import judge
from activities.safety.bash.syntax import parse
from tests.corpora.score import lines
from workflows.contracts.permissions import Decision

CORPUS = [line.command for line in lines()]
PIECES = [
    *("'", '"', "`", "$(", ")", "${", "}", "$((", "))", "<(", "{", "}", "[[", "]]", "((", "<<A\n", "A\n", "<<'B'\n"),
    *("B\n", "|", "|&", "&", "&&", "||", ";", ";;", "\n", "\\\n", "\\", ">", ">>", "2>&1", "<", "<<<", "&>", ">|"),
    *("<>", "#", "!", "if ", "then ", "fi", "for i in ", "do ", "done", "while ", "case x in ", "esac", "function f "),
    *("f()", "coproc ", "$x", "$@", "$'", '$"', "{a,b}", "{1..9}", "~", "*", "?", "[a-z]", "x=", "x+=", "x[1]=", "a=("),
    *("\t", " ", "\0", "é", "rm -rf /", "ls", "cat a", "bash -c '", "eval ", "xargs ", "sudo ", "env A=b "),
    *("find . -exec ", "git -c a=b ", "sed -n "),
]
WORDS = ["ls", "cat a.txt", "echo $x", "'a b'", '"$y"', "$(pwd)", "x=1", "{1..3}", "*.py", "> f", "2>&1", "<<< z", "~"]


def _mutated(chance: random.Random) -> str:
    text = chance.choice(CORPUS)[:2_000]
    for _ in range(chance.randint(1, 6)):
        at, to = sorted((chance.randint(0, len(text)), chance.randint(0, len(text))))
        match chance.randrange(5):
            case 0:
                text = text[:at] + chance.choice(PIECES) + text[at:]
            case 1:
                text = text[:at] + text[min(to, at + 5) :]
            case 2:
                text = text[:to] + text[at:to] + text[to:]
            case 3:
                text = text + chance.choice([" ; ", "\n", " | ", " && "]) + chance.choice(CORPUS)[:500]
            case _:
                text = text[:at] + chr(chance.choice([chance.randrange(128), chance.randrange(0x3000)])) + text[at:]
    return text


SHAPES = [
    "if {a}; then {b}; fi",
    "for i in {w}; do {a}; done",
    "{{ {a}; }}",
    "({a})",
    'echo "$({a})"',
    "{a} | {b}",
    "f() {{ {a}; }}; f",
    "cat <<E\n$({w})\nE\n",
    "case a in a) {a};; *) {b};; esac",
    "ls {w} {v}",
    "cat {w} && {a}",
]


def _program(chance: random.Random, depth: int = 0) -> str:
    """A random program that is mostly valid."""
    first, second = (_program(chance, depth + 1) if depth < 3 else chance.choice(WORDS) for _ in range(2))
    return chance.choice(SHAPES).format(a=first, b=second, w=chance.choice(WORDS), v=chance.choice(WORDS))


def _judged(text: str) -> None:
    judgement = judge(text)
    assert not any("could not be analysed" in reason.text for reason in judgement.reasons), f"{text!a}"
    assert not (judgement.script.problem and judgement.verdict == Decision.ALLOW), f"{text!a}"


def _runs(chance: random.Random, count: int) -> None:
    for _ in range(count):
        for text in (_mutated(chance), "".join(chance.choices(PIECES, k=chance.randint(1, 25))), _program(chance)):
            _judged(text)


def test_mutated_lines_are_judged(chance: random.Random) -> None:
    _runs(chance, 150)


@pytest.mark.soak
@pytest.mark.timeout(1800)
def test_many_mutated_lines_are_judged(chance: random.Random) -> None:
    _runs(chance, 8_000)


def _valid(chance: random.Random, count: int) -> int:
    """How many random programs bash takes; `-n` reads and never runs them."""
    taken = 0
    for _ in range(count):
        text = _program(chance)
        checked = subprocess.run(["bash", "-n"], input=text.encode(), capture_output=True, timeout=10, check=False)
        if checked.returncode == 0:
            taken += 1
            assert parse(text).commands, f"{text!a}"
            _judged(text)
    return taken


def test_programs_that_bash_takes_are_read(chance: random.Random) -> None:
    assert _valid(chance, 40) > 5


@pytest.mark.soak
@pytest.mark.timeout(1800)
def test_many_programs_that_bash_takes_are_read(chance: random.Random) -> None:
    assert _valid(chance, 3_000) > 500


@pytest.mark.parametrize("padding", ["true; ", "ls -la src && ", "echo a b c; ", "rm -f a; ", "x=1; ", ": '\n'; "])
def test_what_is_hidden_behind_much_else_is_still_denied(padding: str) -> None:
    for size in (500, 9_900, 30_000):
        assert judge(padding * (size // len(padding)) + "rm -rf /").verdict == Decision.DENY, size


@pytest.mark.parametrize("depth", [2, 6, 11, 20, 60])
def test_what_is_nested_is_still_denied(depth: int) -> None:
    assert judge("echo $(" * depth + "rm -rf /" + ")" * depth).verdict == Decision.DENY
    assert judge("( " * depth + "rm -rf /" + ")" * depth).verdict == Decision.DENY
    assert judge("eval " * depth + "rm -rf /").verdict == Decision.DENY
