"""settle: write what waits and a notice, at the end of a turn, at an interrupt, at close."""

import json

from activities.stores.index import note_head
from activities.world import World
from workflows.contracts.events import Happened, Notice, SessionClosed, TurnEnded
from workflows.contracts.messages import Text, ToolUse, clean
from workflows.contracts.permissions import Decision, Verdict
from workflows.contracts.session import Settled, SettleRequest, TurnEnd
from workflows.contracts.tools import CallStatus
from workflows.contracts.transcript import Body, MessageBody, NoticeBody, OutcomeBody, canonical, digest_of
from workflows.core.pending import bodies

_NEVER_RAN = "[not run: the turn ended first]"
_CUT_OFF = "[not run: the reply was cut off inside this call, and the turn ended]"
_ENDED = Verdict(decision=Decision.DENY, by="tool", text="the turn ended before the call was decided")


async def settle(world: World, request: SettleRequest) -> Settled:
    """Append outcomes, results, prompts and the notice; the same request gives the same entries."""
    outcomes = [OutcomeBody.model_validate_json(await world.store.get(digest)) for digest in request.waiting]
    outcomes = sorted([*outcomes, *await _unanswered(world, request)], key=lambda body: (body.exchange, body.place))
    prompts = [(await world.store.get(digest)).decode("utf-8", errors="replace") for digest in request.prompts]
    entries = bodies(outcomes, prompts, turn=request.turn, exchange=request.exchange)
    head = await world.transcript.append(request.head, request.at, (*entries, *_notices(request)))
    note_head(world.home, request.session, head, request.at, request.what)
    _tell(world, request, head)
    return Settled(head=head)


async def _unanswered(world: World, request: SettleRequest) -> list[OutcomeBody]:
    """Calls that never ran get an outcome that says so: every call has exactly one."""
    if not request.unanswered:
        return []
    body = (await world.transcript.entry(request.entry)).body
    uses = [block for block in body.blocks if isinstance(block, ToolUse)] if isinstance(body, MessageBody) else []
    return [_never_ran(request, place, uses[place]) for place in request.unanswered if place < len(uses)]


def _never_ran(request: SettleRequest, place: int, use: ToolUse) -> OutcomeBody:
    return OutcomeBody(
        turn=request.turn,
        exchange=request.exchange,
        place=place,
        tool=clean(use.name),
        call=use.id,
        digest=digest_of(canonical({"tool": use.name, "input": use.input})),
        verdict=_ENDED,
        status=CallStatus.BROKEN if use.cut_off else CallStatus.CANCELLED,
        content=(Text(text=_CUT_OFF if use.cut_off else _NEVER_RAN),),
        is_error=True,
        started=request.at,
        ended=request.at,
    )


def _notices(request: SettleRequest) -> list[Body]:
    notices: list[Body] = [
        NoticeBody(what="mode_changed", text=f"mode is now {mode.value}", data={"mode": mode.value})
        for mode in request.modes
    ]
    if request.what != "mode_changed":
        notices.append(
            NoticeBody(
                what=request.what,
                text=request.text,
                shown=request.shown,
                data={
                    "turn": request.turn,
                    "end": request.end.value if request.end else "",
                    "totals": json.loads(request.totals.model_dump_json()),
                },
            )
        )
    return notices


def _tell(world: World, request: SettleRequest, head: str) -> None:
    events: list[Happened] = [
        Notice(turn=request.turn, what="mode_changed", text=f"mode is now {mode.value}") for mode in request.modes
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
