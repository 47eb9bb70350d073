"""The chain as events: what counts of a session whose event feed is lost or out of reach."""

from collections.abc import Iterable, Iterator
from typing import TypedDict

from pydantic import ValidationError

from cli.watch.model import moment
from workflows.contracts.events import (
    ApprovalAnswered,
    BlockEnded,
    Event,
    ExchangeEnded,
    ExchangeStarted,
    Notice,
    SessionClosed,
    TextDelta,
    ThinkingDelta,
    ToolEnded,
    ToolStarted,
    TurnEnded,
    TurnStarted,
)
from workflows.contracts.messages import Role, Text, Thinking, ToolUse
from workflows.contracts.model import Usage
from workflows.contracts.session import Totals
from workflows.contracts.transcript import EditBody, Entry, MessageBody, NoticeBody, OutcomeBody
from workflows.core.server_blocks import searches

REBUILT = "its events are lost or out of reach; rebuilt from the transcript, without tokens as they came"
_SHOWN = 4096


class Place(TypedDict):
    """Where an event belongs."""

    at: str
    turn: int
    exchange: int
    attempt: int


def events_from_chain(entries: Iterable[Entry]) -> Iterator[Event]:
    """Turns, replies, calls and answers, in the order of the chain, after a notice that says where they are from."""
    yield Notice(what="feed", text=REBUILT)
    turn, uses = 0, dict[tuple[int, int], ToolUse]()
    for entry in entries:
        match entry.body:
            case MessageBody(role=Role.ASSISTANT) as body:
                asked = [block for block in body.blocks if isinstance(block, ToolUse)]
                uses = {(body.exchange, place): use for place, use in enumerate(asked)}
                yield from _reply(entry.at, body, len(asked))
            case MessageBody() as body:
                prompt = "\n".join(block.text for block in body.blocks if isinstance(block, Text))
                if prompt and not body.hidden and body.turn != turn:
                    turn = body.turn
                    yield TurnStarted(at=entry.at, turn=turn, exchange=body.exchange, prompt=prompt[:_SHOWN])
            case OutcomeBody() as body:
                yield from _outcome(entry.at, body, uses.get((body.exchange, body.place)))
            case NoticeBody() as body:
                yield _notice(entry.at, body)
            case EditBody() as body:
                yield Notice(at=entry.at, what=body.what, text=body.text)


def _reply(at: str, body: MessageBody, calls: int) -> Iterator[Event]:
    where = Place(at=body.ended or at, turn=body.turn, exchange=body.exchange, attempt=body.attempt)
    yield ExchangeStarted(**where, model=body.model)
    for number, block in enumerate(body.blocks):
        if isinstance(block, Text | Thinking):
            kind = TextDelta if isinstance(block, Text) else ThinkingDelta
            yield kind(**where, block=number, text=block.text)
            yield BlockEnded(**where, block=number, block_kind=block.kind)
    for search in searches(body.blocks):
        yield Notice(**where, what="web_search", text=search.told)
    yield ExchangeEnded(
        **where, stop=body.stop or "", usage=body.usage or Usage(), cost=body.cost, calls=calls
    )  # fmt: skip


def _outcome(at: str, body: OutcomeBody, use: ToolUse | None) -> Iterator[Event]:
    where = Place(at=body.ended or at, turn=body.turn, exchange=body.exchange, attempt=body.attempt)
    given = (value for value in use.input.values() if isinstance(value, str)) if use else iter(())
    yield ToolStarted(**where, place=body.place, tool=body.tool, summary=next(given, "")[:300])
    for answer in (body.answer, body.hosts.answer if body.hosts else None):
        if answer is not None:
            yield ApprovalAnswered(
                **where, place=body.place, approval=answer.approval, allow=answer.allow, by=answer.by
            )  # fmt: skip
    began, ended = moment(body.started), moment(body.ended)
    yield ToolEnded(
        **where,
        place=body.place,
        tool=body.tool,
        status=body.status.value,
        preview="\n".join(block.text for block in body.content if isinstance(block, Text))[:2048],
        seconds=max(0.0, ended - began) if began is not None and ended is not None else 0,
        crash=body.crash,
    )


def _notice(at: str, body: NoticeBody) -> Event:
    if body.what in {"turn_ended", "interrupted"}:
        turn, end = body.data.get("turn"), body.data.get("end")
        return TurnEnded(
            at=at,
            turn=turn if isinstance(turn, int) else 0,
            reason=str(end or "done"),
            error=body.text if body.what == "turn_ended" else "",
            totals=_totals(body.data.get("totals")),
        )
    if body.what == "closed":
        return SessionClosed(at=at, reason=body.text)
    return Notice(at=at, what=body.what, text=body.text)


def _totals(value: object) -> Totals:
    try:
        return Totals.model_validate(value or {})
    except ValidationError:
        return Totals()
