"""One terminal record for every ending, and an exit code that says the same."""

import json
from dataclasses import replace

import pytest

from cli.display.results import (
    denials_of,
    exit_code_of,
    final_text,
    json_line,
    outcome_of,
    outcome_of_error,
    result_object,
    stop_of,
    text_lines,
)
from workflows.contracts.errors import EngineUnreachable, ExitCode
from workflows.contracts.messages import Role, Text, ToolUse
from workflows.contracts.model import StopReason, Usage
from workflows.contracts.permissions import Decision, Verdict
from workflows.contracts.session import Totals, TurnEnd
from workflows.contracts.tools import CallStatus
from workflows.contracts.transcript import Body, Entry, MessageBody, OutcomeBody

TOTALS = Totals(
    exchanges=3, calls=2, denials=1, usage=Usage(input=5, output=7, cache_read=1, cache_write=2), cost=1_500
)


@pytest.mark.parametrize(
    ("end", "code", "subtype"),
    [
        (TurnEnd.DONE, 0, "success"),
        (TurnEnd.EMPTY, 1, "error_during_execution"),
        (TurnEnd.FAILED, 1, "error_during_execution"),
        (TurnEnd.DENIED, 3, "error_during_execution"),
        (TurnEnd.EXCHANGES, 4, "error_max_turns"),
        (TurnEnd.BUDGET, 6, "error_max_budget_usd"),
        (TurnEnd.UNAUTHORIZED, 7, "error_during_execution"),
        (TurnEnd.REFUSED, 7, "error_during_execution"),
        (TurnEnd.UNREACHABLE, 8, "error_during_execution"),
        (TurnEnd.OVERLOADED, 8, "error_during_execution"),
        (TurnEnd.OUTPUT_CAP, 1, "error_during_execution"),
        (TurnEnd.TOO_LONG, 1, "error_during_execution"),
        (TurnEnd.INTERRUPTED, 130, "error_during_execution"),
    ],
)
def test_each_ending_has_its_code_and_only_success_has_a_result(end: TurnEnd, code: int, subtype: str) -> None:
    said = outcome_of("s1", end, "" if end == TurnEnd.DONE else "why", TOTALS, 1.5)
    result = json.loads(json_line(result_object(said)))
    assert (exit_code_of(end), result["exit_code"], result["subtype"], result["reason"]) == (code, code, subtype, end)
    assert result["is_error"] is (end != TurnEnd.DONE)
    assert ("result" in result) is (end == TurnEnd.DONE)
    assert result.get("error", "why") == "why"
    assert (result["num_turns"], result["duration_ms"], result["total_cost_usd"]) == (3, 1500, 0.0015)


def test_code_and_reason_together_tell_every_ending_apart() -> None:
    endings = {(exit_code_of(end), end.value) for end in TurnEnd}
    unreachable = outcome_of_error(EngineUnreachable("no engine", reason="engine_unreachable"))
    assert len(endings | {(unreachable.exit_code, unreachable.reason)}) == len(TurnEnd) + 1


def test_an_error_of_the_person_is_a_record_too() -> None:
    result = result_object(outcome_of_error(EngineUnreachable("no engine"), "s1"))
    assert (result["exit_code"], result["error"], result["session_id"]) == (
        ExitCode.ENGINE_UNREACHABLE,
        "no engine",
        "s1",
    )


@pytest.mark.parametrize("end", [end for end in TurnEnd if end != TurnEnd.DONE])
def test_an_ending_without_words_of_its_own_gets_some(end: TurnEnd) -> None:
    assert outcome_of("s1", end, "", TOTALS, 0).error


def test_a_cost_that_is_not_known_is_null_and_says_so() -> None:
    totals = TOTALS.model_copy(update={"unpriced": 1})
    result = result_object(outcome_of("s1", TurnEnd.DONE, "", totals, 0))
    assert (result["total_cost_usd"], result["cost_unknown"]) == (None, True)


def test_text_goes_to_stdout_only_at_success_and_everything_else_to_stderr() -> None:
    done = outcome_of("s1", TurnEnd.DONE, "", Totals(), 0)
    failed = outcome_of("s1", TurnEnd.UNAUTHORIZED, "bad key", TOTALS, 0)
    assert text_lines(done) == ("", "")
    assert text_lines(failed) == ("", "1 call was denied.\nperdure: unauthorized: bad key\n")


def test_each_refused_call_is_told_with_who_refused_it_in_one_line() -> None:
    ended = replace(
        outcome_of("s1", TurnEnd.DENIED, "denied", TOTALS, 0),
        denials=(
            {"tool_name": "Bash", "tool_input": {"command": "git\npush"}, "by": "hook", "rule": "g.sh", "reason": "no"},
            {"tool_name": "Edit", "tool_input": {}, "by": "rule", "rule": "Edit", "reason": "rule Edit"},
            {"tool_name": "Write", "tool_input": {"content": "x", "file_path": "/a"}, "by": "unattended",
             "rule": "unattended: deny", "reason": "no rule allows it"},
        ),
    )  # fmt: skip
    assert text_lines(ended)[1].splitlines()[1:4] == [
        "  Bash git push - by hook g.sh: no",
        "  Edit - by rule Edit",
        "  Write /a - by unattended: deny: no rule allows it",
    ]


def entries(*bodies: Body) -> list[Entry]:
    return [Entry(n=n, parent="", page="", at="", body=body) for n, body in enumerate(bodies)]


def test_text_stop_and_denials_are_read_from_the_chain() -> None:
    use = ToolUse(id="t1", name="Bash", input={"command": "rm x"})
    verdict = Verdict(decision=Decision.DENY, by="rule", rule="Bash(rm x)", text="no")
    chain = entries(
        MessageBody(role=Role.ASSISTANT, blocks=(Text(text="I try."), use), exchange=1, stop=StopReason.TOOL_USE),
        OutcomeBody(exchange=1, place=0, tool="Bash", call="t1", digest="", verdict=verdict, status=CallStatus.DENIED),
        MessageBody(role=Role.ASSISTANT, blocks=(Text(text="I could not."),), exchange=2, stop=StopReason.END_TURN),
    )
    assert (final_text(chain), stop_of(chain)) == ("I could not.", "end_turn")
    assert denials_of(chain) == (
        {
            "tool_name": "Bash",
            "tool_use_id": "t1",
            "tool_input": {"command": "rm x"},
            "by": "rule",
            "rule": "Bash(rm x)",
            "reason": "no",
        },
    )
