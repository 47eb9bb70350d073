"""The loop of a turn, as one function from state to step."""

import pytest

from tests.workflows.core.states import DIGEST, call, change, done, in_turn, prompts, question, reply, turn_of
from workflows.contracts.model import CallRef, StopReason, Usage
from workflows.contracts.permissions import Mode
from workflows.contracts.session import CallState, OpenCall, SessionState, Totals, Turn, TurnEnd
from workflows.contracts.settings import Thresholds
from workflows.contracts.tools import CallStatus, ToolDone
from workflows.core import turn as turns
from workflows.core.turn import (
    AskModel,
    AwaitApproval,
    CloseSession,
    EndTurn,
    NoteModes,
    Rest,
    RunTools,
    StartTurn,
    next_step,
)

LIMITS = Thresholds()
BASH = CallRef(tool="Bash")


def test_a_session_without_prompts_rests_until_somebody_speaks() -> None:
    assert next_step(SessionState(), LIMITS) == Rest()
    assert next_step(SessionState(), LIMITS, once=True) == Rest()


def test_a_waiting_prompt_starts_a_turn_and_leaves_the_queue() -> None:
    state = SessionState(queue=prompts(2))
    assert next_step(state, LIMITS) == StartTurn()
    started = turns.started(state)
    assert (turn_of(started).number, turn_of(started).prompt) == (1, prompts(1)[0].digest)
    assert started.queue == prompts(2)[1:]
    assert next_step(started, LIMITS) == AskModel()


def test_a_session_for_one_prompt_closes_after_it() -> None:
    assert next_step(SessionState(turns=1), LIMITS, once=True) == CloseSession()
    assert next_step(SessionState(turns=1, queue=prompts(1)), LIMITS, once=True) == StartTurn()


def test_an_interrupt_that_came_between_two_turns_does_not_end_the_next_one() -> None:
    started = turns.started(SessionState(queue=prompts(1), interrupt=True))
    assert next_step(started, LIMITS) == AskModel()


def test_mode_changes_are_written_before_anything_else_happens_between_turns() -> None:
    state = SessionState(modes=(change(Mode.PLAN),), queue=prompts(1), closing=True)
    assert next_step(state, LIMITS) == NoteModes()
    assert next_step(turns.noted(state, state.modes), LIMITS) == CloseSession()


def test_calls_run_before_the_model_is_asked_again() -> None:
    state = turns.replied(in_turn(prompt="p"), reply(StopReason.TOOL_USE, [BASH, BASH]), LIMITS)
    assert next_step(state, LIMITS) == RunTools((0,))
    state = turns.ran(state, 0, done())
    assert next_step(state, LIMITS) == RunTools((1,))
    state = turns.ran(state, 1, done(outcome="other"))
    assert next_step(state, LIMITS) == AskModel()
    assert turns.waiting(turn_of(state)) == ("outcome", "other")


def test_a_question_waits_for_a_person() -> None:
    state = turns.replied(in_turn(), reply(StopReason.TOOL_USE, [BASH]), LIMITS)
    asked = done(CallStatus.NEEDS_APPROVAL, "").model_copy(update={"approval": question()})
    state = turns.ran(state, 0, asked)
    assert next_step(state, LIMITS) == AwaitApproval()
    assert turn_of(state).calls[0].approval == question()
    assert state.totals.calls == 0


def test_a_reply_without_calls_ends_the_turn() -> None:
    assert next_step(turns.replied(in_turn(), reply(), LIMITS), LIMITS) == EndTurn(TurnEnd.DONE)


def test_a_reply_counts_its_tokens_and_cost() -> None:
    state = turns.replied(in_turn(), reply(usage=Usage(input=5, output=2), cost=7, unknown=1), LIMITS)
    assert state.totals == Totals(exchanges=1, usage=Usage(input=5, output=2), cost=7, unknown=1)
    assert turns.replied(in_turn(), reply(), LIMITS).totals.unpriced == 1
    assert (state.head, state.window) == ("reply", 7)


def test_an_interrupt_ends_the_turn_whatever_it_does() -> None:
    for state in (in_turn(), in_turn(call()), in_turn(call(CallState.ASKED)), in_turn(end=TurnEnd.FAILED)):
        assert next_step(state.model_copy(update={"interrupt": True}), LIMITS) == EndTurn(TurnEnd.INTERRUPTED)
        assert next_step(state.model_copy(update={"closing": True}), LIMITS) == EndTurn(TurnEnd.INTERRUPTED)


def test_the_calls_of_an_interrupted_turn_that_have_no_outcome_are_named() -> None:
    state = in_turn(call(CallState.DONE), call(), call(CallState.ASKED), call(CallState.ANSWERED))
    assert turns.waiting(turn_of(state)) == (DIGEST,)
    assert turns.unanswered(turn_of(state)) == (1, 2, 3)


def test_a_turn_has_no_more_exchanges_than_its_limit() -> None:
    limits = Thresholds(exchanges_per_turn=2)
    state = in_turn()
    for _ in range(2):
        assert next_step(state, limits) == AskModel()
        state = turns.replied(state, reply(StopReason.TOOL_USE, [BASH]), limits)
        state = turns.ran(state, 0, done())
    assert next_step(state, limits) == EndTurn(TurnEnd.EXCHANGES)


def test_the_answer_at_the_limit_is_still_an_answer() -> None:
    limits = Thresholds(exchanges_per_turn=1)
    assert next_step(turns.replied(in_turn(), reply(), limits), limits) == EndTurn(TurnEnd.DONE)


def test_a_spent_budget_ends_this_turn_and_the_next_before_the_model_is_asked() -> None:
    limits = Thresholds(budget=100)
    state = turns.replied(in_turn(), reply(StopReason.TOOL_USE, [BASH], cost=100), limits)
    state = turns.ran(state, 0, done())
    assert next_step(state, limits) == EndTurn(TurnEnd.BUDGET)
    state = turns.ended(state, TurnEnd.BUDGET, "h2").model_copy(update={"queue": prompts(1)})
    assert next_step(turns.started(state), limits) == EndTurn(TurnEnd.BUDGET)


def test_a_turn_whose_last_call_was_denied_ends_as_denied() -> None:
    state = turns.ran(in_turn(call()), 0, done(CallStatus.DENIED))
    state = turns.replied(state, reply(), LIMITS)
    assert next_step(state, LIMITS) == EndTurn(TurnEnd.DENIED)
    assert state.totals.denials == 1


def test_a_call_that_works_after_a_denied_one_makes_the_turn_a_success() -> None:
    state = turns.ran(in_turn(call(), call()), 0, done(CallStatus.DENIED))
    state = turns.replied(turns.ran(state, 1, done()), reply(), LIMITS)
    assert next_step(state, LIMITS) == EndTurn(TurnEnd.DONE)


def test_a_call_that_fails_after_a_denied_one_does_not() -> None:
    state = turns.ran(in_turn(call(), call()), 0, done(CallStatus.DENIED))
    state = turns.replied(turns.ran(state, 1, done(CallStatus.ERROR)), reply(), LIMITS)
    assert next_step(state, LIMITS) == EndTurn(TurnEnd.DENIED)


def test_a_reply_set_aside_leaves_everything_to_be_asked_again() -> None:
    before = in_turn(call(CallState.DONE), prompt="p", entry="e", hidden="go on")
    state = turns.replied(before, reply(StopReason.MAX_TOKENS, cost=3), LIMITS)
    turn = turn_of(state)
    assert next_step(state, LIMITS) == AskModel()
    assert (turn.prompt, turn.entry, turn.hidden) == ("p", "e", "go on")
    assert (state.head, turns.waiting(turn)) == ("h", (DIGEST,))
    assert (turn.max_tokens, turn.discards) == (LIMITS.escalated_cap, ("reply",))
    assert (state.totals.exchanges, state.totals.cost) == (1, 3)


def test_the_reply_that_counts_takes_what_was_set_aside_with_it() -> None:
    state = turns.replied(in_turn(prompt="p"), reply(StopReason.MAX_TOKENS), LIMITS)
    state = turns.replied(state, reply(head="second"), LIMITS)
    assert (turn_of(state).discards, turn_of(state).prompt, state.head) == ((), "", "second")


def test_a_cut_off_call_three_times_in_a_row_ends_the_turn_after_three_questions() -> None:
    cut = CallRef(tool="Write", broken="cut off by the output limit of 8000 tokens")
    state, asked = in_turn(prompt="p"), 0
    while (step := next_step(state, LIMITS)) == AskModel():
        asked += 1
        state = turns.replied(state, reply(StopReason.MAX_TOKENS, [cut]), LIMITS)
        if turn_of(state).end is None:
            assert next_step(state, LIMITS) == RunTools((0,))
            state = turns.ran(state, 0, done(CallStatus.BROKEN))
    assert (step, asked) == (EndTurn(TurnEnd.OUTPUT_CAP), 3)
    assert "3 times in a row" in turn_of(state).error
    assert turns.unanswered(turn_of(state)) == (0,)


def test_a_failed_turn_ends_with_its_reason() -> None:
    state = turns.failed(in_turn(), TurnEnd.FAILED, "why" * 200)
    assert next_step(state, LIMITS) == EndTurn(TurnEnd.FAILED)
    state = turns.ended(state, TurnEnd.FAILED, "h2")
    assert (state.turn, state.head, state.last_end) == (None, "h2", TurnEnd.FAILED)
    assert len(state.last_error) == 300


@pytest.mark.parametrize(
    ("end", "words"),
    [
        (TurnEnd.EXCHANGES, "limit of 7 exchanges (--max-turns)"),
        (TurnEnd.BUDGET, "cost $0.03 of a budget of $0.02 (--max-budget-usd)"),
        (TurnEnd.DENIED, "denied"),
        (TurnEnd.DONE, ""),
    ],
)
def test_an_ending_that_nobody_made_says_why(end: TurnEnd, words: str) -> None:
    limits = Thresholds(exchanges_per_turn=7, budget=20_000)
    why = turns.why_ended(Turn(number=1), end, limits, Totals(cost=30_000))
    assert words in why
    assert bool(why) == bool(words)
    assert turns.ended(in_turn(), end, "h2", why).last_error == why


def test_what_went_wrong_beside_is_told_with_the_end_and_hides_no_error() -> None:
    warned = turns.warned(in_turn(), "hooks could not be run")
    assert turns.why_ended(turn_of(warned), TurnEnd.DONE, LIMITS, Totals()) == "hooks could not be run"
    assert "; hooks could not" in turns.why_ended(turn_of(warned), TurnEnd.DENIED, LIMITS, Totals())
    failed = turns.failed(in_turn(), TurnEnd.FAILED, "why")
    assert turns.warned(failed, "hooks could not be run") == failed


def test_a_call_that_ended_without_an_outcome_is_lost_not_unanswered() -> None:
    state = turns.ran(in_turn(call(), call()), 0, ToolDone(status=CallStatus.UNKNOWN))
    assert (turns.lost(turn_of(state)), turns.unanswered(turn_of(state))) == ((0,), (1,))


def test_a_call_that_has_ended_and_is_asked_about_counts_as_it_was_if_nobody_answers() -> None:
    asked = ToolDone(status=CallStatus.NEEDS_APPROVAL, approval=question(), outcome=DIGEST, cwd="/w/sub", cost=3)
    state = turns.ran(in_turn(call(), call()), 0, asked)
    assert next_step(state, LIMITS) == AwaitApproval()
    assert (turns.waiting(turn_of(state)), turns.unanswered(turn_of(state))) == ((DIGEST,), (1,))
    assert (state.cwd, state.totals.cost, state.totals.calls) == ("/w/sub", 3, 0)
    lost = turns.ran(state, 0, ToolDone(status=CallStatus.UNKNOWN))
    assert (turns.waiting(turn_of(lost)), turns.lost(turn_of(lost))) == ((DIGEST,), ())


def test_calls_beyond_the_most_are_counted_with_their_reply() -> None:
    state = turns.replied(in_turn(), reply(calls=[BASH], beyond=900), LIMITS)
    assert (turn_of(state).beyond, len(turn_of(state).calls)) == (900, 1)
    assert turn_of(turns.replied(state, reply(), LIMITS)).beyond == 0


def test_a_reply_that_was_lost_uses_up_its_number() -> None:
    state = turns.reply_lost(in_turn())
    assert (state.totals.exchanges, state.totals.unknown) == (1, 1)


def test_a_call_may_change_where_the_next_command_starts() -> None:
    state = turns.ran(in_turn(call(), call()), 0, done().model_copy(update={"cwd": "/w/a"}))
    assert turns.ran(state, 1, done()).cwd == "/w/a"


def test_a_mode_change_that_came_while_others_were_written_waits() -> None:
    plan, default = change(Mode.PLAN), change(Mode.DEFAULT)
    state = SessionState(modes=(plan, default))
    assert turns.noted(state, (plan,)).modes == (default,)
    assert turns.noted(state, state.modes).modes == ()


def test_a_mode_change_that_was_crowded_out_while_it_was_written_is_not_counted_as_lost() -> None:
    first, crowded_out = change(Mode.PLAN), change(Mode.DEFAULT)
    newest = change(Mode.ACCEPT_EDITS).model_copy(update={"unkept": 2})
    (waiting,) = turns.noted(SessionState(modes=(first, newest)), (first, crowded_out)).modes
    assert (waiting.mode, waiting.unkept) == (Mode.ACCEPT_EDITS, 1)


def test_a_turn_begins_with_nothing_of_the_one_before() -> None:
    state = SessionState(turns=4, queue=prompts(1), last_error="x", last_end=TurnEnd.FAILED)
    assert turns.started(state).turn == Turn(number=5, prompt=prompts(1)[0].digest)


def test_an_ended_call_forgets_its_question() -> None:
    state = turns.ran(in_turn(call(CallState.ANSWERED)), 0, done())
    assert turn_of(state).calls == (OpenCall(ref=BASH, state=CallState.DONE, outcome="outcome"),)
