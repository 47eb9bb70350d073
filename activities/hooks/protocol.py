"""What a hook printed -> its answer: exit codes, JSON, plain text."""

import json
from dataclasses import dataclass

from pydantic import JsonValue

from workflows.contracts.extensions import HookAnswer, HookEvent
from workflows.contracts.messages import clean
from workflows.contracts.permissions import Decision
from workflows.core.hook_events import facts_of

MOST_TEXT = 10_000
"""Characters of one hook's words that reach the model."""

Given = dict[str, JsonValue]

_TOP = {
    "continue",
    "stopReason",
    "suppressOutput",
    "systemMessage",
    "terminalSequence",
    "decision",
    "reason",
    "hookSpecificOutput",
}
_SPECIFIC = {
    HookEvent.PRE_TOOL_USE: {
        "permissionDecision",
        "permissionDecisionReason",
        "updatedInput",
        "additionalContext",
    },
    HookEvent.PERMISSION_REQUEST: {"decision"},
    HookEvent.PERMISSION_DENIED: {"retry"},
    HookEvent.POST_TOOL_USE: {"additionalContext", "updatedToolOutput"},
    HookEvent.POST_TOOL_USE_FAILURE: {"additionalContext"},
    HookEvent.POST_TOOL_BATCH: {"additionalContext"},
    HookEvent.USER_PROMPT_SUBMIT: {"additionalContext"},
    HookEvent.SESSION_START: {"additionalContext"},
    HookEvent.STOP: {"additionalContext"},
}
"""What is taken of `hookSpecificOutput`, beside its `hookEventName`."""

_BLOCKING = {
    HookEvent.PRE_TOOL_USE,
    HookEvent.USER_PROMPT_SUBMIT,
    HookEvent.POST_TOOL_USE,
    HookEvent.POST_TOOL_USE_FAILURE,
    HookEvent.POST_TOOL_BATCH,
    HookEvent.STOP,
}
"""Events at which exit 2 and `decision: block` mean something."""

_DECISIONS = {"allow": Decision.ALLOW, "ask": Decision.ASK, "deny": Decision.DENY}


class BadAnswer(Exception):
    """What a hook said cannot be understood; at a guard that refuses."""


@dataclass(frozen=True)
class Said:
    """What a hook gave: a command's exit code and streams, or the body of an http answer."""

    stdout: str
    stderr: str = ""
    exit: int = 0


def answer_of(event: str, said: Said) -> HookAnswer:
    """The answer. Raises BadAnswer for JSON that is none or does not fit the event."""
    if said.exit == 2:
        return _refusal(event, short(said.stderr.strip() or said.stdout.strip() or "it gave no reason"))
    text = said.stdout.strip()
    if text.startswith("{"):
        return _of_json(event, _parsed(text))
    return HookAnswer(context=short(text) if facts_of(event).plain_context else "")


def short(text: str) -> str:
    """At most MOST_TEXT characters that a provider takes."""
    text = clean(text)
    if len(text) <= MOST_TEXT:
        return text
    return f"{text[:MOST_TEXT]}\n[{len(text) - MOST_TEXT:,} more characters of the hook left out]"


def _refusal(event: str, reason: str) -> HookAnswer:
    if event == HookEvent.PRE_TOOL_USE:
        return HookAnswer(decision=Decision.DENY, reason=reason)
    if event in _BLOCKING:
        return HookAnswer(blocks=True, reason=reason)
    return HookAnswer(message=reason, told=("exit 2 blocks nothing at this event; the person sees its words",))


def _parsed(text: str) -> Given:
    try:
        # One object: what follows it is not taken for a part of the answer, and not dropped in silence either.
        given = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise BadAnswer(f"it printed bad JSON: {error}") from error
    if not isinstance(given, dict):
        raise BadAnswer("it printed JSON that is no object")
    return given


def _of_json(event: str, given: Given) -> HookAnswer:
    if "async" in given:
        raise BadAnswer("it answered `async`; say so in the settings, where it can be known before it runs")
    told = [f"unknown key {name!r}" for name in sorted(given.keys() - _TOP)]
    told += [f"{name} has no effect here" for name in ("terminalSequence", "suppressOutput") if given.get(name)]
    answer = HookAnswer(
        stops=not _flag(given, "continue", default=True),
        stop_reason=_text(given, "stopReason"),
        message=_text(given, "systemMessage"),
        reason=_text(given, "reason"),
    )
    answer = answer.model_copy(update=_decided(event, _text(given, "decision"), told))
    specific = given.get("hookSpecificOutput")
    if specific is not None:
        if not isinstance(specific, dict):
            raise BadAnswer("its hookSpecificOutput is no object")
        changed = _specific(event, specific, told)
        if answer.decision == Decision.DENY and changed.get("decision") != Decision.DENY:
            # A hook that says both yes and no says no.
            changed = {name: value for name, value in changed.items() if name not in {"decision", "reason"}}
        answer = answer.model_copy(update=changed)
    return answer.model_copy(update={"told": tuple(told)})


def _decided(event: str, word: str, told: list[str]) -> Given:
    """What `decision` says."""
    if not word:
        return {}
    if word not in {"block", "approve"}:
        raise BadAnswer(f"its decision is {word!r}; there are block and approve")
    if event == HookEvent.PRE_TOOL_USE:
        return {"decision": Decision.DENY if word == "block" else Decision.ALLOW}
    if event in _BLOCKING:
        return {"blocks": word == "block"}
    told.append(f"decision {word!r} has no effect at {event}")
    return {}


def _specific(event: str, given: Given, told: list[str]) -> dict[str, object]:
    named = given.get("hookEventName", event)
    if named != event:
        raise BadAnswer(f"its hookSpecificOutput is for {named!r}, and this is {event}")
    known = _SPECIFIC.get(HookEvent(event), set())
    told += [
        f"unknown or unused key hookSpecificOutput.{name}" for name in sorted(given.keys() - known - {"hookEventName"})
    ]
    changed: dict[str, object] = {}
    if "additionalContext" in known:
        changed["context"] = _text(given, "additionalContext")
    if event == HookEvent.PRE_TOOL_USE:
        changed |= _permission(given, told)
    if event == HookEvent.PERMISSION_REQUEST:
        changed |= _answered(given, told)
    if event == HookEvent.PERMISSION_DENIED:
        changed["retry"] = _flag(given, "retry", default=False)
    if event == HookEvent.POST_TOOL_USE and (output := given.get("updatedToolOutput")) is not None:
        changed["output"] = clean(output if isinstance(output, str) else json.dumps(output, ensure_ascii=False))
    return changed


def _permission(given: Given, told: list[str]) -> dict[str, object]:
    changed: dict[str, object] = {}
    if word := _text(given, "permissionDecision"):
        if word == "defer":
            told.append("permissionDecision 'defer' leaves the decision to rules and mode")
        elif word not in _DECISIONS:
            raise BadAnswer(f"its permissionDecision is {word!r}; there are allow, ask, deny and defer")
        changed["decision"] = _DECISIONS.get(word)
        changed["reason"] = _text(given, "permissionDecisionReason")
    if (updated := given.get("updatedInput")) is not None:
        changed["updated_input"] = _object(updated, "updatedInput")
    return changed


def _answered(given: Given, told: list[str]) -> dict[str, object]:
    """What a hook of PermissionRequest decides in the person's place."""
    if given.get("decision") is None:
        return {}
    decision = _object(given["decision"], "decision")
    behavior = _text(decision, "behavior")
    if behavior not in {"allow", "deny"}:
        raise BadAnswer(f"its decision.behavior is {behavior!r}; there are allow and deny")
    known = {"behavior", "message", "interrupt"}
    told += [f"decision.{name} has no effect" for name in sorted(decision.keys() - known)]
    if behavior == "allow" and decision.get("updatedInput") is not None:
        # A yes to another input is none to this one.
        told.append("a yes with updatedInput leaves the question to the person: PreToolUse changes inputs")
        return {}
    changed: dict[str, object] = {"decision": _DECISIONS[behavior], "reason": _text(decision, "message")}
    if behavior == "deny" and _flag(decision, "interrupt", default=False):
        changed |= {"stops": True, "stop_reason": changed["reason"]}
    return changed


def _text(given: Given, name: str) -> str:
    value = given.get(name)
    if value is None:
        return ""
    if not isinstance(value, str):
        raise BadAnswer(f"its {name} is no text")
    return short(value)


def _flag(given: Given, name: str, *, default: bool) -> bool:
    value = given.get(name, default)
    if not isinstance(value, bool):
        raise BadAnswer(f"its {name} is neither true nor false")
    return value


def _object(value: JsonValue, name: str) -> Given:
    if not isinstance(value, dict):
        raise BadAnswer(f"its {name} is no object")
    return value
