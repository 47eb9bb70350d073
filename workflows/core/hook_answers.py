"""What several hooks said -> one result: stop before deny before ask before allow."""

from collections.abc import Sequence
from dataclasses import dataclass

from workflows.contracts.extensions import HookAnswer, HookRecord, HookResult
from workflows.contracts.permissions import Decision, Verdict

_SHORT = 60
_ORDER = (Decision.DENY, Decision.ASK, Decision.ALLOW)


@dataclass(frozen=True)
class Answered:
    """One hook's record and answer."""

    record: HookRecord
    answer: HookAnswer


def merged(answered: Sequence[Answered]) -> HookResult:
    """All answers together, in the order of the settings; of several new inputs the last one counts."""
    deciding = _deciding(answered)
    blocking = next((each for each in answered if each.answer.blocks), None)
    stopping = next((each for each in answered if each.answer.stops), None)
    speaker = stopping or deciding or blocking
    judge = deciding or blocking
    inputs = [each.answer.updated_input for each in answered if each.answer.updated_input is not None]
    outputs = [each.answer.output for each in answered if each.answer.output is not None]
    return HookResult(
        decision=deciding.answer.decision if deciding else None,
        by=speaker.record.hook if speaker else "",
        reason=judge.answer.reason if judge else "",
        blocks=blocking is not None,
        stops=stopping is not None,
        stop_reason=stopping.answer.stop_reason if stopping else "",
        updated_input=inputs[-1] if inputs else None,
        context="\n".join(each.answer.context for each in answered if each.answer.context),
        output=outputs[-1] if outputs else None,
        retry=any(each.answer.retry for each in answered),
        messages=tuple(each.answer.message for each in answered if each.answer.message),
        records=tuple(each.record for each in answered),
    )


def _deciding(answered: Sequence[Answered]) -> Answered | None:
    for decision in _ORDER:
        for each in answered:
            if each.answer.decision == decision:
                return each
    return None


def verdict_of(result: HookResult | None) -> Verdict | None:
    """What hooks decided about a call before rules and modes are asked; None when they left it to them."""
    if result is None:
        return None
    decision = Decision.DENY if result.stops else result.decision
    return Verdict(decision=decision, by="hook", rule=result.by, text=why(result)) if decision else None


def why(result: HookResult) -> str:
    """Why they refuse, ask or stop, and which hook says so."""
    reason = result.stop_reason if result.stops else result.reason
    name = result.by if len(result.by) <= _SHORT else f"{result.by[:_SHORT]}…"
    return f"{reason or 'it gave no reason'} (hook {name})"
