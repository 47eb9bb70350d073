"""What waits to be written when the model is asked: outcomes, their results in one message, a prompt, hidden words."""

import asyncio
from collections.abc import Sequence

from pydantic import ValidationError

from activities.stores.objects import get_many
from activities.transcript import Growth
from activities.world import World
from workflows.contracts.errors import ChainError
from workflows.contracts.messages import clean
from workflows.contracts.model import ModelRequest
from workflows.contracts.transcript import MessageBody, NoticeBody, OutcomeBody
from workflows.core.budgets import within_budget
from workflows.core.pending import bodies, reminded, uncounted
from workflows.core.unstored import Unstored


async def waiting_entries(world: World, request: ModelRequest) -> Growth:
    """Its entries behind the head, not written yet, the same for every attempt. Raises StoreError or ChainError."""
    digests = list(dict.fromkeys(request.waiting))
    read = dict(zip(digests, await get_many(world.store, digests), strict=True))
    outcomes = [_outcome(digest, read[digest]) for digest in request.waiting]
    if request.entry:
        outcomes = sorted([*outcomes, *await _unstored(world, request)], key=lambda body: body.place)
    outcomes, whole = within_budget(outcomes)
    await asyncio.gather(*map(world.store.put, whole))
    prompt = await prompt_text(world, request)
    prompts = [prompt] if prompt else []
    notices = (
        *reminded(request.reminder, str(world.home.plan(request.session))),
        *(await stored_notices(world, request.notices)),
        *uncounted(request.unkept),
    )
    entries = bodies(outcomes, prompts, request.hidden, notices, turn=request.turn, exchange=request.exchange)
    return await world.transcript.grown(request.head, request.at, entries) if entries else Growth(request.head)


async def prompt_text(world: World, request: ModelRequest) -> str:
    """The prompt that starts this turn, empty when none does."""
    if not request.prompt:
        return ""
    return clean((await world.store.get(request.prompt)).decode("utf-8", "replace"))


async def stored_notices(world: World, digests: Sequence[str]) -> list[NoticeBody]:
    """What tasks told, in that order. Raises StoreError."""
    return [_notice(digest, data) for digest, data in zip(digests, await get_many(world.store, digests), strict=True)]


def _notice(digest: str, data: bytes) -> NoticeBody:
    try:
        return NoticeBody.model_validate_json(data)
    except ValidationError as error:
        raise ChainError(f"object {digest} is no notice: {error.errors()[0]['msg']}") from error


async def _unstored(world: World, request: ModelRequest) -> list[OutcomeBody]:
    """Outcomes of calls that stored none: their end was seen by nobody, or the reply made too many."""
    reply = (await world.transcript.entry(request.entry)).body
    exchange = reply.exchange if isinstance(reply, MessageBody) else 0
    where = Unstored(request.turn, exchange, request.at, lost=request.lost, beyond=request.beyond)
    return where.outcomes(reply)


def _outcome(digest: str, data: bytes) -> OutcomeBody:
    try:
        return OutcomeBody.model_validate_json(data)
    except ValidationError as error:
        raise ChainError(f"object {digest} is no outcome of a call: {error.errors()[0]['msg']}") from error
