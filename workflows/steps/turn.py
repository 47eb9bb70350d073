"""The loop of a turn: what is next, done step by step, and how a turn is ended."""

from typing import assert_never

from temporalio.exceptions import ActivityError, ApplicationError

from workflows.contracts.activity_specs import SETTLE
from workflows.contracts.session import TurnEnd
from workflows.contracts.session_steps import SettleRequest
from workflows.core import turn as turns
from workflows.core.directives import told
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
from workflows.steps.calls import call, failure_of, was_cancelled
from workflows.steps.hooks import batch_done, keeps_going, prompt_submitted
from workflows.steps.model import ask_model
from workflows.steps.running import Running, now
from workflows.steps.tools import run_tools

INTERRUPTED = "[The person interrupted here. What ran was ended.]"
"""What the model is shown of an interrupt."""


async def take_step(running: Running) -> bool:
    """Do what is next; False when the session is over."""
    step = next_step(running.state, running.given.thresholds, once=running.given.once)
    match step:
        case Rest():
            await running.wait()
        case StartTurn():
            running.state = turns.started(running.state)
            await prompt_submitted(running)
        case AskModel():
            await ask_model(running)
        case RunTools(places=places):
            await run_tools(running, places)
            await batch_done(running)
        case AwaitApproval():
            running.waits_for("waiting for approval")
            await running.wait()
            running.waits_for("")
        case EndTurn(end=end):
            if not await keeps_going(running, end):
                await end_turn(running, end)
        case NoteModes():
            await _note_modes(running)
        case CloseSession():
            return False
        case _:
            assert_never(step)
    return True


async def end_turn(running: Running, end: TurnEnd) -> None:
    """Write what waits and how the turn ended; the next prompt's turn may begin."""
    turn = running.turn
    is_interrupt = end == TurnEnd.INTERRUPTED
    error = turns.why_ended(turn, end, running.given.thresholds, running.state.totals)
    request = SettleRequest(
        session=running.given.session,
        head=running.state.head,
        at=now(),
        context=running.state.context,
        waiting=turns.waiting(turn),
        prompts=(turn.prompt,) if turn.prompt else (),
        entry=turn.entry,
        unanswered=turns.unanswered(turn) if turn.entry else (),
        what="interrupted" if is_interrupt else "turn_ended",
        text=INTERRUPTED if is_interrupt else error,
        shown=is_interrupt,
        turn=turn.number,
        end=end,
        totals=running.state.totals,
        exchange=running.state.totals.exchanges,
        modes=running.state.modes,
        lost=turns.lost(turn) if turn.entry else (),
        beyond=turn.beyond,
        # After a turn that went well they start the next one; after any other they would do so for ever.
        notices=() if end == TurnEnd.DONE else running.state.notices,
        unkept=0 if end == TurnEnd.DONE else running.state.unkept,
    )
    modes = running.state.modes
    head = await write(request)
    ended = turns.noted(turns.ended(running.state, end, head, error), modes)
    running.state = told(ended, len(request.notices), request.unkept)


async def write(request: SettleRequest) -> str:
    """The head after it. What cannot be written is named in the notice: only a chain that cannot go on is final."""
    try:
        return (await call(SETTLE, request)).head
    except (ActivityError, ApplicationError) as error:
        if was_cancelled(error):
            raise
        _kind, why = failure_of(error)
        left_out = {"waiting": (), "prompts": (), "unanswered": (), "lost": (), "beyond": 0, "notices": ()}
        unwritten = (*request.waiting, *request.prompts, *request.notices)
        return (
            await call(SETTLE, request.model_copy(update={**left_out, "unwritten": unwritten, "why": why[:300]}))
        ).head


async def _note_modes(running: Running) -> None:
    modes = running.state.modes
    request = SettleRequest(
        session=running.given.session,
        head=running.state.head,
        at=now(),
        context=running.state.context,
        what="mode_changed",
        modes=modes,
    )
    head = await write(request)
    running.state = turns.noted(running.state.model_copy(update={"head": head}), modes)
