"""What a person's request changes in the state, and which requests cannot be."""

import pytest

from tests.workflows.core.states import DIGEST, call, in_turn, prompts, question, turn_of
from workflows.contracts.permissions import Answer, Choice, Chosen, Mode, answer_bytes, signed_bytes
from workflows.contracts.session import CallState, Close, Interrupt, SessionState, SetMode, Submit
from workflows.contracts.settings import Thresholds
from workflows.core import intake

LIMITS = Thresholds()
ASKED = in_turn(call(CallState.ASKED), call(place=1))
YES = Answer(request="a", approval="12345.0", digest=DIGEST, allow=True)


def submit(request: str = "r", title: str = "t") -> Submit:
    return Submit(request=request, digest=DIGEST, title=title)


def test_a_request_is_known_again_by_its_id_as_long_as_its_like_are_kept() -> None:
    state = intake.seen(SessionState(), "first", LIMITS)
    assert intake.is_repeat(state, "first")
    assert not intake.is_repeat(state, "second")
    for number in range(LIMITS.seen - 1):
        state = intake.seen(state, str(number), LIMITS)
    assert intake.is_repeat(state, "first")
    assert not intake.is_repeat(intake.seen(state, "one more", LIMITS), "first")


def test_an_id_takes_the_same_room_however_long_it_is() -> None:
    state = intake.seen(SessionState(), "x" * 10_000, LIMITS)
    assert len(state.model_dump_json()) < 100
    assert intake.is_repeat(state, "x" * 10_000)


def test_a_prompt_joins_the_end_of_the_queue() -> None:
    state = intake.submitted(SessionState(queue=prompts(1)), submit(title="x" * 200))
    assert [prompt.digest for prompt in state.queue] == [prompts(1)[0].digest, DIGEST]
    assert state.title == "x" * 80
    assert intake.submitted(state, submit(title="later")).title == state.title


def test_a_full_queue_and_a_closing_session_refuse_prompts_with_what_to_do() -> None:
    full = SessionState(queue=prompts(LIMITS.queued))
    assert "send it again" in intake.refuse_submit(full, submit(), LIMITS)
    assert "perdure run" in intake.refuse_submit(SessionState(closing=True), submit(), LIMITS)
    assert intake.refuse_submit(SessionState(), submit(), LIMITS) == ""


@pytest.mark.parametrize("state", [SessionState(queue=prompts(LIMITS.queued)), SessionState(closing=True)])
def test_a_repeated_prompt_is_taken_whatever_came_after_it(state: SessionState) -> None:
    assert intake.refuse_submit(intake.seen(state, "r", LIMITS), submit("r"), LIMITS) == ""


@pytest.mark.parametrize(
    ("changed", "why"),
    [
        ({"digest": "x" * 70_000}, "digest"),
        ({"digest": "D" * 64}, "digest"),
        ({"digest": DIGEST + "\n"}, "digest"),
        ({"title": "t" * 81}, "title"),
        ({"request": "r" * 41}, "request"),
    ],
)
def test_a_prompt_that_could_be_none_is_refused_before_it_waits(changed: dict[str, str], why: str) -> None:
    assert why in intake.refuse_submit(SessionState(), submit().model_copy(update=changed), LIMITS)


def test_what_a_client_gives_of_itself_is_bounded_in_every_request() -> None:
    requests = (Close(request="r", by="b" * 81), SetMode(request="r", mode=Mode.PLAN, signature="5" * 129))
    assert all("at most" in intake.refuse_form(request) for request in requests)
    assert "at most" in intake.refuse_answer(ASKED, YES.model_copy(update={"by": "b" * 70_000}))
    assert "at most" in intake.refuse_interrupt(in_turn(), Interrupt(request="x" * 70_000))


def test_a_closing_session_takes_no_mode_that_it_could_not_write() -> None:
    request = SetMode(request="r", mode=Mode.PLAN)
    closing = SessionState(closing=True)
    assert "closing" in intake.refuse_mode(closing, request)
    assert intake.refuse_mode(intake.seen(closing, "r", LIMITS), request) == ""
    assert intake.refuse_mode(SessionState(), request) == ""


def test_an_answer_goes_to_its_own_question() -> None:
    assert intake.refuse_answer(ASKED, YES) == ""
    first, second = turn_of(intake.answered(ASKED, YES)).calls
    assert (first.state, first.answer) == (CallState.ANSWERED, YES)
    assert second == turn_of(ASKED).calls[1]


def test_an_answered_question_keeps_only_what_its_answer_is_bound_to() -> None:
    approval = turn_of(intake.answered(ASKED, YES)).calls[0].approval
    assert approval == question().model_copy(update={"summary": "", "reason": ""})


@pytest.mark.parametrize(
    ("changed", "why"),
    [
        ({"approval": "1.7"}, "perdure approvals"),
        ({"digest": "e" * 64}, "something else"),
        ({"text": "x" * 1025}, "1 KB"),
        ({"text": "ü" * 513}, "1 KB"),
    ],
)
def test_an_answer_that_does_not_fit_is_refused(changed: dict[str, str], why: str) -> None:
    assert why in intake.refuse_answer(ASKED, YES.model_copy(update=changed))


def test_a_question_is_answered_once() -> None:
    assert "no question" in intake.refuse_answer(intake.answered(ASKED, YES), YES)
    assert intake.open_approvals(ASKED) == (question(),)
    assert intake.open_approvals(intake.answered(ASKED, YES)) == ()


def test_a_repeated_answer_is_no_error() -> None:
    state = intake.seen(intake.answered(ASKED, YES), "a", LIMITS)
    assert intake.refuse_answer(state, YES) == ""


def test_an_answer_after_the_turn_changes_nothing() -> None:
    assert intake.answered(SessionState(), YES) == SessionState()
    assert "no question" in intake.refuse_answer(SessionState(), YES)


def test_only_the_turn_that_runs_is_interrupted() -> None:
    assert "nothing" in intake.refuse_interrupt(SessionState(), Interrupt(request="r"))
    assert "turn 7 has ended" in intake.refuse_interrupt(in_turn(), Interrupt(request="r", turn=7))
    assert intake.refuse_interrupt(in_turn(), Interrupt(request="r", turn=1)) == ""
    assert intake.interrupted(in_turn()).interrupt


def test_a_repeated_interrupt_is_no_error_after_the_turn() -> None:
    assert intake.refuse_interrupt(intake.seen(SessionState(), "r", LIMITS), Interrupt(request="r")) == ""


def test_a_mode_change_counts_at_once_and_waits_to_be_written() -> None:
    state = intake.mode_set(SessionState(), SetMode(request="r", mode=Mode.PLAN))
    assert (state.mode, state.modes) == (Mode.PLAN, (SetMode(request="r", mode=Mode.PLAN),))
    assert intake.mode_set(state, SetMode(request="s", mode=Mode.PLAN)) == state


def test_of_many_mode_changes_the_newest_is_always_written_and_says_how_many_were_not() -> None:
    state = SessionState()
    for number in range(50):
        mode = (Mode.PLAN, Mode.BYPASS, Mode.DEFAULT)[number % 3]
        state = intake.mode_set(state, SetMode(request=str(number), mode=mode))
    assert state.modes[-1].mode == state.mode
    assert [change.unkept for change in state.modes] == [0, 0, 0, 46]


@pytest.mark.parametrize(
    ("old", "new", "more"),
    [
        (Mode.DEFAULT, Mode.BYPASS, True),
        (Mode.DEFAULT, Mode.ACCEPT_EDITS, True),
        (Mode.PLAN, Mode.DEFAULT, True),
        (Mode.PLAN, Mode.DONT_ASK, True),
        (Mode.DONT_ASK, Mode.DEFAULT, False),
        (Mode.BYPASS, Mode.PLAN, False),
        (Mode.DEFAULT, Mode.DEFAULT, False),
    ],
)
def test_a_mode_with_more_rights_is_known(old: Mode, new: Mode, more: bool) -> None:
    assert intake.gives_more(old, new) is more


def test_a_close_keeps_its_reason_short() -> None:
    state = intake.closed(SessionState(), Close(request="r", reason="x" * 999))
    assert (state.closing, len(state.close_reason)) == (True, 300)


QUESTION = question().model_copy(
    update={
        "tool": "AskUserQuestion",
        "content": DIGEST,
        "choices": (Choice(options=3), Choice(options=2, several=True)),
    }
)
ASKS = in_turn(call(CallState.ASKED).model_copy(update={"approval": QUESTION}))
CHOSEN = YES.model_copy(update={"content": DIGEST, "chosen": (Chosen(options=(3,)), Chosen(options=(1, 2)))})


def test_an_answer_chooses_for_each_question_what_that_offers() -> None:
    assert intake.refuse_answer(ASKS, CHOSEN) == ""
    own_words = CHOSEN.model_copy(update={"chosen": (Chosen(text="neither"), Chosen(options=(1,), text="and more"))})
    assert intake.refuse_answer(ASKS, own_words) == ""
    assert intake.refuse_answer(ASKS, YES.model_copy(update={"allow": False, "content": DIGEST})) == ""


@pytest.mark.parametrize(
    ("changed", "why"),
    [
        ({"content": "e" * 64}, "shows something else now"),
        ({"chosen": ()}, "perdure answer"),
        ({"chosen": (Chosen(options=(1,)),)}, "asks 2 things"),
        ({"chosen": (Chosen(options=(4,)), Chosen(options=(1,)))}, "options 1 to 3"),
        ({"chosen": (Chosen(options=(1, 2)), Chosen(options=(1,)))}, "only one option"),
        ({"chosen": (Chosen(options=(1,)), Chosen(options=(1, 1)))}, "named twice"),
        ({"chosen": (Chosen(text="  "), Chosen(options=(1,)))}, "choose an option"),
        ({"chosen": (Chosen(text="x" * 1000), Chosen(text="x" * 100))}, "over 1 KB"),
        ({"mode": Mode.ACCEPT_EDITS}, "only with the approval of a plan"),
    ],
)
def test_an_answer_that_does_not_fit_its_questions_is_refused(changed: dict[str, object], why: str) -> None:
    assert why in intake.refuse_answer(ASKS, CHOSEN.model_copy(update=changed))


def test_a_mode_goes_with_an_approved_plan_and_with_nothing_else() -> None:
    plan = question().model_copy(update={"tool": "ExitPlanMode", "content": DIGEST})
    asks = in_turn(call(CallState.ASKED).model_copy(update={"approval": plan}))
    yes = YES.model_copy(update={"content": DIGEST, "mode": Mode.ACCEPT_EDITS})
    assert intake.refuse_answer(asks, yes) == ""
    assert intake.refuse_answer(asks, yes.model_copy(update={"mode": Mode.PLAN}))
    assert intake.refuse_answer(asks, yes.model_copy(update={"allow": False}))
    assert "yes or no" in intake.refuse_answer(asks, yes.model_copy(update={"mode": None, "chosen": CHOSEN.chosen}))


def test_a_signature_covers_what_was_chosen_and_shown_and_an_old_answer_s_stays_as_it_was() -> None:
    said = {
        answer_bytes("s", CHOSEN.model_copy(update=changed))
        for changed in ({}, {"content": ""}, {"mode": Mode.DEFAULT}, {"chosen": CHOSEN.chosen[::-1]}, {"always": True})
    }
    assert len(said) == 5
    assert answer_bytes("s", YES) == signed_bytes("s", "answer", "a", "12345.0", DIGEST, "True", "", "")
