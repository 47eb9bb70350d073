"""The analysis of a command costs no more than was set aside for it; work is counted, not timed."""

import sys
from types import FrameType

import pytest

from activities.safety.bash.build import MOST as MOST_COMMANDS
from activities.safety.bash.judge import judge
from activities.safety.bash.raw import OVERRUN
from activities.safety.bash.work import LONGEST, MOST, Work
from tests.corpora.heavy import FAMILIES
from workflows.contracts.commands import Judgement
from workflows.contracts.permissions import Decision

MOST_CALLS = 300_000
"""Calls of functions for one judgement: what the worst of the families needs, and half as many again."""


def _counted(text: str) -> tuple[Judgement, int]:
    """The judgement, and how many functions were called for it."""
    calls = 0

    def count(_frame: FrameType, event: str, _argument: object) -> None:
        nonlocal calls
        calls += event in {"call", "c_call"}

    sys.setprofile(count)
    try:
        return judge(text), calls
    finally:
        sys.setprofile(None)


@pytest.mark.journey
@pytest.mark.parametrize("name", FAMILIES)
def test_a_text_that_is_hard_work_is_judged_with_bounded_work(name: str) -> None:
    for size in (1_000, 5_000, LONGEST):
        text = FAMILIES[name](size)
        judgement, calls = _counted(text)
        assert len(text) <= size
        assert calls < MOST_CALLS, (size, calls)
        assert len(judgement.script.commands) <= MOST_COMMANDS + 1
        assert not any("could not be analysed" in reason.text for reason in judgement.reasons)


@pytest.mark.parametrize("name", ["ssh", "eval", "many words", "grown variables", "slashes in a program"])
def test_ten_kilobytes_of_the_worst_are_judged_with_bounded_work(name: str) -> None:
    assert _counted(FAMILIES[name](LONGEST))[1] < MOST_CALLS


@pytest.mark.parametrize("name", ["substitutions in double quotes", "many words", "redirections", "grown variables"])
def test_what_is_too_much_work_is_refused(name: str) -> None:
    judgement = judge(FAMILIES[name](LONGEST))
    assert judgement.verdict == Decision.DENY
    assert OVERRUN in judgement.script.features
    assert "Split it" in judgement.reasons[0].hint


@pytest.mark.parametrize("name", ["many words", "ssh", "a mixture"])
def test_the_same_text_always_ends_at_the_same_place(name: str) -> None:
    text = FAMILIES[name](LONGEST)
    assert judge(text) == judge(text)


def test_what_denies_a_text_is_told_beside_that_it_is_too_much() -> None:
    judgement = judge("rm -rf / ; " + FAMILIES["redirections"](LONGEST - 20))
    assert {"parse-integrity", "root-destruction"} <= {reason.validator for reason in judgement.reasons}


@pytest.mark.parametrize(
    "text",
    [
        "; ".join(f"mkdir -p build/part{number} && cp src/file{number}.c build/part{number}/" for number in range(25)),
        "git add " + " ".join(f"src/package/module{number}/file{number}.py" for number in range(250)),
        "cat > notes.md <<'EOF'\n" + "A line of text, with words and (signs).\n" * 240 + "EOF\n",
        "python - <<'EOF'\n" + "print('a', [1, 2], {'b': 3})\n" * 340 + "EOF\n",
        "bash -c '" + "echo a b c >> out.txt; " * 40 + "'",
        "echo '" + '{"id": 1, "tags": ["a", "b"], "at": {"x": 1}}, ' * 200 + "' > things.json",
    ],
)
def test_a_long_text_of_an_ordinary_kind_is_not_too_much(text: str) -> None:
    judgement = judge(text)
    assert OVERRUN not in judgement.script.features
    assert judgement.verdict == Decision.ASK


def test_json_in_quotes_names_no_secret_however_long() -> None:
    things = "[" + ", ".join(f'{{"id": {number}, "tags": ["a", "b"]}}' for number in range(40)) + "]"
    assert judge(f"curl -d '{things}' http://localhost:1234/things").verdict == Decision.ASK


def test_a_long_pattern_is_taken_for_any_name() -> None:
    assert judge(f"cat .[{'e' * 300}]nv").verdict != Decision.ALLOW


def test_a_longer_text_may_take_more_in_proportion() -> None:
    assert Work(10).most == Work(LONGEST).most == MOST
    assert Work(3 * LONGEST).most == 3 * MOST


def test_work_is_done_once_more_is_spent_than_there_was() -> None:
    work = Work(10)
    assert work.spend(MOST)
    assert not work.is_done
    assert not work.spend(1)
    assert work.is_done
