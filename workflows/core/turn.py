"""next_step(state) -> Step: the whole loop as one function."""

from dataclasses import dataclass
from functools import reduce

from workflows.contracts.model import ModelReply, ModelRequest
from workflows.contracts.session import (
    CallState,
    OpenCall,
    Prompt,
    SessionState,
    SetMode,
    Totals,
    Turn,
    TurnEnd,
)
from workflows.contracts.settings import Thresholds
from workflows.contracts.tools import CallStatus, ToolDone
from workflows.core.directives import apply, told
from workflows.core.recovery import after_reply
from workflows.core.tool_batches import next_batch

MOST_KEPT_GOING = 8
"""Times in one turn that hooks may keep it from ending (spec 09 B)."""


@dataclass(frozen=True)
class Rest:
    """Nothing to do until somebody says something."""


@dataclass(frozen=True)
class StartTurn:
    """Take the next prompt out of the queue."""


@dataclass(frozen=True)
class AskModel:
    """Ask the model; what waits goes with it."""


@dataclass(frozen=True)
class RunTools:
    """Run the calls at these places, side by side."""

    places: tuple[int, ...]


@dataclass(frozen=True)
class AwaitApproval:
    """Wait for a person."""


@dataclass(frozen=True)
class EndTurn:
    """Write what waits, and how the turn ended."""

    end: TurnEnd


@dataclass(frozen=True)
class NoteModes:
    """Write mode changes into the chain."""


@dataclass(frozen=True)
class CloseSession:
    """Write the last notice and end."""


Step = Rest | StartTurn | AskModel | RunTools | AwaitApproval | EndTurn | NoteModes | CloseSession


def next_step(state: SessionState, thresholds: Thresholds, *, once: bool = False) -> Step:
    """What this session does now."""
    if state.turn is None:
        return _between_turns(state, once=once)
    turn = state.turn
    if state.interrupt or state.closing:
        return EndTurn(TurnEnd.INTERRUPTED)
    if turn.end:
        return EndTurn(turn.end)
    if places := next_batch(turn.calls, thresholds.side_by_side):
        return RunTools(places)
    if any(call.state != CallState.DONE for call in turn.calls):
        return AwaitApproval()
    if turn.answered:
        return EndTurn(TurnEnd.DENIED if turn.denied else TurnEnd.DONE)
    if limit := _limit(state, turn, thresholds):
        return EndTurn(limit)
    return AskModel()


def _between_turns(state: SessionState, *, once: bool) -> Step:
    if state.modes:
        return NoteModes()
    if state.closing:
        return CloseSession()
    if state.queue or (state.notices and not once):
        return StartTurn()
    return CloseSession() if once and state.turns else Rest()


def _limit(state: SessionState, turn: Turn, thresholds: Thresholds) -> TurnEnd | None:
    if thresholds.exchanges_per_turn and turn.exchanges >= thresholds.exchanges_per_turn:
        return TurnEnd.EXCHANGES
    if thresholds.budget and state.totals.cost >= thresholds.budget:
        return TurnEnd.BUDGET
    return None


def started(state: SessionState) -> SessionState:
    """The next prompt's turn has begun; without one that of what tasks told."""
    prompt, *queue = state.queue or (Prompt(digest=""),)
    turn = Turn(number=state.turns + 1, prompt=prompt.digest)
    return state.model_copy(
        update={
            "turn": turn,
            "turns": state.turns + 1,
            "queue": tuple(queue),
            "interrupt": False,
            "title": state.title or prompt.title,
        }
    )


def replied(
    state: SessionState, reply: ModelReply, thresholds: Thresholds, asked: ModelRequest | None = None
) -> SessionState:
    """The model has answered: its calls are open, its tokens are counted, and what it was shown waits no more."""
    turn = _of(state)
    state = state.model_copy(update={"totals": _counted(state.totals, reply), "window": reply.usage.context})
    turn = turn.model_copy(update={"exchanges": turn.exchanges + 1})
    after = after_reply(turn, reply, thresholds)
    if after.set_aside:
        return state.model_copy(update={"turn": after.turn})
    calls = tuple(OpenCall(ref=ref) for ref in reply.calls)
    answered = not calls and not after.goes_on
    turn = after.turn.model_copy(
        update={
            "entry": reply.head,
            "calls": calls,
            "beyond": reply.beyond,
            "prompt": "",
            "answered": answered,
            "discards": (),
            "refusals": (),
        }
    )
    state = state.model_copy(update={"turn": turn, "head": reply.head})
    return state if asked is None else _shown(state, asked)


def _shown(state: SessionState, asked: ModelRequest) -> SessionState:
    state = told(state, len(asked.notices), asked.unkept)
    return state.model_copy(update={"told_mode": asked.mode}) if asked.reminder else state


def ran(state: SessionState, place: int, done: ToolDone) -> SessionState:
    """The call at this place has ended, or asks for a person."""
    turn = _of(state)
    if done.cost:
        totals = state.totals.model_copy(update={"cost": state.totals.cost + done.cost})
        state = state.model_copy(update={"totals": totals})
    if done.status == CallStatus.NEEDS_APPROVAL:
        asked = {"state": CallState.ASKED, "approval": done.approval, "outcome": done.outcome}
        state = state.model_copy(update={"cwd": done.cwd or state.cwd})
        return _with_call(state, place, turn.calls[place].model_copy(update=asked))
    denied = done.status == CallStatus.DENIED
    call = turn.calls[place].model_copy(
        update={
            "state": CallState.DONE,
            "outcome": done.outcome or turn.calls[place].outcome,
            "denied": denied,
            "approval": None,
            "answer": None,
        }
    )
    state = _with_call(state, place, call)
    totals = state.totals
    counted = totals.model_copy(update={"calls": totals.calls + 1, "denials": totals.denials + int(denied)})
    has_worked = done.status == CallStatus.OK
    turn = _of(state).model_copy(update={"denied": denied or (_of(state).denied and not has_worked)})
    state = state.model_copy(update={"turn": turn, "totals": counted, "cwd": done.cwd or state.cwd})
    state = reduce(apply, done.directives, state)
    return failed(state, TurnEnd.HOOK, done.stop) if done.stop else state


def erased(state: SessionState, why: str) -> SessionState:
    """The turn's prompt was refused: it is written nowhere, and the turn ends."""
    state = failed(state, TurnEnd.HOOK, why)
    return state.model_copy(update={"turn": _of(state).model_copy(update={"prompt": ""})})


def kept_going(state: SessionState, words: str) -> SessionState:
    """The turn goes on, though the model had nothing more to do."""
    turn = _of(state)
    changed = {"answered": False, "hidden": words, "kept_going": turn.kept_going + 1}
    return state.model_copy(update={"turn": turn.model_copy(update=changed)})


def waiting(turn: Turn) -> tuple[str, ...]:
    """Digests of outcomes that are not in the chain yet, in call order."""
    return tuple(call.outcome for call in turn.calls if call.outcome)


def unanswered(turn: Turn) -> tuple[int, ...]:
    """Places of calls that never ended."""
    return tuple(place for place, call in enumerate(turn.calls) if call.state != CallState.DONE and not call.outcome)


def lost(turn: Turn) -> tuple[int, ...]:
    """Places of calls that ended and left no outcome."""
    return tuple(place for place, call in enumerate(turn.calls) if call.state == CallState.DONE and not call.outcome)


def why_ended(turn: Turn, end: TurnEnd, thresholds: Thresholds, totals: Totals) -> str:
    """Why the turn ends so, and what went wrong beside; empty when that says nothing more."""
    why = ""
    match end:
        case TurnEnd.EXCHANGES:
            why = f"the turn reached its limit of {thresholds.exchanges_per_turn} exchanges (--max-turns)"
        case TurnEnd.BUDGET:
            spent, budget = totals.cost / 1_000_000, thresholds.budget / 1_000_000
            why = f"the session has cost ${spent:.2f} of a budget of ${budget:.2f} (--max-budget-usd)"
        case TurnEnd.DENIED:
            why = "a call was denied and none has worked since; allow it by a rule, a mode or an approval"
        case _:
            pass
    return "; ".join(filter(None, (why, turn.error)))


def warned(state: SessionState, words: str) -> SessionState:
    """Something went wrong that ends no turn: it is told with the end, where no other error is."""
    turn = _of(state)
    return state if turn.error else state.model_copy(update={"turn": turn.model_copy(update={"error": words[:300]})})


def failed(state: SessionState, end: TurnEnd, error: str) -> SessionState:
    """The turn cannot go on."""
    turn = _of(state).model_copy(update={"end": end, "error": error[:300]})
    return state.model_copy(update={"turn": turn})


def ended(state: SessionState, end: TurnEnd, head: str, error: str = "") -> SessionState:
    """The turn is over and everything of it is in the chain."""
    return state.model_copy(
        update={
            "turn": None,
            "head": head,
            "interrupt": False,
            "last_end": end,
            "last_error": (error or _of(state).error)[:300],
            "waiting_for": "",
        }
    )


def noted(state: SessionState, modes: tuple[SetMode, ...]) -> SessionState:
    """These mode changes are in the chain; later ones still wait."""
    same = next((place for place, pair in enumerate(zip(state.modes, modes, strict=False)) if pair[0] != pair[1]), None)
    if same is None:
        return state.model_copy(update={"modes": state.modes[len(modes) :]})
    # The one that was crowded out meanwhile has been written after all.
    newest = state.modes[same].model_copy(update={"unkept": max(0, state.modes[same].unkept - 1)})
    return state.model_copy(update={"modes": (newest, *state.modes[same + 1 :])})


def reply_lost(state: SessionState) -> SessionState:
    """A reply was ended on the way: its number is used up, and it may have been billed."""
    totals = state.totals
    return state.model_copy(
        update={"totals": totals.model_copy(update={"exchanges": totals.exchanges + 1, "unknown": totals.unknown + 1})}
    )


def _of(state: SessionState) -> Turn:
    if state.turn is None:
        raise ValueError("no turn runs")
    return state.turn


def _with_call(state: SessionState, place: int, call: OpenCall) -> SessionState:
    turn = _of(state)
    calls = (*turn.calls[:place], call, *turn.calls[place + 1 :])
    return state.model_copy(update={"turn": turn.model_copy(update={"calls": calls})})


def _counted(totals: Totals, reply: ModelReply) -> Totals:
    return totals.model_copy(
        update={
            "exchanges": totals.exchanges + 1,
            "usage": totals.usage.plus(reply.usage),
            "cost": totals.cost + (reply.cost or 0),
            "unpriced": totals.unpriced + int(reply.cost is None),
            "unknown": totals.unknown + reply.unknown,
        }
    )
