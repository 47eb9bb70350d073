"""The `hooks` of a settings file -> rules, and what of them has no effect."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

from pydantic import JsonValue

from workflows.contracts.extensions import HookHeader, HookKind, HookRule
from workflows.core.hook_events import EVENTS, facts_of

Entry = Mapping[str, JsonValue]
Value = TypeVar("Value")

_COMMON = {"type", "if", "timeout", "statusMessage", "once"}
_FIELDS = {
    HookKind.COMMAND: {"command", "args", "shell", "async", "asyncRewake"},
    HookKind.HTTP: {"url", "headers", "allowedEnvVars"},
    HookKind.PROMPT: {"prompt", "model", "continueOnBlock"},
    HookKind.AGENT: {"prompt", "model"},
    HookKind.MCP_TOOL: {"server", "tool", "input"},
}
_NEEDS = {HookKind.COMMAND: "command", HookKind.HTTP: "url", HookKind.PROMPT: "prompt", HookKind.AGENT: "prompt"}
_FOLDED = {name.casefold(): str(name) for name in EVENTS}
SHELLS = {"bash", "powershell"}
"""What may read a hook's command line."""


@dataclass
class ParsedHooks:
    """The hooks of one settings file, and a sentence for each thing in it that counts for nothing."""

    rules: list[HookRule] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)


def parse_hooks(given: JsonValue, source: str, root: str = "") -> ParsedHooks:
    """The rules of `hooks.{Event}[].{matcher, hooks[]}`.

    What cannot be read of a hook that guards is kept as one that refuses everything it was to judge.
    """
    found = ParsedHooks()
    if not isinstance(given, dict):
        found.problems.append(f"{source}: hooks must be an object of events")
        return found
    for name, groups in given.items():
        event = name if name in EVENTS else _FOLDED.get(name.casefold(), "")
        if not event:
            found.problems.append(f"{source}: there is no hook event {name}; its hooks never run")
            continue
        if event != name:
            found.problems.append(f"{source}: the hook event {name} is read as {event}")
        if facts_of(event).why_not:
            found.problems.append(f"{source}: {event} is not raised: {facts_of(event).why_not}")
        place = _Place(event, source, root)
        for group in _objects(groups, place, f"hooks.{event}", "", found):
            _read_group(place, group, found)
    return found


@dataclass(frozen=True)
class _Place:
    event: str
    source: str
    root: str

    @property
    def or_refuses(self) -> str:
        """What becomes of a hook that cannot be read, where hooks guard."""
        return "; until it is mended it refuses what it was to judge" if facts_of(self.event).guards else ""

    def problem(self, text: str) -> str:
        return f"{self.source}: a hook of {self.event} {text}"

    def unreadable(self, matcher: str) -> HookRule:
        """A hook that says nothing that could be run: as a guard it refuses."""
        return HookRule(event=self.event, kind=HookKind.COMMAND, matcher=matcher, source=self.source, root=self.root)


def _read_group(place: _Place, group: Entry, found: ParsedHooks) -> None:
    _tell_unknown(place, group, {"matcher", "hooks"}, found)
    matcher = group.get("matcher") or ""
    if not isinstance(matcher, str):
        found.problems.append(place.problem("has a matcher that is no text; it matches everything"))
        matcher = ""
    for entry in _objects(group.get("hooks"), place, f"hooks.{place.event}[].hooks", matcher, found):
        found.rules.append(_rule(place, matcher, entry, found))


def _rule(place: _Place, matcher: str, entry: Entry, found: ParsedHooks) -> HookRule:
    try:
        kind = HookKind(str(entry.get("type", "")))
    except ValueError:
        found.problems.append(place.problem(f"has the type {entry.get('type')!r}, which there is not"))
        return place.unreadable(matcher)
    _tell_unknown(place, entry, _COMMON | _FIELDS[kind], found)
    read = _Fields(place, entry, found)
    rule = HookRule(
        event=place.event,
        kind=kind,
        matcher=matcher,
        condition=read.text("if"),
        command=read.text("command"),
        args=read.texts("args") if "args" in entry else None,
        shell=read.text("shell") or "bash",
        url=read.text("url"),
        headers=read.headers(),
        allowed_env=read.texts("allowedEnvVars"),
        prompt=read.text("prompt"),
        model=read.text("model"),
        continue_on_block=read.flag("continueOnBlock"),
        timeout=read.seconds(),
        status_message=read.text("statusMessage"),
        is_async=read.flag("async") or read.flag("asyncRewake"),
        wakes=read.flag("asyncRewake"),
        source=place.source,
        root=place.root,
    )
    found.problems.extend(map(place.problem, _odd(rule, entry)))
    return rule


def _odd(rule: HookRule, entry: Entry) -> Iterator[str]:
    """What is wrong with a rule whose fields could be read."""
    needed = _NEEDS.get(rule.kind)
    facts = facts_of(rule.event)
    if needed and not entry.get(needed):
        yield f"has no {needed}"
    if rule.kind in {HookKind.AGENT, HookKind.MCP_TOOL}:
        yield f"is of the type {rule.kind}, which cannot run yet{_refuses(rule)}"
    if rule.shell not in SHELLS:
        yield f"names the shell {rule.shell!r}; there are bash and powershell{_refuses(rule)}"
    if rule.condition and not facts.is_tool:
        yield "has an `if`, which only events of a tool have; it never runs"
    if rule.matcher and not facts.target:
        yield "has a matcher, which this event does not take; it is ignored"
    if rule.timeout > facts.most_seconds:
        yield f"asks for {rule.timeout:g} seconds; it gets {facts.most_seconds:g}"
    if rule.kind == HookKind.HTTP and rule.event == "SessionStart":
        yield "is of the type http, which SessionStart does not take; it never runs"
    if rule.is_async and facts.guards:
        yield "is async, so it can refuse nothing"
    if entry.get("once"):
        yield "says `once`, which only hooks of skills may"


def _refuses(rule: HookRule) -> str:
    return "; until then it refuses what it was to judge" if facts_of(rule.event).guards else ""


@dataclass(frozen=True)
class _Fields:
    """Reads the fields of one hook; what has a wrong type is told and left out."""

    place: _Place
    entry: Entry
    found: ParsedHooks

    def text(self, name: str) -> str:
        value = self.entry.get(name, "")
        return value if isinstance(value, str) else self._wrong(name, "a text", "")

    def texts(self, name: str) -> tuple[str, ...]:
        value = self.entry.get(name, [])
        if isinstance(value, list) and all(isinstance(each, str) for each in value):
            return tuple(str(each) for each in value)
        return self._wrong(name, "a list of texts", ())

    def flag(self, name: str) -> bool:
        value = self.entry.get(name, False)
        return value if isinstance(value, bool) else self._wrong(name, "true or false", default=False)

    def seconds(self) -> float:
        value = self.entry.get("timeout", 0)
        if isinstance(value, int | float) and not isinstance(value, bool) and value >= 0:
            return float(value)
        return self._wrong("timeout", "a number of seconds", 0.0)

    def headers(self) -> tuple[HookHeader, ...]:
        value = self.entry.get("headers", {})
        if isinstance(value, dict) and all(isinstance(each, str) for each in value.values()):
            return tuple(HookHeader(name=name, value=str(each)) for name, each in value.items())
        return self._wrong("headers", "an object of texts", ())

    def _wrong(self, name: str, wanted: str, default: Value) -> Value:
        self.found.problems.append(self.place.problem(f"has a {name} that is not {wanted}; it is left out"))
        return default


def _objects(given: JsonValue, place: _Place, where: str, matcher: str, found: ParsedHooks) -> Sequence[Entry]:
    """The objects of a list. Where there is anything else, nobody knows what a guard was to let pass."""
    objects = [each for each in given if isinstance(each, dict)] if isinstance(given, list) else []
    if not isinstance(given, list):
        found.problems.append(f"{place.source}: {where} must be a list; nothing of it runs{place.or_refuses}")
    elif len(objects) < len(given):
        found.problems.append(
            f"{place.source}: {where} holds something that is no object; it is left out{place.or_refuses}"
        )
    else:
        return objects
    if place.or_refuses:
        found.rules.append(place.unreadable(matcher))
    return objects


def _tell_unknown(place: _Place, entry: Entry, known: set[str], found: ParsedHooks) -> None:
    for name in sorted(entry.keys() - known):
        found.problems.append(place.problem(f"has the unknown key {name!r}; it has no effect"))
