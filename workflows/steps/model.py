"""Ask the model, and take its reply or its failure into the state."""

from temporalio import workflow

from workflows.contracts.activity_specs import ASK_MODEL
from workflows.contracts.model import ModelRequest
from workflows.core import turn as turns
from workflows.core.directives import reminder
from workflows.core.media import MENDABLE
from workflows.core.recovery import after_failure
from workflows.steps.calls import failure_of
from workflows.steps.running import Running, now


async def ask_model(running: Running) -> None:
    """One question to the model; afterwards the state holds its reply, its failure or nothing."""
    thresholds = running.given.thresholds
    request = model_request(running)
    outcome = await running.run(ASK_MODEL, request, attempts=thresholds.model_attempts)
    if not isinstance(outcome, BaseException):
        running.state = turns.replied(running.state, outcome, thresholds, request)
    elif running.is_stopped():
        running.state = turns.reply_lost(running.state)
    else:
        kind, message = failure_of(outcome)
        # Older sessions ended their turn here.
        mends = kind in MENDABLE and workflow.patched("leave-out-media")
        turn = after_failure(running.turn, kind, message, thresholds, mends=mends)
        running.state = running.state.model_copy(update={"turn": turn})


def model_request(running: Running) -> ModelRequest:
    """What the model is asked now."""
    turn, thresholds = running.turn, running.given.thresholds
    lost = turns.lost(turn)
    return ModelRequest(
        session=running.given.session,
        exchange=running.state.totals.exchanges + 1,
        head=running.state.head,
        context=running.state.context,
        at=now(),
        prompt=turn.prompt,
        waiting=turns.waiting(turn),
        hidden=turn.hidden,
        model=turn.model,
        max_tokens=turn.max_tokens,
        turn=turn.number,
        discards=turn.discards,
        searches=running.state.totals.usage.searches,
        refusals=turn.refusals,
        attempts=thresholds.model_attempts,
        overloads=thresholds.overloads if turn.fallbacks < len(thresholds.fallback_models) else 0,
        mode=running.state.mode,
        entry=turn.entry if lost or turn.beyond else "",
        lost=lost,
        beyond=turn.beyond,
        notices=running.state.notices,
        unkept=running.state.unkept,
        reminder=reminder(running.state),
        workspace=running.state.workspace,
    )
