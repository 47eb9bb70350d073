"""run_tool: vet, then run once (journal), post-hooks, trim."""

import asyncio
import logging
import time
from contextlib import suppress
from dataclasses import replace

from activities.hooks.run import HooksCancelled
from activities.safety.secrets import masked_outcome, masked_verdict
from activities.tool import AnyTool, Call, ToolInput
from activities.tool_calls.always import keep_always
from activities.tool_calls.early import taken_early
from activities.tool_calls.hooked import CallHooks, drop_files, has_hooks
from activities.tool_calls.host_answers import taken_up
from activities.tool_calls.host_questions import stored_or_asked
from activities.tool_calls.leads import answered_as_asked, seen_once, told_leads
from activities.tool_calls.opened import Begun, OpenedCall, opened
from activities.tool_calls.opinions import Opinions
from activities.tool_calls.outcomes import Ended, Told, found, stored
from activities.tool_calls.results import cleaned, trim
from activities.tool_calls.vet import refusal, suggestions
from activities.world import World
from workflows.contracts.errors import StepFailure, ToolError, UserError
from workflows.contracts.events import ApprovalAnswered, ApprovalAsked
from workflows.contracts.extensions import HookResult
from workflows.contracts.ids import call_id
from workflows.contracts.messages import Text, clean
from workflows.contracts.permissions import Answer, Approval, Decision, Verdict
from workflows.contracts.tools import CallStatus, Repeat, ToolDone, ToolOutcome, ToolRequest
from workflows.contracts.transcript import canonical
from workflows.core.hook_answers import verdict_of
from workflows.core.suggestions import is_short

log = logging.getLogger(__name__)

_SUMMARY = 160
"""Characters of a question's one line."""
_CONTENT_TOLD = 16 * 1024
"""Bytes of a plan or of questions that watchers are told; the whole is an object of the store."""

_INTERRUPTED = Verdict(decision=Decision.DENY, by="tool", text="it was interrupted before it was decided")
_NOT_DECIDED = Verdict(decision=Decision.DENY, by="tool", text="the call does not fit its tool")


async def run_tool(world: World, request: ToolRequest) -> ToolDone:
    """Run one call of a reply, once however often this is tried; its outcome is stored and named.

    Returns *needs approval* without running when a person must be asked. Raises StoreError or ChainError.
    """
    at = await opened(world, request)
    told = Told(world, request, at)
    if at.tool is None or (at.tool.repeat == Repeat.SAFE and not has_hooks(at)):
        return await _vetted(told, request)
    async with at.record.lock():
        if (earlier := await found(told)) is not None:
            return earlier
        if (asked := await taken_up(told, request)) is not None:
            if asked.status != CallStatus.NEEDS_APPROVAL:
                drop_files(at)
            return asked
        return await _vetted(told, request)


async def _vetted(told: Told, request: ToolRequest) -> ToolDone:
    at = told.at
    if request.broken or at.use.cut_off:
        return await stored(told, _NOT_DECIDED, Ended(broken(request.broken or "cut off by the output limit"), ""))
    try:
        given = at.given()
    except ToolError as error:
        return await stored(told, _NOT_DECIDED, Ended(failed(str(error)), ""))
    tool = at.tool
    if tool is None:
        raise AssertionError("a call without a tool has no input")
    call = at.call(told.world, request, is_repeat=at.record.read_intent() is not None)
    # Before its hooks run: what they look at is what is touched.
    call = await asyncio.to_thread(seen_once, call, tool, given, at.begun())
    try:
        done = await _decided(told, request, CallHooks(told, request, call, tool), given)
        if done.status != CallStatus.NEEDS_APPROVAL:
            drop_files(at)
        return done
    except HooksCancelled:
        return await stored(told, _INTERRUPTED, Ended(cancelled(), ""))
    except _Unfit as error:
        return await stored(told, error.verdict, Ended(denied(error.verdict), ""))


class _Unfit(Exception):
    """A hook gave the call an input that its tool does not take."""

    def __init__(self, verdict: Verdict) -> None:
        super().__init__(verdict.text)
        self.verdict = verdict


async def _decided(told: Told, request: ToolRequest, hooks: CallHooks, given: ToolInput) -> ToolDone:
    call, tool, begun = hooks.call, hooks.tool, told.at.begun()
    opinions = Opinions(call, tool, request.entry, request.mode)
    if begun is None and request.answer is None:
        opinions.begin(given)
    try:
        said = await hooks.before(given, has_begun=begun is not None)
        given = _updated(told, said, given)
    except BaseException:
        opinions.end()
        raise
    at = told.at
    if said.updated_input is not None:
        call = await asyncio.to_thread(seen_once, call, tool, given, begun)
    answer = await answered_as_asked(call, _answer(at, request), request.approval)
    call = replace(call, approval=request.approval, answer=answer)
    hooks = replace(hooks, call=call)
    if begun is not None:
        # It was allowed and may have had its effect: what became of it is told, whatever would be decided now.
        return await _run(told, hooks, given, begun)
    verdict = await opinions.verdict(call, given, answer, verdict_of(said))
    told.facts |= opinions.facts
    if answer is not None:
        told.say(ApprovalAnswered(**told.place(), approval=answer.approval, allow=answer.allow, by=answer.by))
    if verdict.decision == Decision.ASK:
        verdict = await hooks.when_asked(given, verdict)
    if verdict.decision == Decision.ASK:
        try:
            return await _ask(told, hooks, given, verdict)
        except ToolError as error:
            return await stored(told, _NOT_DECIDED, Ended(failed(str(error)), ""))
    if verdict.by == "person":
        told.facts |= await keep_always(call, answer)
    if verdict.decision == Decision.DENY:
        told.denied = told.summary(tool, given)[:300]
        more = await hooks.when_denied(given, verdict)
        return await stored(told, verdict, Ended(denied(verdict, more), ""), answer)
    begun = Begun(verdict=verdict, answer=answer, leads=tuple(map(str, call.leads or ())))
    if tool.repeat != Repeat.SAFE and not call.is_repeat:
        at.begin(request, begun, told.world.engine)
    return await _run(told, hooks, given, begun)


async def _run(told: Told, hooks: CallHooks, given: ToolInput, begun: Begun) -> ToolDone:
    """Run it, unless it was run before; a person may be asked about what it was refused."""
    ended = await _run_once(told, hooks.allowed(begun.verdict), given)
    return await stored_or_asked(told, hooks, given, ended, begun)


def _updated(told: Told, said: HookResult, given: ToolInput) -> ToolInput:
    """The input that counts from here on."""
    if said.updated_input is None:
        return given
    told.at = told.at.with_input(said.updated_input)
    try:
        return told.at.given()
    except ToolError as error:
        by = next((record.hook for record in said.records if record.updated), said.by)
        text = f"hook {by} gave it an input that does not fit: {error}"
        raise _Unfit(Verdict(decision=Decision.DENY, by="hook", rule=by, text=text)) from error


def _answer(at: OpenedCall, request: ToolRequest) -> Answer | None:
    """The person's answer, if it was given for exactly this call."""
    asked, answer = request.approval, request.answer
    if asked is None or answer is None or not (answer.digest == asked.digest == at.bound):
        return None
    if answer.content != asked.content:
        return None
    return answer if answer.approval == call_id(request.exchange, request.place) else None


async def _ask(told: Told, hooks: CallHooks, given: ToolInput, verdict: Verdict) -> ToolDone:
    """The question for the person, with what they must see whole. Raises ToolError when that is not there."""
    request, at, call, tool = told.request, told.at, hooks.call, hooks.tool
    where = await asyncio.to_thread(told.masker.text, told_leads(call, tool, given))
    content = clean("\n".join(filter(None, (where, await tool.content(call, given)))))
    rules = await asyncio.to_thread(suggestions, call, tool, given, hooks.request.mode, verdict)
    if any(told.masker.text(rule) != rule for rule in rules):
        # What is saved is stored before: no secret goes with it.
        rules = ()
    found_pass = hooks.pass_of(masked_verdict(told.masker, verdict)).model_copy(update={"suggestions": rules})
    found_digest = await told.world.store.put(canonical(found_pass.model_dump(mode="json")))
    approval = Approval(
        id=call_id(request.exchange, request.place),
        tool=tool.name,
        summary=_shortened(told.summary(tool, given)),
        digest=at.bound,
        found=found_digest,
        asked_at=request.at,
        reason=clean(told.masker.text(verdict.text))[:120],
        content=await told.world.store.put(content.encode()) if content else "",
        choices=tool.choices(given),
    )
    told.say(
        ApprovalAsked(
            **told.place(),
            tool=tool.name,
            approval=approval.id,
            summary=approval.summary,
            reason=approval.reason,
            content=_beginning(content),
            choices=approval.choices,
            suggestions=rules if is_short(rules) else (),
        )
    )
    await hooks.notify(given)
    return ToolDone(status=CallStatus.NEEDS_APPROVAL, approval=approval, cost=told.cost)


def _shortened(summary: str) -> str:
    return summary if len(summary) <= _SUMMARY else f"{summary[: _SUMMARY - 1]}…"


def _beginning(content: str) -> str:
    """As much of it as an event carries; where that is not all, it says so."""
    data = content.encode()
    if len(data) <= _CONTENT_TOLD:
        return content
    return f"{data[:_CONTENT_TOLD].decode('utf-8', 'ignore')}\n[… {len(data)} bytes; perdure approvals shows all of it]"


async def _run_once(told: Told, hooks: CallHooks, given: ToolInput) -> Ended:
    call, tool, crash = hooks.call, hooks.tool, ""
    if call.is_repeat:
        if tool.repeat == Repeat.ONCE and not tool.attaches:
            return Ended(unknown("the worker died while it ran"), "unknown")
        crash = "attached" if tool.attaches else "repeated"
    elif call.attempt > 1:
        crash = "repeated"
    told.started(told.summary(tool, given)[:300])
    call = told.with_progress(call)
    began = time.monotonic()
    outcome = cleaned(await _until_cancelled(told, call, tool, given))
    outcome = await asyncio.to_thread(masked_outcome, told.masker, outcome)
    with suppress(HooksCancelled):
        outcome = await hooks.after(given, outcome, time.monotonic() - began)
    outcome = await trim(outcome, tool.result_limit, told.world.store)
    return Ended(outcome, "unknown" if outcome.status == CallStatus.UNKNOWN else crash)


async def _until_cancelled(told: Told, call: Call, tool: AnyTool, given: ToolInput) -> ToolOutcome:
    """The tool's outcome; at an interrupt what it gives then."""
    running = asyncio.ensure_future(_outcome(tool, call, given))
    stop = asyncio.ensure_future(told.world.beat().cancelled.wait())
    try:
        await asyncio.wait({running, stop}, return_when=asyncio.FIRST_COMPLETED)
        if running.done():
            return running.result()
        if await tool.cancel(call, given):
            return await running
        running.cancel()
        with suppress(asyncio.CancelledError):
            return await running
        return cancelled()
    finally:
        stop.cancel()
        # Also when this attempt is superseded or its worker stops: a command of its own goes on, its watching ends.
        await _until_over(running)


async def _until_over(running: asyncio.Future[ToolOutcome]) -> None:
    """Cancel it, and let nobody else have the call before nothing of it goes on: a file may still be written."""
    running.cancel()
    while not running.done():
        # However often this attempt itself is cancelled.
        with suppress(asyncio.CancelledError):
            await asyncio.wait({running})
    if not running.cancelled():
        running.exception()


async def _outcome(tool: AnyTool, call: Call, given: ToolInput) -> ToolOutcome:
    try:
        return await taken_early(call) or await tool.run(call, given)
    except StepFailure:
        raise
    except (ToolError, UserError) as error:
        return failed(str(error))
    except Exception as error:
        log.exception("tool %s failed", tool.name)
        return failed(f"{tool.name} failed inside: {type(error).__name__}: {error}")


def failed(text: str) -> ToolOutcome:
    """An outcome that the model can mend."""
    return ToolOutcome(content=(Text(text=clean(text)),), is_error=True, status=CallStatus.ERROR)


def broken(why: str) -> ToolOutcome:
    """An outcome of a call that was never whole."""
    text = f"This call was not run: {why}. Make it again in smaller pieces, such as a file written part by part."
    return ToolOutcome(content=(Text(text=text),), is_error=True, status=CallStatus.BROKEN)


def denied(verdict: Verdict, more: str = "") -> ToolOutcome:
    """An outcome of a call that was not allowed."""
    return ToolOutcome(content=(Text(text=clean(refusal(verdict) + more)),), is_error=True, status=CallStatus.DENIED)


def unknown(why: str) -> ToolOutcome:
    """An outcome of a call that may or may not have had its effect."""
    text = f"Outcome unknown: {why}. It may have done all, a part or nothing: look before you call it again."
    return ToolOutcome(content=(Text(text=text),), is_error=True, status=CallStatus.UNKNOWN)


def cancelled() -> ToolOutcome:
    """An outcome of a call that the person ended."""
    text = "[interrupted by the person before it gave a result]"
    return ToolOutcome(content=(Text(text=text),), is_error=True, status=CallStatus.CANCELLED)
