"""Which calls of one reply may run side by side."""

from collections.abc import Sequence

from workflows.contracts.session import CallState, OpenCall


def next_batch(calls: Sequence[OpenCall], at_once: int) -> tuple[int, ...]:
    """Places of the calls to run now: the next safe ones in a row side by side, any other alone.

    Empty when all are done, the next one waits for a person's answer, or as many questions as `at_once` are open.
    """
    batch: list[int] = []
    at_once -= sum(call.state == CallState.ASKED for call in calls)
    for place, call in enumerate(calls):
        if call.state == CallState.DONE:
            continue
        if not call.ref.beside:
            return tuple(batch) if batch or not _runs(call) or _open_before(calls, place) else (place,)
        if _runs(call) and (call.state == CallState.ANSWERED or len(batch) < at_once):
            batch.append(place)
    return tuple(batch)


def _runs(call: OpenCall) -> bool:
    return call.state in {CallState.PENDING, CallState.ANSWERED}


def _open_before(calls: Sequence[OpenCall], place: int) -> bool:
    return any(call.state != CallState.DONE for call in calls[:place])
