"""A session that goes on from an older head: what it takes over from there."""

from collections.abc import Sequence
from dataclasses import dataclass

from pydantic import JsonValue

from activities.stores.contexts import read_context
from activities.transcript import Link
from activities.world import World
from workflows.contracts.messages import Role
from workflows.contracts.session_steps import OpenRequest
from workflows.contracts.settings import SessionContext
from workflows.contracts.transcript import Body, MessageBody, NoticeBody, OutcomeBody
from workflows.core.pending import bodies
from workflows.core.rewind import OPENED
from workflows.core.unstored import Unstored, calls_of


@dataclass(frozen=True)
class TakenUp:
    """What the first entry says, and what stands before it."""

    what: str = "session_opened"
    text: str = ""
    shown: bool = False
    facts: tuple[tuple[str, JsonValue], ...] = ()
    results: tuple[Body, ...] = ()
    """The message that answers the calls of the older head's reply, when none does."""
    context: SessionContext | None = None
    turns: int = 0
    exchanges: int = 0

    def as_context(self, context: SessionContext) -> SessionContext:
        """The same words and tools as before: the provider's cache knows what the older session sent."""
        if self.context is None:
            return context
        return context.model_copy(update={"system": self.context.system, "tools": self.context.tools})


async def taken_up(world: World, request: OpenRequest) -> TakenUp:
    """What the session begins with. Raises StoreError or ChainError when its older head cannot be read."""
    if not request.start:
        return TakenUp(text=f"session {request.session} in {request.cwd}")
    links = await world.transcript.read(request.start)
    text = (
        "[The person took the conversation back to here. What was said and done after this point is not part of it "
        "any more; files may be as they were then or as they are now. Read a file before you change it.]"
    )
    numbers = [link.entry.body for link in links if isinstance(link.entry.body, MessageBody | OutcomeBody)]
    exchanges = [body.exchange for body in numbers if not isinstance(body, MessageBody) or body.role == Role.ASSISTANT]
    return TakenUp(
        what="rewound",
        text=text,
        shown=True,
        facts=(("from", request.start_of), ("start", request.start)),
        results=_results(links, request.at),
        context=await _context(world, links),
        turns=max((body.turn for body in numbers), default=0),
        exchanges=max(exchanges, default=0),
    )


def _results(links: Sequence[Link], at: str) -> tuple[Body, ...]:
    """What the next request of the older session began with: each call of the newest reply needs one result."""
    outcomes: list[OutcomeBody] = []
    for link in reversed(links):
        match link.entry.body:
            case OutcomeBody() as body:
                outcomes.insert(0, body)
            case MessageBody(role=Role.ASSISTANT) as reply:
                known = {body.place for body in outcomes}
                missing = tuple(place for place in range(len(calls_of(reply))) if place not in known)
                made = Unstored(reply.turn, reply.exchange, at, unanswered=missing).outcomes(reply)
                whole = sorted([*outcomes, *made], key=lambda body: body.place)
                entries = bodies(whole, turn=reply.turn, exchange=reply.exchange + 1)
                return (*made, *(entry for entry in entries if isinstance(entry, MessageBody)))
            case MessageBody():
                return ()
            case _:
                continue
    return ()


async def _context(world: World, links: Sequence[Link]) -> SessionContext | None:
    """What the older session was opened with."""
    for link in reversed(links):
        body = link.entry.body
        if isinstance(body, NoticeBody) and body.what in OPENED:
            return await read_context(world.store, str(body.data.get("context", "")))
    return None
