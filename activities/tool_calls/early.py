"""start_early: a safe call runs while its reply still streams; its own activity finds or joins the result."""

import asyncio
import json
from pathlib import Path

from activities.hooks.matching import may_match
from activities.stores.journal import effect_key
from activities.stores.seen import SeenFiles
from activities.tool import AnyTool, Call, ToolInput
from activities.tool_calls.leads import seen_once
from activities.tool_calls.registry import find
from activities.tool_calls.vet import parse_input, vet
from activities.world import Early, World
from workflows.contracts.errors import PerdureError
from workflows.contracts.extensions import HookEvent
from workflows.contracts.messages import ToolUse
from workflows.contracts.model import ModelRequest
from workflows.contracts.permissions import Decision
from workflows.contracts.settings import SessionContext
from workflows.contracts.tools import Repeat, ToolOutcome

_HELD = 64
"""Results that wait for their activity; the oldest is dropped beyond that."""


class _NotedLater(SeenFiles):
    """Files that an early call reads count as seen only once its call is really made."""

    def __init__(self, seen: SeenFiles) -> None:
        self._seen = seen
        self.noted: dict[Path, str] = {}

    def digest(self, path: Path) -> str:
        return self.noted.get(path) or self._seen.digest(path)

    def note(self, path: Path, digest: str) -> None:
        self.noted[path] = digest


def start_early(world: World, request: ModelRequest, context: SessionContext, place: int, use: ToolUse) -> None:
    """Run the call now if it is safe, may run beside others, is allowed without asking, belongs to this host.

    What a hook is to see first is not started.
    """
    tool = find(use.name)
    if tool is None or not _may_start(world, context, tool):
        return
    try:
        given = parse_input(tool, use)
    except PerdureError:
        return
    key = effect_key(request.session, request.exchange, place, use.name, json.dumps(use.input))
    if key in world.early:
        return
    workspace = Path(request.workspace or context.cwd)
    noted = _NotedLater(world.seen(request.session))
    call = Call(
        world=world,
        session=request.session,
        exchange=request.exchange,
        place=place,
        key=key,
        record=world.journal.call(request.session, key),
        workspace=workspace,
        cwd=workspace,
        seen=noted,
        settings=context.settings,
    )
    call = seen_once(call, tool, given)
    if vet(call, tool, given, request.mode, None).decision != Decision.ALLOW:
        return
    world.early[key] = Early(asyncio.ensure_future(_outcome(tool, call, given)), noted.noted)
    while len(world.early) > _HELD:
        world.early.pop(next(iter(world.early))).task.cancel()


def _may_start(world: World, context: SessionContext, tool: AnyTool) -> bool:
    return (
        tool.repeat == Repeat.SAFE
        and tool.may_run_beside_others
        and context.host == world.host.id
        and not may_match((*context.hooks, *context.settings.hooks), HookEvent.PRE_TOOL_USE, tool.name)
        and tool.name in {spec.name for spec in context.tools}
    )


async def _outcome(tool: AnyTool, call: Call, given: ToolInput) -> ToolOutcome | None:
    """The outcome; None for a call that failed: its activity runs it again, and tells why."""
    try:
        outcome: ToolOutcome = await tool.run(call, given)
    except Exception:  # noqa: BLE001 - nothing is reported from here; the real call reports
        return None
    return outcome


async def taken_early(call: Call) -> ToolOutcome | None:
    """What the early run gave, once; None when there was none, or it came to nothing."""
    early = call.world.early.pop(call.key, None)
    if early is None:
        return None
    try:
        # Not the task itself: a cancel of this call would look like one of the early run, and be lost.
        await asyncio.wait({early.task})
    finally:
        early.task.cancel()
    outcome = None if early.task.cancelled() else early.task.result()
    if outcome is not None:
        for path, digest in early.noted.items():
            call.seen.note(path, digest)
    return outcome
