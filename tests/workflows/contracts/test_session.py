"""The state of a session stays small however long the talk."""

from tests.workflows.core.states import DIGEST, call, change, prompts, turn_of
from workflows.contracts.model import CallRef, Usage
from workflows.contracts.permissions import Choice, Mode
from workflows.contracts.session import CallState, OpenCall, SessionState, Submit, Totals, Turn, TurnEnd
from workflows.contracts.settings import Thresholds
from workflows.contracts.tasks import MOST_NOTICES, MOST_TASKS, Task, TaskKind
from workflows.core import intake

LIMIT = 16 * 1024
LIMITS = Thresholds()


def _asks_much() -> OpenCall:
    """A call that asks the person four things; such a one is never asked beside another."""
    asked = call(CallState.ASKED, place=LIMITS.side_by_side)
    assert asked.approval is not None
    choices = (Choice(options=4, several=True),) * 4
    return asked.model_copy(
        update={"approval": asked.approval.model_copy(update={"content": DIGEST, "choices": choices})}
    )


def full_state() -> SessionState:
    """Everything at its limit: prompts, request ids, questions, modes, texts."""
    many = 10**12
    state = SessionState(
        head=DIGEST,
        context=DIGEST,
        title="t" * 80,
        mode=Mode.BYPASS,
        turns=many,
        turn=Turn(
            number=many,
            prompt=DIGEST,
            exchanges=many,
            entry=DIGEST,
            calls=(
                *(call(CallState.ASKED, beside=True, place=place) for place in range(LIMITS.side_by_side - 1)),
                _asks_much(),
            ),
            error="e" * 300,
            discards=(DIGEST, DIGEST),
            model="m" * 60,
        ),
        totals=Totals(
            exchanges=many,
            calls=many,
            denials=many,
            usage=Usage(input=many, output=many, cache_read=many, cache_write=many, cache_write_1h=many),
            cost=many,
            unpriced=many,
            unknown=many,
        ),
        cwd="/w" * 100,
        modes=(change(Mode.BYPASS),) * 4,
        last_end=TurnEnd.UNREACHABLE,
        last_error="e" * 300,
        window=many,
        runs=many,
        waiting_for="waiting for approval",
        workspace="/w" * 100,
        before_plan=Mode.BYPASS,
        told_mode=Mode.BYPASS,
        tasks=tuple(
            Task(id=f"b{number:08x}", kind=TaskKind.COMMAND, call=f"12345.{number}", title="t" * 40, heard=many)
            for number in range(MOST_TASKS)
        ),
        notices=(DIGEST,) * (MOST_NOTICES + MOST_TASKS),
        unkept=many,
    )
    for number in range(LIMITS.queued):
        state = intake.submitted(state, Submit(request=f"{number:016x}", digest=DIGEST, title="t" * 80))
    for number in range(2 * LIMITS.seen):
        state = intake.seen(state, f"{number:016x}", LIMITS)
    return state


def test_a_state_with_everything_at_its_limit_is_below_16_kb() -> None:
    state = full_state()
    assert (len(state.queue), len(state.seen)) == (LIMITS.queued, LIMITS.seen)
    assert intake.refuse_submit(state, Submit(request="r", digest=DIGEST), LIMITS)
    assert len(state.model_dump_json().encode()) <= LIMIT


def test_a_checkpoint_carries_every_part_of_the_state() -> None:
    assert SessionState.model_validate_json(full_state().model_dump_json()) == full_state()


def test_a_finished_call_costs_a_hundred_bytes_or_so() -> None:
    done = OpenCall(ref=CallRef(tool="Bash"), state=CallState.DONE, outcome=DIGEST)
    assert len(done.model_dump_json()) < 150


def test_a_waiting_prompt_costs_its_digest() -> None:
    assert len(prompts(1)[0].model_dump_json()) < 80
    assert turn_of(full_state()).number == 10**12
