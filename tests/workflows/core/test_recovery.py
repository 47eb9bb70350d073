"""What a reply or a failure makes of its turn."""

import pytest

from tests.workflows.core.states import reply
from workflows.contracts.errors import FailureKind
from workflows.contracts.model import CallRef, StopReason
from workflows.contracts.session import Turn, TurnEnd
from workflows.contracts.settings import Thresholds
from workflows.core.recovery import GO_ON, GO_ON_BROKEN, after_failure, after_reply

LIMITS = Thresholds()
WRITE = CallRef(tool="Write")
CUT = CallRef(tool="Write", broken="cut off by the output limit of 8000 tokens")
NO_JSON = CallRef(tool="Write", broken="its input is no valid JSON")
RAISED = Turn(number=1, max_tokens=LIMITS.escalated_cap)


def test_a_reply_cut_off_by_the_cap_is_asked_again_with_a_higher_one() -> None:
    after = after_reply(Turn(number=1, hidden="x"), reply(StopReason.MAX_TOKENS), LIMITS)
    assert after.set_aside
    assert (after.turn.max_tokens, after.turn.hidden) == (LIMITS.escalated_cap, "x")


def test_a_reply_cut_off_again_is_continued_three_times_and_then_ends_the_turn() -> None:
    turn = RAISED
    for _ in range(3):
        after = after_reply(turn, reply(StopReason.MAX_TOKENS), LIMITS)
        assert (after.goes_on, after.set_aside, after.turn.hidden) == (True, False, GO_ON)
        turn = after.turn
    ended = after_reply(turn, reply(StopReason.MAX_TOKENS), LIMITS).turn
    assert (ended.end, ended.hidden) == (TurnEnd.OUTPUT_CAP, "")


def test_a_whole_call_runs_although_the_cap_ended_the_reply() -> None:
    after = after_reply(Turn(number=1), reply(StopReason.MAX_TOKENS, [WRITE]), LIMITS)
    assert (after.set_aside, after.turn.end, after.turn.max_tokens) == (False, None, LIMITS.raised_cap)


def test_a_cut_off_call_is_answered_and_the_next_reply_may_be_longer() -> None:
    after = after_reply(Turn(number=1), reply(StopReason.MAX_TOKENS, [WRITE, CUT]), LIMITS)
    assert (after.set_aside, after.turn.end, after.turn.max_tokens) == (False, None, LIMITS.raised_cap)


@pytest.mark.parametrize(
    ("stop", "call", "end"),
    [
        (StopReason.MAX_TOKENS, CUT, TurnEnd.OUTPUT_CAP),
        (StopReason.TOOL_USE, NO_JSON, TurnEnd.FAILED),
    ],
)
def test_the_same_broken_call_three_times_in_a_row_ends_the_turn(stop: StopReason, call: CallRef, end: TurnEnd) -> None:
    turn = Turn(number=1)
    for _ in range(2):
        turn = after_reply(turn, reply(stop, [call]), LIMITS).turn
        assert turn.end is None
    assert after_reply(turn, reply(stop, [call]), LIMITS).turn.end == end


def test_a_whole_reply_between_starts_the_count_afresh() -> None:
    turn = Turn(number=1)
    for _ in range(2):
        turn = after_reply(turn, reply(StopReason.MAX_TOKENS, [CUT]), LIMITS).turn
    turn = after_reply(turn, reply(StopReason.TOOL_USE, [WRITE]), LIMITS).turn
    assert after_reply(turn, reply(StopReason.MAX_TOKENS, [CUT]), LIMITS).turn.end is None


def test_a_broken_stream_is_continued_and_blamed_on_the_connection() -> None:
    turn = Turn(number=1)
    for _ in range(3):
        after = after_reply(turn, reply(StopReason.CUT_OFF), LIMITS)
        assert (after.goes_on, after.turn.hidden) == (True, GO_ON_BROKEN)
        turn = after.turn
    assert after_reply(turn, reply(StopReason.CUT_OFF), LIMITS).turn.end == TurnEnd.UNREACHABLE


def test_the_whole_calls_of_a_broken_stream_run() -> None:
    after = after_reply(Turn(number=1), reply(StopReason.CUT_OFF, [WRITE]), LIMITS)
    assert (after.goes_on, after.turn.end, after.turn.hidden) == (False, None, "")


@pytest.mark.parametrize(
    ("stop", "is_empty", "end"),
    [
        (StopReason.END_TURN, False, None),
        (StopReason.STOP_SEQUENCE, False, None),
        (StopReason.END_TURN, True, TurnEnd.EMPTY),
        (StopReason.REFUSAL, False, TurnEnd.REFUSED),
        (StopReason.WINDOW, False, TurnEnd.TOO_LONG),
    ],
)
def test_a_reply_without_calls_ends_the_turn_as_it_says(stop: StopReason, is_empty: bool, end: TurnEnd | None) -> None:
    after = after_reply(Turn(number=1, cut_offs=2), reply(stop, is_empty=is_empty), LIMITS)
    assert (after.turn.end, after.goes_on) == (end, False)


def test_a_pause_goes_on_without_a_word() -> None:
    after = after_reply(Turn(number=1), reply(StopReason.PAUSE_TURN), LIMITS)
    assert (after.goes_on, after.turn.hidden, after.turn.end) == (True, "", None)


def test_each_fallback_model_is_asked_once_and_then_the_turn_ends() -> None:
    limits = Thresholds(fallback_models=("one", "two"))
    turn = Turn(number=1, prompt="p")
    for model in ("one", "two"):
        turn = after_failure(turn, FailureKind.OVERLOADED, "busy", limits)
        assert (turn.model, turn.prompt, turn.end) == (model, "p", None)
    assert after_failure(turn, FailureKind.OVERLOADED, "busy", limits).end == TurnEnd.OVERLOADED


@pytest.mark.parametrize("kind", [kind for kind in FailureKind if kind != FailureKind.OVERLOADED])
def test_no_other_failure_changes_the_model(kind: FailureKind) -> None:
    turn = after_failure(Turn(number=1), kind, "why", Thresholds(fallback_models=("one",)))
    assert turn.model == ""
    assert turn.end is not None
    assert turn.error == "why"


@pytest.mark.parametrize(
    ("kind", "end"),
    [
        (FailureKind.UNAUTHORIZED, TurnEnd.UNAUTHORIZED),
        (FailureKind.NO_KEY, TurnEnd.UNAUTHORIZED),
        (FailureKind.BAD_REQUEST, TurnEnd.REFUSED),
        (FailureKind.TOO_LONG, TurnEnd.TOO_LONG),
        (FailureKind.RATE_LIMITED, TurnEnd.OVERLOADED),
        (FailureKind.TRANSPORT, TurnEnd.UNREACHABLE),
        (FailureKind.BUG, TurnEnd.FAILED),
        (None, TurnEnd.FAILED),
    ],
)
def test_a_failure_ends_the_turn_by_who_must_act(kind: FailureKind | None, end: TurnEnd) -> None:
    turn = after_failure(Turn(number=1), kind, "w" * 999, LIMITS)
    assert (turn.end, len(turn.error)) == (end, 300)
