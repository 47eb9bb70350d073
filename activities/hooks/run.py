"""run_hooks: the hooks of one moment side by side, and what they decided together."""

import asyncio
import json
import logging
from collections.abc import Sequence
from dataclasses import dataclass, replace

from activities.hooks.beside import note_beside
from activities.hooks.command import end_hooks, run_command_hook, start_beside
from activities.hooks.http import run_http_hook
from activities.hooks.matching import matcher_fault
from activities.hooks.place import Ended, HookPlace
from activities.hooks.prompt import run_prompt_hook
from activities.hooks.protocol import BadAnswer, answer_of
from activities.processes.claim import is_taken
from activities.settings.scripts import changed_script
from workflows.contracts.events import Notice
from workflows.contracts.extensions import HookAnswer, HookEvent, HookInput, HookKind, HookRecord, HookResult, HookRule
from workflows.contracts.messages import clean
from workflows.contracts.permissions import Decision
from workflows.core.hook_answers import Answered, merged
from workflows.core.hook_events import facts_of
from workflows.core.hook_rules import SHELLS

log = logging.getLogger(__name__)

_MOST_REASON = 1_000


class HooksCancelled(Exception):
    """The person interrupted while hooks ran; they were ended."""


@dataclass(frozen=True)
class Where:
    """Where in a session the events of a moment belong."""

    turn: int = 0
    exchange: int = 0


async def run_hooks(
    place: HookPlace, rules: Sequence[HookRule], given: HookInput, where: Where | None = None
) -> HookResult:
    """Run these hooks, of which none twice, and tell watchers what they did. Raises HooksCancelled.

    A hook that fails at an event that guards refuses; any other failure is told and stops nothing.
    """
    written = json.dumps(given.as_json(), ensure_ascii=False).encode("utf-8", "replace")
    jobs = [asyncio.ensure_future(_answered(place, rule, written)) for rule in rules]
    stop = asyncio.ensure_future(place.world.beat().cancelled.wait())
    try:
        all_jobs = asyncio.ensure_future(_all(jobs))
        await asyncio.wait({all_jobs, stop}, return_when=asyncio.FIRST_COMPLETED)
        if not all_jobs.done():
            await end_hooks(place.folder)
            raise HooksCancelled
        result = merged(all_jobs.result())
    finally:
        stop.cancel()
        for job in jobs:
            job.cancel()
        await asyncio.gather(*jobs, return_exceptions=True)
    _tell(place, result, where or Where())
    return result


async def _all(jobs: Sequence["asyncio.Future[Answered]"]) -> list[Answered]:
    return await asyncio.gather(*jobs)


async def _answered(place: HookPlace, rule: HookRule, given: bytes) -> Answered:
    if (changed := await asyncio.to_thread(_changed, place, rule)) is not None:
        return _failed(place, rule, changed)
    if rule.is_async and rule.kind == HookKind.COMMAND:
        await asyncio.to_thread(note_beside, place, rule)
        why = await start_beside(place, rule, given)
        return _failed(place, rule, Ended(failure="crash" if why else "", text=why)) if why else _beside(place, rule)
    ended = await _ended(place, rule, given)
    if ended.answer is not None:
        answer = await asyncio.to_thread(_masked, place, ended.answer)
        return Answered(_record(place, rule, ended, answer), answer)
    if ended.said is None:
        return _failed(place, rule, replace(ended, text=place.world.masker(place.session).text(ended.text)))
    try:
        answer = await asyncio.to_thread(_masked, place, answer_of(rule.event, ended.said))
    except BadAnswer as error:
        return _failed(place, rule, Ended(None, "bad_answer", str(error), ended.exit, ended.seconds, ended.crash))
    return Answered(_record(place, rule, ended, answer), answer)


def _changed(place: HookPlace, rule: HookRule) -> Ended | None:
    """A script that the agent may have changed does not run, and guards nothing; one that began has its answer."""
    if rule.kind != HookKind.COMMAND or is_taken(str(place.folder_of(rule))):
        return None
    why = changed_script(place.world.home, rule, place.cwd, place.project)
    return Ended(failure="changed", text=why) if why else None


def _masked(place: HookPlace, answer: HookAnswer) -> HookAnswer:
    """The answer without secrets in what the model, the store and watchers are told; a new input stays as it is."""
    mask = place.world.masker(place.session).text
    words = ("reason", "context", "stop_reason", "message")
    changed: dict[str, object] = {name: mask(getattr(answer, name)) for name in words if getattr(answer, name)}
    if answer.output:
        changed["output"] = mask(answer.output)
    return answer.model_copy(update=changed)


async def _ended(place: HookPlace, rule: HookRule, given: bytes) -> Ended:
    if fault := matcher_fault(rule):
        return Ended(failure="bad_matcher", text=fault)
    if rule.refused:
        return Ended(failure="not_allowed", text=rule.refused)
    match rule.kind:
        case HookKind.COMMAND if rule.shell not in SHELLS:
            return Ended(failure="unsupported", text=f"there is no shell {rule.shell!r} for hooks")
        case HookKind.COMMAND if rule.command:
            return await run_command_hook(place, rule, given)
        case HookKind.HTTP:
            return await run_http_hook(place, rule, given)
        case HookKind.PROMPT if rule.prompt:
            return await run_prompt_hook(place, rule, given)
        case HookKind.COMMAND | HookKind.PROMPT:
            return Ended(failure="missing", text="its settings name nothing that could be run; see perdure hooks list")
        case _:
            return Ended(failure="unsupported", text=f"hooks of the type {rule.kind.value} cannot run yet")


def _beside(place: HookPlace, rule: HookRule) -> Answered:
    return Answered(_record(place, rule, Ended(text="runs beside the work"), HookAnswer()), HookAnswer())


def _failed(place: HookPlace, rule: HookRule, ended: Ended) -> Answered:
    """A hook that said nothing that counts: at a guard that is a no."""
    if not facts_of(rule.event).guards or rule.is_async:
        answer = HookAnswer(message=f"hook {rule.label} failed: {ended.text}")
    else:
        reason = f"it failed ({ended.text}), and a guard that fails refuses"
        is_call = rule.event == HookEvent.PRE_TOOL_USE
        answer = HookAnswer(decision=Decision.DENY if is_call else None, blocks=not is_call, reason=reason)
    return Answered(_record(place, rule, ended, answer), answer)


def _record(place: HookPlace, rule: HookRule, ended: Ended, answer: HookAnswer) -> HookRecord:
    decided = answer.decision.value if answer.decision else "block" if answer.blocks else ""
    words = answer.stop_reason or answer.reason or answer.message or ended.text
    return HookRecord(
        event=rule.event,
        hook=clean(place.world.masker(place.session).text(rule.label)),
        kind=rule.kind.value,
        source=rule.source,
        decision="stop" if answer.stops else decided,
        exit=ended.exit,
        seconds=ended.seconds,
        text=clean(words)[:_MOST_REASON],
        failure=ended.failure,
        crash=ended.crash,
        updated=answer.updated_input is not None or answer.output is not None,
        told=answer.told,
        cost=ended.cost,
    )


def _tell(place: HookPlace, result: HookResult, where: Where) -> None:
    """Say on the feed what a person should hear: failures, words for them, parts without effect."""
    words = [*result.messages]
    for record in result.records:
        if record.failure and record.decision:
            words.append(f"hook {record.hook} refused: {record.text}")
        words += [f"hook {record.hook}: {told}" for told in record.told]
    for text in dict.fromkeys(words):
        log.info("session %s: %s", place.session, text)
        notice = Notice(turn=where.turn, exchange=where.exchange, what="hook", text=clean(text)[:_MOST_REASON])
        place.world.publish(place.session, notice)
