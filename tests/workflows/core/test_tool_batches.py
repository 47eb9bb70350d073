"""Safe calls run side by side, others alone, all in the order of the reply."""

import random

from tests.workflows.core.states import call
from workflows.contracts.session import CallState, OpenCall
from workflows.core.tool_batches import next_batch

PENDING, ASKED, ANSWERED, DONE = CallState.PENDING, CallState.ASKED, CallState.ANSWERED, CallState.DONE


def test_safe_calls_in_a_row_run_side_by_side() -> None:
    assert next_batch([call(beside=True), call(beside=True), call(), call(beside=True)], 10) == (0, 1)


def test_a_call_that_is_not_safe_runs_alone() -> None:
    assert next_batch([call(DONE, beside=True), call(), call()], 10) == (1,)


def test_no_more_than_the_limit_run_at_once() -> None:
    assert next_batch([call(beside=True)] * 15, 10) == tuple(range(10))


def test_a_question_holds_back_what_comes_after_unless_it_is_safe_too() -> None:
    assert next_batch([call(ASKED), call(beside=True)], 10) == ()
    assert next_batch([call(ASKED, beside=True), call(beside=True), call()], 10) == (1,)
    assert next_batch([call(ASKED, beside=True), call()], 10) == ()


def test_an_answered_call_runs() -> None:
    assert next_batch([call(ANSWERED), call()], 10) == (0,)


def test_no_more_questions_are_asked_than_calls_may_run_at_once() -> None:
    asked = [call(ASKED, beside=True)] * 10
    assert next_batch([*asked, call(beside=True)], 10) == ()
    assert next_batch([*asked[1:], call(ANSWERED, beside=True), call(beside=True)], 10) == (9,)


def test_nothing_runs_when_all_is_done() -> None:
    assert next_batch([call(DONE), call(DONE, beside=True)], 10) == ()
    assert next_batch([], 10) == ()


def test_every_reply_is_worked_off_in_order_whatever_its_calls(chance: random.Random) -> None:
    for _ in range(300):
        calls = [call(beside=chance.random() < 0.6) for _ in range(chance.randrange(12))]
        _work_off(calls, chance)
        assert all(each.state == DONE for each in calls)


def _work_off(calls: list[OpenCall], chance: random.Random) -> None:
    for _ in range(100):
        places = next_batch(calls, 4)
        if not places:
            asked = [place for place, each in enumerate(calls) if each.state == ASKED]
            if not asked:
                return
            place = chance.choice(asked)
            calls[place] = call(ANSWERED, beside=calls[place].ref.beside)
            continue
        assert len(places) <= 4
        if not all(calls[place].ref.beside for place in places):
            assert len(places) == 1
            assert all(each.state == DONE for each in calls[: places[0]])
        for place in places:
            may_ask = calls[place].state == PENDING and chance.random() < 0.3
            calls[place] = call(ASKED if may_ask else DONE, beside=calls[place].ref.beside)
