"""What a session is doing, in one word for lists and a few for people."""

import pytest

from tests.workflows.core.states import call, in_turn
from workflows.contracts.session import CallState, SessionState
from workflows.core.phase import Phase, phase_of

HOST = "waiting for host laptop"


@pytest.mark.parametrize(
    ("state", "phase"),
    [
        (SessionState(), Phase("idle", "idle")),
        (SessionState(closing=True), Phase("closing", "closing")),
        (SessionState(waiting_for=HOST), Phase("waiting", HOST)),
        (in_turn(), Phase("running", "asking the model")),
        (in_turn(call(CallState.DONE)), Phase("running", "asking the model")),
        (in_turn(call()), Phase("running", "running tools")),
        (in_turn(call(CallState.ASKED)), Phase("waiting", "waiting for approval")),
        (in_turn(call(CallState.ASKED), call(beside=True)), Phase("waiting", "waiting for approval")),
        (in_turn(call(CallState.ASKED, beside=True), call(beside=True)), Phase("running", "running tools")),
        (in_turn(call(CallState.ANSWERED)), Phase("running", "running tools")),
        (in_turn(call()).model_copy(update={"waiting_for": HOST}), Phase("waiting", HOST)),
        (in_turn(call(CallState.ASKED)).model_copy(update={"interrupt": True}), Phase("running", "ending")),
        (
            in_turn(call()).model_copy(update={"closing": True, "waiting_for": "ending Bash"}),
            Phase("running", "ending Bash"),
        ),
    ],
)
def test_each_state_has_its_phase(state: SessionState, phase: Phase) -> None:
    assert phase_of(state) == phase


def test_more_questions_than_may_be_open_at_once_are_waited_for() -> None:
    state = in_turn(*[call(CallState.ASKED, beside=True)] * 10, *[call(beside=True)] * 5)
    assert phase_of(state).word == "waiting"
