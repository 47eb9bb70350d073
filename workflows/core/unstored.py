"""Outcomes of calls that stored none: never run, lost, unreadable, or too many in one reply."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from workflows.contracts.digests import call_digest
from workflows.contracts.messages import Text, ToolUse, clean
from workflows.contracts.model import MOST_CALLS
from workflows.contracts.permissions import Decision, Verdict
from workflows.contracts.tools import CallStatus
from workflows.contracts.transcript import Body, MessageBody, OutcomeBody

_NEVER_RAN = "[not run: the turn ended first]"
_CUT_OFF = "[not run: the reply was cut off inside this call, and the turn ended]"
_TOO_MANY = f"a reply may make at most {MOST_CALLS} calls"
_BEYOND = f"[not run: a reply may make at most {MOST_CALLS} calls; make this one again in another reply]"
_LOST = "Outcome unknown: {why}. It may have done all, a part or nothing: look before you call it again."
_NOBODY_SAW = "nobody could learn from its host how it ended"


@dataclass(frozen=True)
class Unstored:
    """Which calls of one reply have no outcome in the store."""

    turn: int
    exchange: int
    at: str
    unanswered: tuple[int, ...] = ()
    """Places of those that never ran."""
    lost: tuple[int, ...] = ()
    """Places of those that ended where nobody saw it."""
    beyond: int = 0
    """So many after the first MOST_CALLS."""
    unreadable: Mapping[int, str] = field(default_factory=dict)
    """Why the stored outcome of a place cannot be read."""

    def outcomes(self, reply: Body) -> list[OutcomeBody]:
        """One for each of them, in call order: every call has exactly one."""
        uses = calls_of(reply)
        return sorted(self._made(uses), key=lambda body: body.place)

    def _made(self, uses: tuple[ToolUse, ...]) -> Iterator[OutcomeBody]:
        for place, use in _at(uses, self.unanswered):
            text = _CUT_OFF if use.cut_off else _NEVER_RAN
            status = CallStatus.BROKEN if use.cut_off else CallStatus.CANCELLED
            yield self._outcome(place, use, status, text, "the turn ended before the call was decided")
        for place, use in _at(uses, range(MOST_CALLS, MOST_CALLS + self.beyond)):
            yield self._outcome(place, use, CallStatus.BROKEN, _BEYOND, _TOO_MANY)
        for place, use in _at(uses, self.lost):
            yield self._lost(place, use, _NOBODY_SAW)
        for place, use in _at(uses, self.unreadable):
            yield self._lost(place, use, self.unreadable[place])

    def _lost(self, place: int, use: ToolUse, why: str) -> OutcomeBody:
        text = _LOST.format(why=why)
        body = self._outcome(place, use, CallStatus.UNKNOWN, text, "what was decided about the call is not known")
        return body.model_copy(update={"crash": "unknown"})

    def _outcome(self, place: int, use: ToolUse, status: CallStatus, text: str, why: str) -> OutcomeBody:
        return OutcomeBody(
            turn=self.turn,
            exchange=self.exchange,
            place=place,
            tool=clean(use.name),
            call=use.id,
            digest=call_digest(use.name, use.input),
            verdict=Verdict(decision=Decision.DENY, by="tool", text=why),
            status=status,
            content=(Text(text=clean(text)),),
            is_error=True,
            started=self.at,
            ended=self.at,
        )


def calls_of(reply: Body) -> tuple[ToolUse, ...]:
    """The calls of a reply by place; none of anything else."""
    blocks = reply.blocks if isinstance(reply, MessageBody) else ()
    return tuple(block for block in blocks if isinstance(block, ToolUse))


def _at(uses: tuple[ToolUse, ...], places: Iterable[int]) -> Iterator[tuple[int, ToolUse]]:
    return ((place, uses[place]) for place in places if place < len(uses))
