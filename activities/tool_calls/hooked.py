"""CallHooks: the hooks around one call, each run once however often the call is tried."""

import asyncio
import logging
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from pydantic import JsonValue, ValidationError

from activities.hooks.beside import words_of_ended
from activities.hooks.command import end_hooks
from activities.hooks.matching import matching_hooks, may_match
from activities.hooks.place import HookPlace, hook_folder
from activities.hooks.run import Where, run_hooks
from activities.hooks.session_file import keep_current
from activities.safety.sandbox.named_hosts import is_allowed_by_name
from activities.settings.left_out import left_out
from activities.stores.journal import CallRecord
from activities.tool import AnyTool, Call, ToolInput
from activities.tool_calls.asked import asked_of
from activities.tool_calls.leads import leads_digest
from activities.tool_calls.opened import OpenedCall
from activities.tool_calls.outcomes import Told
from workflows.contracts.extensions import HookEvent, HookInput, HookRecord, HookResult, HookRule
from workflows.contracts.messages import Text, clean
from workflows.contracts.permissions import Decision, Policy, Verdict
from workflows.contracts.tools import CallStatus, Pass, ToolOutcome, ToolRequest
from workflows.contracts.transcript import digest_of
from workflows.core.hook_answers import verdict_of
from workflows.core.hook_events import facts_of
from workflows.core.permission_rules import parse
from workflows.core.rule_matching import speaks_of_call

log = logging.getLogger(__name__)

_BEFORE, _ASKED, _DENIED, _AFTER = "before", "asked", "denied", "after"
"""Under which name the answers of a moment are kept in the call's record."""

_NOTHING = HookResult()
_NOTIFIED = HookEvent.NOTIFICATION

_AFTER_EVENTS = {CallStatus.OK: HookEvent.POST_TOOL_USE, CallStatus.ERROR: HookEvent.POST_TOOL_USE_FAILURE}


@dataclass(frozen=True)
class CallHooks:
    """The hooks of one attempt at a call. What they said is on disk before anything follows from it."""

    told: Told
    request: ToolRequest
    call: Call
    tool: AnyTool

    def allowed(self, verdict: Verdict) -> "CallHooks":
        """The same around a call that runs by this verdict."""
        is_command = (self.tool.judged_as or self.tool.name) == "Bash"
        kept_back = left_out(self.call, "Read", ()).rules if is_command and not is_allowed_by_name(verdict) else ()
        call = replace(self.call, is_proved=verdict.by == "proof", verdict=verdict, kept_back=kept_back)
        return replace(self, call=call)

    async def before(self, given: ToolInput, *, has_begun: bool) -> HookResult:
        """What the hooks before the call say, or said when it was tried before. Raises HooksCancelled."""
        if (known := self._known().get(_BEFORE) or await self._passed()) is not None:
            self._tell(known, is_paid=self.request.approval is not None)
            return known
        if has_begun:
            return _NOTHING
        return await self._once(_BEFORE, HookEvent.PRE_TOOL_USE, given, {})

    async def when_asked(self, given: ToolInput, verdict: Verdict) -> Verdict:
        """The verdict after the hooks that may answer in the person's place; a person's own rules are not theirs."""
        result = await self._once(_ASKED, HookEvent.PERMISSION_REQUEST, given, {})
        spoken = verdict_of(result)
        if spoken is None or (spoken.decision == Decision.ALLOW and verdict.by != "mode"):
            return verdict
        return spoken

    async def notify(self, given: ToolInput, name: str = "notified") -> None:
        """Run the hooks that tell the person of a question; of each question of a call, by its name, once."""
        facts: dict[str, JsonValue] = {
            "message": f"perdure needs your permission to use {self.tool.name}",
            "title": "Permission needed",
            "notification_type": "permission_prompt",
        }
        await self._once(name, HookEvent.NOTIFICATION, given, facts, target="permission_prompt")

    async def when_denied(self, given: ToolInput, verdict: Verdict) -> str:
        """What hooks add to a refusal; nothing where a hook or the person gave it."""
        if verdict.by in {"hook", "person"}:
            return ""
        result = await self._once(_DENIED, HookEvent.PERMISSION_DENIED, given, {"reason": verdict.text})
        return "\n[PermissionDenied hook] You may try this call again." if result.retry else ""

    async def after(self, given: ToolInput, outcome: ToolOutcome, seconds: float) -> ToolOutcome:
        """The outcome with what hooks say of it; of an unknown or interrupted call none is asked."""
        event = _AFTER_EVENTS.get(outcome.status)
        if event is None:
            return outcome
        text = _text(outcome)
        facts: dict[str, JsonValue] = {"duration_ms": round(seconds * 1000)}
        if event == HookEvent.POST_TOOL_USE:
            facts["tool_response"] = {"content": text, "is_error": outcome.is_error, **outcome.data}
        else:
            facts |= {"error": text, "is_interrupt": False}
        outcome = _with(outcome, event, await self._once(_AFTER, event, given, facts))
        return await self._with_words(outcome)

    async def _with_words(self, outcome: ToolOutcome) -> ToolOutcome:
        """The outcome with what async hooks of earlier moments say."""
        if not any(rule.is_async for rule in self._rules()):
            return outcome
        words = await asyncio.to_thread(words_of_ended, self.call.world, self.call.session, self.call.key)
        said = (Text(text=clean(words)),) if words else ()
        return outcome.model_copy(update={"content": (*outcome.content, *said)})

    async def said(self, event: HookEvent, given: ToolInput, facts: Mapping[str, JsonValue]) -> HookResult:
        """What the hooks of one event say, for whoever tries them."""
        return await self._once(event.value, event, given, facts, "permission_prompt" if event == _NOTIFIED else "")

    def pass_of(self, verdict: Verdict) -> Pass:
        """What a call that must ask has found so far, for its second pass."""
        hooks, leads = self._known().get(_BEFORE), leads_digest(self.call)
        return Pass(verdict=verdict, digest=self.told.at.bound, hooks=hooks, leads=leads)

    async def _once(
        self, name: str, event: HookEvent, given: ToolInput, facts: Mapping[str, JsonValue], target: str = ""
    ) -> HookResult:
        known = self._known()
        if (result := known.get(name)) is None:
            rules = self._matching(event, target or self.tool.name, given)
            if not rules:
                return _NOTHING
            result = await self._run(event, rules, facts)
            kept = {**known, name: result}
            self.call.record.write_pass({each: answer.model_dump(mode="json") for each, answer in kept.items()})
        self._tell(result, is_paid=name in known and self.request.approval is not None)
        return result

    def _tell(self, result: HookResult, *, is_paid: bool) -> None:
        """What they did, for the outcome; what the first pass of a call has told the session is not counted again."""
        self.told.hooks.extend(result.records)
        self.told.hook_cost += 0 if is_paid else result.cost

    async def _run(self, event: HookEvent, rules: Sequence[HookRule], facts: Mapping[str, JsonValue]) -> HookResult:
        call, at = self.call, self.told.at
        project, settings = Path(at.context.cwd), call.settings
        place = HookPlace(
            call.world, call.session, call.key, call.record.path, call.cwd, project, settings.model, settings.base_url
        )
        about: dict[str, JsonValue] = {
            "tool_name": self.tool.name,
            "tool_input": at.effective_input,
            "tool_use_id": at.use.id,
        }
        given = HookInput(
            session_id=call.session,
            transcript_path=str(await keep_current(call.world, call.session, self.request.entry)),
            cwd=str(call.cwd),
            hook_event_name=event,
            permission_mode=self.request.mode.value,
            facts={**about, **facts},
        )
        return await run_hooks(place, rules, given, Where(self.request.turn, self.request.exchange))

    def _matching(self, event: HookEvent, target: str, given: ToolInput) -> list[HookRule]:
        also = self.tool.judged_as if facts_of(event).is_tool else ""
        return matching_hooks(self._rules(), event, target, lambda condition: self._speaks_of(condition, given), also)

    def _rules(self) -> tuple[HookRule, ...]:
        context = self.told.at.context
        return (*context.hooks, *context.settings.hooks)

    def _speaks_of(self, condition: str, given: ToolInput) -> bool:
        if parse(condition) is None:
            # Nobody knows what it was to leave out, so the hook runs.
            return True
        try:
            return speaks_of_call(condition, asked_of(self.call, self.tool, given, Policy()))
        except Exception:
            # A condition that cannot be judged leaves nothing out: the hook decides.
            log.exception("the condition %r of a hook could not be judged", condition)
            return True

    def _known(self) -> dict[str, HookResult]:
        return _kept(self.call.record)

    async def _passed(self) -> HookResult | None:
        """What the first pass stored, should this host have lost its own record."""
        if self.request.approval is None or not has_hooks(self.told.at):
            return None
        data = await self.call.world.store.get(self.request.approval.found)
        return Pass.model_validate_json(data).hooks


def _kept(record: CallRecord) -> dict[str, HookResult]:
    """Answers of earlier attempts; a record that cannot be read is none, and hooks tell theirs from their files."""
    try:
        return {name: HookResult.model_validate(result) for name, result in (record.read_pass() or {}).items()}
    except ValidationError:
        return {}


def as_hooked(at: OpenedCall) -> tuple[OpenedCall, list[HookRecord]]:
    """The call as hooks of earlier attempts left it, and what those did."""
    kept = _kept(at.record)
    updated = kept[_BEFORE].updated_input if _BEFORE in kept else None
    return at.with_input(updated), [record for result in kept.values() for record in result.records]


async def end_hooks_of(at: OpenedCall) -> None:
    """End every hook of the call that still runs beside no one."""
    await end_hooks(hook_folder(at.record.path))


def drop_files(at: OpenedCall) -> None:
    """Remove what hooks read and printed: what counts of it is in the outcome. Async ones may still run there."""
    if not any(rule.is_async for rule in (*at.context.hooks, *at.context.settings.hooks)):
        shutil.rmtree(hook_folder(at.record.path), ignore_errors=True)


def has_hooks(at: OpenedCall) -> bool:
    """Whether any hook may run around the call: then its answers are kept in the journal, whatever the tool is."""
    rules = (*at.context.hooks, *at.context.settings.hooks)
    also = at.tool.judged_as if at.tool else ""
    return any(may_match(rules, event, at.use.name, also) for event in HookEvent if facts_of(event).is_tool)


def _text(outcome: ToolOutcome) -> str:
    return "\n".join(block.text for block in outcome.content if isinstance(block, Text))


def _with(outcome: ToolOutcome, event: HookEvent, result: HookResult) -> ToolOutcome:
    content = outcome.content
    changed: dict[str, object] = {}
    if result.output is not None:
        # A hook may do this to hide something: what it hid is proven by its digest alone.
        original = digest_of(_text(outcome).encode("utf-8", "replace"))
        content = (Text(text=result.output),)
        changed = {"full": "", "size": 0, "data": {**outcome.data, "replaced_text": original}}
    said = [f"[{event} hook] {result.context}"] if result.context else []
    said += [f"[{event} hook {result.by}] {result.reason}"] if result.blocks else []
    content = (*content, *(Text(text=clean(words)) for words in said))
    return outcome.model_copy(update={**changed, "content": content})
