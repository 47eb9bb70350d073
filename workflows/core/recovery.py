"""A reply, or a model call that failed for good -> go on, ask again, another model, or the end of the turn."""

from dataclasses import dataclass

from workflows.contracts.errors import FailureKind
from workflows.contracts.model import ModelReply, Refusal, StopReason
from workflows.contracts.session import Turn, TurnEnd
from workflows.contracts.settings import Thresholds

GO_ON = (
    "The output limit cut your reply off. Go on exactly where it stopped, without apology or recap, "
    "and do what is left in smaller pieces."
)
"""Hidden message behind a reply that the output cap cut off."""

GO_ON_BROKEN = "The connection broke inside your reply. Go on exactly where it stopped, without recap."
"""Hidden message behind a reply whose stream broke after a complete text."""

MOST_MENDED = 8
"""Refusals of one request that are met by leaving out a picture or document, in the end whole messages of them."""

_ENDS = {
    FailureKind.UNAUTHORIZED: TurnEnd.UNAUTHORIZED,
    FailureKind.NO_KEY: TurnEnd.UNAUTHORIZED,
    FailureKind.BAD_REQUEST: TurnEnd.REFUSED,
    FailureKind.BAD_MEDIA: TurnEnd.REFUSED,
    FailureKind.TOO_LARGE: TurnEnd.REFUSED,
    FailureKind.UNKNOWN_MODEL: TurnEnd.REFUSED,
    FailureKind.TOO_LONG: TurnEnd.TOO_LONG,
    FailureKind.RATE_LIMITED: TurnEnd.OVERLOADED,
    FailureKind.OVERLOADED: TurnEnd.OVERLOADED,
    FailureKind.SERVER: TurnEnd.UNREACHABLE,
    FailureKind.TRANSPORT: TurnEnd.UNREACHABLE,
    FailureKind.STALLED: TurnEnd.UNREACHABLE,
}


@dataclass(frozen=True)
class After:
    """What a reply changes in its turn."""

    turn: Turn
    goes_on: bool = False
    """The model is asked again although the reply has no call."""
    set_aside: bool = False
    """The reply does not count: the same is asked again."""


def after_reply(turn: Turn, reply: ModelReply, thresholds: Thresholds) -> After:
    """A whole reply ends or goes on as it says; one that was cut off is asked again, continued, or ends the turn."""
    if reply.stop == StopReason.MAX_TOKENS:
        return _after_output_cap(turn, reply, thresholds)
    if reply.stop == StopReason.CUT_OFF and not reply.calls:
        return _after_broken_stream(turn, thresholds)
    if any(call.broken for call in reply.calls):
        return _after_broken_call(turn, TurnEnd.FAILED, "the model made a call that cannot be read", thresholds)
    if reply.stop == StopReason.PAUSE_TURN and not reply.calls:
        return After(_fresh(turn), goes_on=True)
    if reply.stop == StopReason.REFUSAL:
        return After(_ended(turn, TurnEnd.REFUSED, "the model refused to answer this request"))
    if reply.stop == StopReason.WINDOW and not reply.calls:
        return After(_ended(turn, TurnEnd.TOO_LONG, "the conversation fills the model's window"))
    if reply.is_empty and not reply.calls:
        return After(_ended(turn, TurnEnd.EMPTY, "the model ended its turn without a word"))
    return After(_fresh(turn))


def _after_output_cap(turn: Turn, reply: ModelReply, thresholds: Thresholds) -> After:
    broken = any(call.broken for call in reply.calls)
    # A small window may have no room for the highest cap, and the next call is a smaller one.
    raised = turn.model_copy(update={"max_tokens": max(turn.max_tokens, thresholds.raised_cap)})
    if reply.calls and not broken:
        return After(_fresh(raised))
    if broken:
        return _after_broken_call(raised, TurnEnd.OUTPUT_CAP, "the output limit cut off a tool call", thresholds)
    if turn.max_tokens < thresholds.escalated_cap:
        discards = (*turn.discards, reply.head)
        raised = turn.model_copy(update={"max_tokens": thresholds.escalated_cap, "discards": discards})
        return After(raised, set_aside=True)
    if turn.cut_offs >= thresholds.continuations:
        error = f"the output limit cut the reply off {turn.cut_offs + 1} times in a row"
        return After(_ended(turn, TurnEnd.OUTPUT_CAP, error))
    return _continued(turn, GO_ON)


def _after_broken_stream(turn: Turn, thresholds: Thresholds) -> After:
    if turn.cut_offs >= thresholds.continuations:
        error = f"the connection broke inside the reply {turn.cut_offs + 1} times in a row"
        return After(_ended(turn, TurnEnd.UNREACHABLE, error))
    return _continued(turn, GO_ON_BROKEN)


def _after_broken_call(turn: Turn, end: TurnEnd, error: str, thresholds: Thresholds) -> After:
    """The model is told once for each, and stopped when it makes the same fault again and again."""
    times = turn.cut_offs + 1
    if times >= thresholds.continuations:
        return After(_ended(turn, end, f"{error}, {times} times in a row"))
    return After(turn.model_copy(update={"cut_offs": times, "hidden": ""}))


def _continued(turn: Turn, words: str) -> After:
    return After(turn.model_copy(update={"cut_offs": turn.cut_offs + 1, "hidden": words}), goes_on=True)


def _fresh(turn: Turn) -> Turn:
    return turn.model_copy(update={"cut_offs": 0, "hidden": ""})


def _ended(turn: Turn, end: TurnEnd, error: str) -> Turn:
    return turn.model_copy(update={"end": end, "error": error, "hidden": ""})


def after_failure(
    turn: Turn, kind: FailureKind | None, message: str, thresholds: Thresholds, *, mends: bool = False
) -> Turn:
    """A model call that failed for good: asked again without what was refused, another model, or the turn's end."""
    if mends and kind and len(turn.refusals) < MOST_MENDED:
        return turn.model_copy(update={"refusals": (*turn.refusals, Refusal(kind=kind, text=message[:120]))})
    if kind == FailureKind.OVERLOADED and turn.fallbacks < len(thresholds.fallback_models):
        model = thresholds.fallback_models[turn.fallbacks]
        return turn.model_copy(update={"model": model, "fallbacks": turn.fallbacks + 1})
    end = _ENDS.get(kind, TurnEnd.FAILED) if kind else TurnEnd.FAILED
    return turn.model_copy(update={"end": end, "error": message[:300]})
