"""What a command may know of hooks and try with them, without an engine."""

import asyncio
import os
import tempfile
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import AbstractAsyncContextManager, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pydantic import JsonValue

from activities.hooks.moment import MOMENTS, said_at
from activities.hooks.snapshot import frozen
from activities.model.failures import ModelFailure
from activities.settings.opening import hooks_of
from activities.stores.home import Home
from activities.stores.journal import Journal
from activities.stores.objects import MemoryStore
from activities.tool_calls.hooked import CallHooks
from activities.tool_calls.opened import opened
from activities.tool_calls.outcomes import Told
from activities.tool_calls.registry import TOOLS
from activities.transcript import Transcript
from activities.world import RunHistory, World
from worker.settings import loaded_settings
from workflows.contracts.errors import FailureKind, ToolError, UsageError
from workflows.contracts.extensions import HookEvent, HookMoment, HookResult, HookRule
from workflows.contracts.messages import Role, ToolUse
from workflows.contracts.settings import SessionContext, SessionSettings
from workflows.contracts.settings_files import ValueState
from workflows.contracts.tools import ToolRequest
from workflows.contracts.transcript import MessageBody, canonical
from workflows.core.hook_events import facts_of
from workflows.core.hook_rules import parse_hooks

_TRIED = "trying-hooks"
"""Session of hooks that are only tried."""


@dataclass(frozen=True)
class ListedHook:
    """One hook of a settings file, and whether it runs."""

    rule: HookRule
    counts: bool
    why: str = ""
    """Why it does not."""


@dataclass(frozen=True)
class ListedHooks:
    """The hooks of a folder's settings."""

    hooks: tuple[ListedHook, ...] = ()
    problems: tuple[str, ...] = ()


def hooks_there(home: Home, folder: str, environment: Mapping[str, str] = os.environ) -> ListedHooks:
    """Every hook of every settings file that a session in this folder would look at."""
    hooks, problems = [], []
    for value in loaded_settings(home, folder, environment).values:
        if not value.key.startswith("hooks."):
            continue
        parsed = parse_hooks({value.key.removeprefix("hooks."): [value.value]}, value.file)
        problems += parsed.problems
        for rule in parsed.rules:
            why = value.why if value.state != ValueState.COUNTS else facts_of(rule.event).why_not
            hooks.append(ListedHook(rule, counts=not why and value.state == ValueState.COUNTS, why=why))
    return ListedHooks(tuple(hooks), tuple(dict.fromkeys(problems)))


def tried(
    home: Home, folder: str, event: str, tool: str, given: dict[str, JsonValue], environment: Mapping[str, str]
) -> HookResult:
    """Run the hooks that count for a sample of this event, and what they say. Raises UsageError."""
    known = [each.value for each in HookEvent]
    if event not in known:
        why = f": {facts_of(event).why_not}" if facts_of(event).why_not else ""
        raise UsageError(f"perdure raises no event {event}{why}. There are {', '.join(known)}.")
    with _world(environment) as world:
        return asyncio.run(_tried(world, home, Path(folder), HookEvent(event), tool, given))


async def _tried(
    world: World, home: Home, folder: Path, event: HookEvent, tool: str, given: dict[str, JsonValue]
) -> HookResult:
    loaded = loaded_settings(home, str(folder), world.environment)
    rules, _problems = hooks_of(loaded)
    context = SessionContext(
        session=_TRIED,
        cwd=str(folder),
        host=world.host.id,
        settings=SessionSettings(),
        system=(),
        tools=tuple(each.spec() for each in TOOLS),
        hooks=frozen(world.home, _TRIED, rules, loaded.settings),
    )
    digest = await world.store.put(canonical(context.model_dump(mode="json")))
    if event in MOMENTS:
        return await _at_moment(world, digest, event, given)
    return await _at_call(world, digest, event, tool, given)


async def _at_moment(world: World, context: str, event: HookEvent, given: dict[str, JsonValue]) -> HookResult:
    use = ToolUse(id="sample", name="Bash", input={"command": "true"})
    entry = await _entry(world, use)
    prompt = await world.store.put(str(given.get("prompt", "a sample prompt")).encode())
    targets = {HookEvent.SESSION_START: "startup", HookEvent.SESSION_END: "other", HookEvent.STOP_FAILURE: "failed"}
    target = str(given.get("source") or given.get("reason") or given.get("error") or targets.get(event, ""))
    moment = HookMoment(
        session=_TRIED,
        context=context,
        head=entry,
        at=_AT,
        event=event,
        target=target,
        prompt=prompt,
        entry=entry,
        facts=given,
    )
    return await said_at(world, moment)


async def _at_call(world: World, context: str, event: HookEvent, tool: str, given: dict[str, JsonValue]) -> HookResult:
    names = ", ".join(each.name for each in TOOLS)
    if not tool:
        raise UsageError(f"{event} is about a call: name its tool with --tool ({names}).")
    entry = await _entry(world, ToolUse(id="sample", name=tool, input=given))
    request = ToolRequest(session=_TRIED, exchange=1, place=0, entry=entry, context=context, at=_AT)
    at = await opened(world, request)
    if at.tool is None:
        raise UsageError(f"There is no tool {tool}; there are {names}.")
    try:
        fitting = at.given()
    except ToolError as error:
        raise UsageError(f"--input does not fit: {error}") from error
    hooks = CallHooks(Told(world, request, at), request, at.call(world, request), at.tool)
    return await hooks.said(event, fitting, _SAMPLES.get(event, {}))


_AT = "2000-01-01T00:00:00.000Z"
_SAMPLES: dict[HookEvent, dict[str, JsonValue]] = {
    HookEvent.POST_TOOL_USE: {"tool_response": {"content": "a sample result", "is_error": False}, "duration_ms": 1},
    HookEvent.POST_TOOL_USE_FAILURE: {"error": "a sample error", "is_interrupt": False, "duration_ms": 1},
    HookEvent.PERMISSION_DENIED: {"reason": "a sample reason"},
    HookEvent.NOTIFICATION: {"message": "a sample question", "notification_type": "permission_prompt"},
}
"""What an event adds, for hooks that are tried."""


async def _entry(world: World, use: ToolUse) -> str:
    return await world.transcript.append("", _AT, [MessageBody(role=Role.ASSISTANT, blocks=(use,))])


@contextmanager
def _world(environment: Mapping[str, str]) -> Iterator[World]:
    """Surroundings that are gone afterwards: nothing of a try stays in the person's home."""
    with tempfile.TemporaryDirectory(prefix="perdure-hooks-") as folder:
        home, store, beat = Home(Path(folder)), MemoryStore(), _Beat()
        home.ensure()
        yield World(
            home=home,
            host=home.host(),
            store=store,
            transcript=Transcript(store),
            journal=Journal(home.journal),
            model=_Nothing(),
            histories=_Nothing(),
            beat=lambda: beat,
            environment=environment,
        )


@dataclass
class _Beat:
    """Nobody waits for a sign of life of a command."""

    cancelled: asyncio.Event = field(default_factory=asyncio.Event)
    details: tuple[str, ...] = ()
    attempt: int = 1
    worker: str = "this command"

    def say(self, *details: str) -> None:
        """Tell nobody."""


class _Nothing:
    """Model and engine that no hook of a try asks."""

    def stream(
        self,
        body: bytes,  # noqa: ARG002 - as the real one is asked
        base_url: str,  # noqa: ARG002 - as the real one is asked
    ) -> AbstractAsyncContextManager[AsyncIterator[dict[str, Any]]]:  # Any: the provider's JSON
        """Never asked."""
        raise ModelFailure(FailureKind.NO_KEY, "hooks are tried without a model", None, retryable=False)

    async def fetch(self, workflow_id: str, run_id: str) -> RunHistory:  # noqa: ARG002 - as the real one is asked
        """Never asked."""
        raise UsageError("Trying hooks asks no engine.")
