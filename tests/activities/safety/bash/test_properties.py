"""What must never weaken a verdict: quotes, line joins, comments, a `true;`, a wrapper, another spelling of a path."""

import re

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from activities.safety.bash.judge import judge
from tests.corpora.score import Line, lines
from workflows.contracts.permissions import Decision

STRICTNESS = {Decision.ALLOW: 0, Decision.ASK: 1, Decision.DENY: 2}
GUARDED = [line for line in lines() if line.verdict != Decision.ALLOW]
SIMPLE = [line for line in GUARDED if re.fullmatch(r"[\w./~ -]+", line.command) and line.kind != "unparsable"]
"""Lines of plain words, in which every place between two letters is inside a word."""

often = settings(max_examples=60, derandomize=True, deadline=None, suppress_health_check=list(HealthCheck))


def _holds(line: Line, changed: str) -> None:
    before, after = judge(line.command).verdict, judge(changed).verdict
    assert STRICTNESS[after] >= STRICTNESS[before], f"{line.command!a} {before}; {changed!a} {after}"


@often
@given(st.sampled_from(SIMPLE), st.data())
def test_a_quote_pair_in_a_word_weakens_nothing(line: Line, data: st.DataObject) -> None:
    places = [at.start() for at in re.finditer(r"(?<=\w)(?=\w)", line.command)]
    at = data.draw(st.sampled_from(places))
    quotes = data.draw(st.sampled_from(["''", '""', "\\"]))
    _holds(line, line.command[:at] + quotes + line.command[at:])


@often
@given(st.sampled_from(SIMPLE), st.data())
def test_a_joined_line_weakens_nothing(line: Line, data: st.DataObject) -> None:
    at = data.draw(st.integers(0, len(line.command)))
    _holds(line, line.command[:at] + "\\\n" + line.command[at:])


@often
@given(st.sampled_from(SIMPLE), st.sampled_from([" # a 'comment", ' # "', " #", " # $(x", "\n# end"]))
def test_a_comment_weakens_nothing(line: Line, comment: str) -> None:
    _holds(line, line.command + comment)


@often
@given(st.sampled_from(GUARDED), st.sampled_from(["true; ", "true && ", "ls\n", ": ; ", "pwd | cat; ", "! false; "]))
def test_a_command_in_front_weakens_nothing(line: Line, front: str) -> None:
    if not line.command.startswith((" ", "\t", "#")):
        _holds(line, front + line.command)


@often
@given(
    st.sampled_from(SIMPLE),
    st.sampled_from(["time ", "timeout 5 ", "nice ", "nohup ", "command ", "env ", "stdbuf -oL "]),
)
def test_a_wrapper_weakens_nothing(line: Line, wrapper: str) -> None:
    _holds(line, wrapper + line.command)


@often
@given(st.sampled_from(SIMPLE), st.sampled_from(["/./", "//", "/x/../"]), st.data())
def test_another_spelling_of_a_path_weakens_nothing(line: Line, spelling: str, data: st.DataObject) -> None:
    places = [at.start() for at in re.finditer(r"(?<![\w-])/(?=\w)", line.command)]
    if places:
        at = data.draw(st.sampled_from(places))
        _holds(line, line.command[:at] + spelling + line.command[at + 1 :])


@often
@given(st.sampled_from([line for line in GUARDED if line.verdict == Decision.DENY]), st.data())
def test_what_stands_around_weakens_no_deny(line: Line, data: st.DataObject) -> None:
    before, after = data.draw(
        st.sampled_from(
            [("(", "\n)"), ("{ ", "\n}"), ("if true; then ", "\nfi"), ("ls || ", ""), ("for i in a; do ", "\ndone")]
        )
    )
    if not re.search(r"<<|#|\\$|&\s*$|;\s*$|'$", line.command):
        _holds(line, before + line.command + after)
