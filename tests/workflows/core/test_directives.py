"""What tools ask of their session changes its state once, and within bounds."""

from functools import reduce

import pytest

from tests.workflows.core.states import DIGEST, in_turn
from workflows.contracts.directives import ChangeMode, DropTask, Move, StartTask
from workflows.contracts.permissions import Mode
from workflows.contracts.session import SessionState, SetMode
from workflows.contracts.tasks import MOST_NOTICES, MOST_TASKS, Delivery, Task, TaskKind
from workflows.core import intake
from workflows.core.directives import apply, delivered, reminder, told


def task(number: int = 1) -> Task:
    return Task(id=f"b{number:08x}", kind=TaskKind.COMMAND, call=f"{number}.0", key=DIGEST)


def word(number: int, *, has_ended: bool = False, of: int = 1) -> Delivery:
    return Delivery(task=task(of).id, number=number, notice=f"{of}{number}".rjust(64, "0"), has_ended=has_ended)


@pytest.mark.parametrize("before", [Mode.DEFAULT, Mode.ACCEPT_EDITS, Mode.BYPASS])
def test_an_approved_plan_brings_back_the_mode_before_it(before: Mode) -> None:
    planning = apply(in_turn().model_copy(update={"mode": before}), ChangeMode(mode=Mode.PLAN, approval="1.0"))
    assert (planning.mode, planning.before_plan) == (Mode.PLAN, before)
    done = apply(planning, ChangeMode(approval="2.0", by="me"))
    assert (done.mode, done.before_plan) == (before, None)
    assert [(change.mode, change.approval) for change in done.modes] == [(Mode.PLAN, "1.0"), (before, "2.0")]


def test_a_person_may_choose_the_mode_in_which_a_plan_is_carried_out() -> None:
    state = apply(SessionState(mode=Mode.PLAN), ChangeMode(mode=Mode.ACCEPT_EDITS))
    assert state.mode == Mode.ACCEPT_EDITS


def test_a_session_that_began_in_plan_mode_goes_on_in_the_default_one() -> None:
    assert apply(SessionState(mode=Mode.PLAN), ChangeMode()).mode == Mode.DEFAULT


def test_a_plan_that_is_approved_after_the_person_left_plan_mode_changes_nothing() -> None:
    state = SessionState(mode=Mode.DONT_ASK)
    assert apply(state, ChangeMode(mode=Mode.ACCEPT_EDITS)) == state


def test_the_model_is_reminded_of_plan_mode_once_and_only_where_it_did_not_change_it_itself() -> None:
    assert reminder(SessionState(mode=Mode.PLAN)) == "plan"
    assert reminder(SessionState(mode=Mode.PLAN, told_mode=Mode.PLAN)) == ""
    assert reminder(apply(SessionState(), ChangeMode(mode=Mode.PLAN))) == ""
    left = intake.mode_set(SessionState(mode=Mode.PLAN, told_mode=Mode.PLAN), SetMode(request="r", mode=Mode.DEFAULT))
    assert reminder(left) == "left_plan"
    assert reminder(SessionState(mode=Mode.BYPASS)) == ""


def test_work_in_another_folder_begins_and_ends_at_its_top() -> None:
    moved = apply(SessionState(cwd="/w/deep"), Move(workspace="/elsewhere"))
    assert (moved.workspace, moved.cwd) == ("/elsewhere", "")
    assert apply(moved, Move()).workspace == ""


def test_a_task_is_open_once_and_at_most_so_many_are() -> None:
    state = reduce(apply, [StartTask(task=task(number)) for number in (1, 1, *range(2, 20))], SessionState())
    assert [each.id for each in state.tasks] == [task(number).id for number in range(1, MOST_TASKS + 1)]


def test_each_word_of_a_task_is_heard_once_and_nothing_after_its_end() -> None:
    state = apply(SessionState(), StartTask(task=task()))
    for given in (word(1), word(1), word(2), word(1), word(3, has_ended=True), word(3, has_ended=True), word(4)):
        state = delivered(state, given)
    assert state.notices == (word(1).notice, word(2).notice, word(3).notice)
    assert state.tasks == ()


def test_nothing_is_heard_of_a_task_that_the_model_ended_itself() -> None:
    state = apply(apply(SessionState(), StartTask(task=task())), DropTask(task=task().id))
    assert delivered(state, word(1, has_ended=True)) == state


def test_of_too_many_words_the_number_is_kept_and_every_end() -> None:
    state = reduce(apply, [StartTask(task=task(number)) for number in range(1, 4)], SessionState())
    for number in range(1, MOST_NOTICES + 6):
        state = delivered(state, word(number))
    state = delivered(state, word(1, has_ended=True, of=2))
    assert (len(state.notices), state.unkept) == (MOST_NOTICES + 1, 5)
    assert state.notices[-1] == word(1, of=2).notice


def test_what_was_shown_waits_no_more_and_what_came_meanwhile_does() -> None:
    state = SessionState(notices=("a", "b", "c"), unkept=3)
    left = told(state, 2, 1)
    assert (left.notices, left.unkept) == (("c",), 2)
