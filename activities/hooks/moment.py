"""run_moment: the hooks of a moment that is no tool call's, run once however often this is tried."""

import asyncio
from collections.abc import Sequence
from pathlib import Path

from pydantic import JsonValue, ValidationError

from activities.hooks.beside import words_of_ended
from activities.hooks.matching import matching_hooks
from activities.hooks.place import HookPlace
from activities.hooks.run import HooksCancelled, Where, run_hooks
from activities.hooks.session_file import keep_current
from activities.stores.contexts import read_context
from activities.stores.journal import CallRecord, effect_key
from activities.world import World
from workflows.contracts.errors import StoreError
from workflows.contracts.extensions import HookDone, HookEvent, HookInput, HookMoment, HookResult, HookRule
from workflows.contracts.messages import Text, ToolUse, clean
from workflows.contracts.settings import SessionContext
from workflows.contracts.transcript import MessageBody, NoticeBody, OutcomeBody
from workflows.core.hook_answers import why

MOMENTS = (
    HookEvent.SESSION_START,
    HookEvent.USER_PROMPT_SUBMIT,
    HookEvent.POST_TOOL_BATCH,
    HookEvent.STOP,
    HookEvent.STOP_FAILURE,
    HookEvent.SESSION_END,
)
"""Events whose hooks the workflow asks for; all others belong to a call."""

_LISTENING = (HookEvent.USER_PROMPT_SUBMIT, HookEvent.STOP)
"""Moments at which the model hears of async hooks that have ended."""

_MOST_WHY = 1_000


def moments_of(rules: Sequence[HookRule]) -> tuple[str, ...]:
    """The moments that have hooks: only for them the workflow schedules anything."""
    told = _LISTENING if any(rule.is_async for rule in rules) else ()
    return tuple(event.value for event in MOMENTS if event in told or any(rule.event == event for rule in rules))


async def run_moment(world: World, request: HookMoment) -> HookDone:
    """Run the hooks and write a notice of what they did. Raises StoreError or ChainError."""
    try:
        result = await said_at(world, request)
    except HooksCancelled:
        return HookDone(head=request.head, stopped="the person interrupted while hooks ran")
    if not result.records and not result.context and not result.blocks:
        return HookDone(head=request.head)
    head = await world.transcript.append(request.head, request.at, (_notice(request, result),))
    return HookDone(head=head, blocked=_blocked(request, result), stopped=_stopped(request, result), cost=result.cost)


async def said_at(world: World, request: HookMoment) -> HookResult:
    """What they said, found again when an earlier attempt could not report it. Raises HooksCancelled."""
    context = await read_context(world.store, request.context)
    known = (*context.hooks, *context.settings.hooks)
    rules = matching_hooks(known, request.event, request.target)
    listens = request.event in _LISTENING and any(rule.is_async for rule in known)
    if not rules and not listens:
        return HookResult()
    place = f"{request.event}.{request.turn}.{request.number}"
    record = world.journal.call(
        request.session, effect_key(request.session, request.exchange, place, request.event, "{}")
    )
    async with record.lock():
        if (earlier := record.read_outcome()) is not None:
            return HookResult.model_validate(earlier["result"])
        result = await _run(world, request, context, record, rules) if rules else HookResult()
        if listens:
            words = await asyncio.to_thread(words_of_ended, world, request.session, record.key)
            result = _with_words(request, result, words)
        record.write_outcome({"result": result.model_dump(mode="json")})
        return result


def _with_words(request: HookMoment, result: HookResult, words: str) -> HookResult:
    """What async hooks say goes with a prompt; without one it keeps the turn going."""
    if not words:
        return result
    if request.event != HookEvent.STOP:
        return result.model_copy(update={"context": "\n".join(filter(None, (result.context, words)))})
    reason = "\n".join(filter(None, (result.reason if result.blocks else "", words)))
    return result.model_copy(update={"blocks": True, "reason": reason, "by": result.by or "that ran beside the work"})


async def _run(
    world: World, request: HookMoment, context: SessionContext, record: CallRecord, rules: Sequence[HookRule]
) -> HookResult:
    cwd = Path(request.cwd or context.cwd)
    settings = context.settings
    project = Path(context.cwd)
    place = HookPlace(world, request.session, record.key, record.path, cwd, project, settings.model, settings.base_url)
    given = HookInput(
        session_id=request.session,
        transcript_path=str(await keep_current(world, request.session, request.head)),
        cwd=str(cwd),
        hook_event_name=request.event,
        permission_mode=request.mode.value,
        prompt_id=request.prompt,
        facts={**request.facts, **await _facts(world, request, context)},
    )
    return await run_hooks(place, rules, given, Where(request.turn, request.exchange))


async def _facts(world: World, request: HookMoment, context: SessionContext) -> dict[str, JsonValue]:
    """What the event adds to the common input, as far as store and chain know it."""
    match request.event:
        case HookEvent.SESSION_START:
            return {"source": request.target, "model": context.settings.model}
        case HookEvent.USER_PROMPT_SUBMIT:
            return {"prompt": (await world.store.get(request.prompt)).decode("utf-8", "replace")}
        case HookEvent.POST_TOOL_BATCH:
            return {"tool_calls": await _calls(world, request)}
        case HookEvent.STOP | HookEvent.STOP_FAILURE:
            return {"last_assistant_message": await _last_words(world, request)}
        case _:
            return {}


async def _calls(world: World, request: HookMoment) -> list[JsonValue]:
    """The calls of the newest reply and what they gave."""
    body = (await world.transcript.entry(request.entry)).body
    uses = [block for block in body.blocks if isinstance(block, ToolUse)] if isinstance(body, MessageBody) else []
    calls: list[JsonValue] = []
    for digest in request.outcomes:
        try:
            outcome = OutcomeBody.model_validate_json(await world.store.get(digest))
        except (StoreError, ValidationError):
            continue
        use = uses[outcome.place] if outcome.place < len(uses) else None
        given = outcome.updated_input or (use.input if use else {})
        text = "\n".join(block.text for block in outcome.content if isinstance(block, Text))
        calls.append(
            {"tool_name": outcome.tool, "tool_input": given, "tool_use_id": outcome.call, "tool_response": text}
        )
    return calls


async def _last_words(world: World, request: HookMoment) -> str:
    if not request.entry:
        return ""
    body = (await world.transcript.entry(request.entry)).body
    blocks = body.blocks if isinstance(body, MessageBody) else ()
    return "\n".join(block.text for block in blocks if isinstance(block, Text))


def _notice(request: HookMoment, result: HookResult) -> NoticeBody:
    """What they did; what they tell the model is shown to it."""
    data: dict[str, JsonValue] = {
        "event": request.event.value,
        "turn": request.turn,
        "hooks": [record.model_dump(mode="json") for record in result.records],
    }
    if result.context:
        return NoticeBody(what="hooks", text=f"[{request.event} hook] {result.context}", shown=True, data=data)
    hooks = ", ".join(record.hook for record in result.records)
    return NoticeBody(what="hooks", text=clean(f"{request.event}: {hooks}")[:300], data=data)


def _blocked(request: HookMoment, result: HookResult) -> str:
    if not result.blocks or request.event == HookEvent.POST_TOOL_BATCH:
        return ""
    return clean(why(result))[:_MOST_WHY]


def _stopped(request: HookMoment, result: HookResult) -> str:
    """`continue: false`, or a no after a batch of calls: the turn ends."""
    ends = result.stops or (result.blocks and request.event == HookEvent.POST_TOOL_BATCH)
    return clean(why(result))[:_MOST_WHY] if ends else ""
