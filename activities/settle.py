"""settle: write what waits and a notice, at the end of a turn, at an interrupt, at close."""

import asyncio
import json

from pydantic import JsonValue, ValidationError

from activities.stores.index import note_head
from activities.world import World
from workflows.contracts.errors import StoreError
from workflows.contracts.events import Happened, Notice, SessionClosed, TurnEnded
from workflows.contracts.session import SetMode, TurnEnd
from workflows.contracts.session_steps import Settled, SettleRequest
from workflows.contracts.transcript import Body, NoticeBody, OutcomeBody
from workflows.core.budgets import within_budget
from workflows.core.pending import bodies, uncounted
from workflows.core.unstored import Unstored, calls_of


async def settle(world: World, request: SettleRequest) -> Settled:
    """Append outcomes, results, prompts and the notice; the same request gives the same entries.

    An outcome or prompt that cannot be read is told where it would stand: nothing but an unreadable chain is final.
    """
    outcomes, whole = within_budget(await _outcomes(world, request))
    await asyncio.gather(*map(world.store.put, whole))
    prompts = [await _prompt(world, digest) for digest in request.prompts]
    heard = [await _heard(world, digest) for digest in request.notices]
    heard += uncounted(request.unkept)
    entries = bodies(outcomes, prompts, notices=heard, turn=request.turn, exchange=request.exchange)
    head = await world.transcript.append(request.head, request.at, (*entries, *_notices(request)))
    note_head(world.home, request.session, head, request.at, request.what)
    _tell(world, request, head)
    return Settled(head=head)


async def _outcomes(world: World, request: SettleRequest) -> list[OutcomeBody]:
    """The outcome of every call of the reply, in call order; those without a stored one get one that says why."""
    read = [await _stored(world, digest) for digest in request.waiting]
    found = [body for body in read if isinstance(body, OutcomeBody)]
    if not (request.unanswered or request.lost or request.beyond or len(found) < len(read)):
        return sorted(found, key=_order)
    reply = (await world.transcript.entry(request.entry)).body
    unstored = Unstored(
        turn=request.turn,
        exchange=request.exchange,
        at=request.at,
        unanswered=request.unanswered,
        lost=request.lost,
        beyond=request.beyond,
        unreadable=_unreadable(request, read, len(calls_of(reply))),
    )
    return sorted([*found, *unstored.outcomes(reply)], key=_order)


async def _stored(world: World, digest: str) -> OutcomeBody | str:
    """A stored outcome, or why it cannot be read."""
    try:
        return OutcomeBody.model_validate_json(await world.store.get(digest))
    except (StoreError, ValidationError) as error:
        why = str(error) if isinstance(error, StoreError) else "it is none"
        return f"the stored outcome {digest} cannot be read ({why})"


def _unreadable(request: SettleRequest, read: list[OutcomeBody | str], calls: int) -> dict[int, str]:
    """Places of outcomes that cannot be read: what waits stands in call order, at the places that no other list has."""
    known = {*request.unanswered, *request.lost, *(body.place for body in read if isinstance(body, OutcomeBody))}
    free = [place for place in range(calls - request.beyond) if place not in known]
    return dict(zip(free, [why for why in read if isinstance(why, str)], strict=False))


def _order(body: OutcomeBody) -> tuple[int, int]:
    return body.exchange, body.place


async def _prompt(world: World, digest: str) -> str:
    try:
        return (await world.store.get(digest)).decode("utf-8", errors="replace")
    except StoreError as error:
        return f"[prompt {digest} cannot be read: {error}]"


async def _heard(world: World, digest: str) -> NoticeBody:
    """What a task told, or that it cannot be read."""
    try:
        return NoticeBody.model_validate_json(await world.store.get(digest))
    except (StoreError, ValidationError) as error:
        why = str(error) if isinstance(error, StoreError) else "it is none"
        text = f"[what a background task told, {digest}, cannot be read: {why}]"
        return NoticeBody(what="task_lost", text=text, shown=True)


def _notices(request: SettleRequest) -> list[Body]:
    notices: list[Body] = [
        NoticeBody(what="mode_changed", text=_mode(each), data=_data(each)) for each in request.modes
    ]
    if request.what != "mode_changed":
        data: dict[str, JsonValue] = {
            "turn": request.turn,
            "end": request.end.value if request.end else "",
            "totals": json.loads(request.totals.model_dump_json()),
        }
        if request.left:
            data["tasks_left"] = list(request.left)
        if request.unwritten or request.why:
            data |= {"unwritten": list(request.unwritten), "why": request.why}
        notices.append(NoticeBody(what=request.what, text=request.text, shown=request.shown, data=data))
    return notices


def _mode(change: SetMode) -> str:
    before = f", after {change.unkept} changes that were not kept" if change.unkept else ""
    return f"mode is now {change.mode.value}{before}"


def _data(change: SetMode) -> dict[str, JsonValue]:
    """The change with what its signature covers, so that a reader can check who made it."""
    given = {"request": change.request, "by": change.by, "signature": change.signature, "approval": change.approval}
    return {"mode": change.mode.value, **{name: text for name, text in given.items() if text}}


def _tell(world: World, request: SettleRequest, head: str) -> None:
    events: list[Happened] = [
        Notice(turn=request.turn, what="mode_changed", text=_mode(each)) for each in request.modes
    ]
    if request.what in {"turn_ended", "interrupted"}:
        end = request.end or TurnEnd.DONE
        error = request.text if request.what == "turn_ended" else ""
        events.append(
            TurnEnded(
                turn=request.turn,
                exchange=request.exchange,
                reason=end.value,
                error=error,
                totals=request.totals,
                head=head,
            )
        )
    if request.what == "closed":
        events.append(SessionClosed(turn=request.turn, reason=request.text, head=head))
    world.publish(request.session, *events)
