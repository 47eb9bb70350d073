"""end_call: end what a cancelled call left running, and say what became of it."""

from contextlib import suppress
from dataclasses import replace
from pathlib import Path

from activities.processes.attach import end_command, lean_file
from activities.processes.command import CommandEnd, CommandSpec
from activities.safety.changes import found_done
from activities.safety.command_texts import outcome_of
from activities.tool import Call
from activities.tool_calls.hooked import as_hooked, end_hooks_of
from activities.tool_calls.host_answers import unanswered
from activities.tool_calls.opened import Begun, opened
from activities.tool_calls.outcomes import Ended, Told, found, stored
from activities.tool_calls.run import cancelled, failed, unknown
from activities.world import World
from workflows.contracts.errors import ToolError
from workflows.contracts.permissions import Decision, Verdict
from workflows.contracts.tools import EndRequest, Repeat, ToolDone, ToolOutcome

_ENDED = Begun(
    verdict=Verdict(decision=Decision.DENY, by="tool", text="the call was ended before it was decided or done")
)


async def end_call(world: World, request: EndRequest) -> ToolDone:
    """The call's outcome: found in the journal, or what is known after everything it started was ended."""
    at, hooks = as_hooked(await opened(world, request))
    told = Told(world, request, at, hooks=hooks)
    await end_hooks_of(at)
    if at.tool is None or at.tool.repeat == Repeat.SAFE:
        return await _ended(told, request, None)
    # Before the lock: an attempt that holds it watches the command, and lets go when that has ended.
    end = await end_command(at.record.folder) if at.tool.attaches and at.record.read_outcome() is None else None
    async with at.record.lock():
        return await found(told) or await unanswered(told) or await _ended(told, request, end)


async def _ended(told: Told, request: EndRequest, end: CommandEnd | None) -> ToolDone:
    begun = told.at.begun() or _ENDED
    outcome = await _what_is_left(told.at.call(told.world, request), told, request, end)
    return await stored(told, begun.verdict, Ended(outcome, "ended"), begun.answer)


async def _what_is_left(call: Call, told: Told, request: EndRequest, end: CommandEnd | None) -> ToolOutcome:
    tool, record = told.at.tool, told.at.record
    if end is not None and end.is_started:
        spec = _spec(call)
        command = str(told.at.effective_input.get("command", ""))
        return await outcome_of(replace(call, cwd=Path(spec.cwd)), command, spec, end)
    not_done = failed(f"The call failed: {request.why}") if request.why else cancelled()
    if tool is None or tool.repeat == Repeat.SAFE or tool.attaches or record.read_intent() is None:
        return not_done
    if tool.repeat == Repeat.CHECKED:
        with suppress(ToolError):
            done = await found_done(replace(call, is_repeat=True))
            # Its plan is written before the file is touched: without one, or with the file as it was, nothing happened.
            if done or not record.damages():
                return done or not_done
    return unknown(request.why or "it was interrupted while it ran")


def _spec(call: Call) -> CommandSpec:
    """The command as it was started, as far as its folder tells."""
    told = lean_file(call.record.folder / "command.json")
    deadline, silence = told.get("deadline"), told.get("silence")
    return CommandSpec(
        key=call.key,
        argv=(),
        cwd=str(told.get("cwd") or call.cwd),
        environment={},
        deadline=deadline if isinstance(deadline, int | float) else None,
        silence=silence if isinstance(silence, int | float) else None,
    )
