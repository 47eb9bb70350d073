"""end_call: end what a cancelled call left running, and say what became of it."""

from dataclasses import replace
from pathlib import Path

from activities.processes.attach import end_command, lean_file
from activities.processes.command import CommandSpec
from activities.safety.command_texts import outcome_of
from activities.tool import Call
from activities.tool_calls.opened import Begun, opened
from activities.tool_calls.outcomes import Ended, Told, found, stored
from activities.tool_calls.run import cancelled, failed, unknown
from activities.world import World
from workflows.contracts.permissions import Decision, Verdict
from workflows.contracts.tools import EndRequest, Repeat, ToolDone, ToolOutcome

_ENDED = Begun(
    verdict=Verdict(decision=Decision.DENY, by="tool", text="the call was ended before it was decided or done")
)


async def end_call(world: World, request: EndRequest) -> ToolDone:
    """The call's outcome: found in the journal, or what is known after everything it started was ended."""
    at = await opened(world, request)
    told = Told(world, request, at)
    if (earlier := await found(told)) is not None:
        return earlier
    begun = at.begun() or _ENDED
    outcome = await _what_is_left(at.call(world, request), told, request)
    return await stored(told, begun.verdict, Ended(outcome, "ended"), begun.answer)


async def _what_is_left(call: Call, told: Told, request: EndRequest) -> ToolOutcome:
    tool, record = told.at.tool, told.at.record
    if tool is not None and tool.attaches:
        end = await end_command(record.folder)
        if end is not None and end.is_started:
            spec = _spec(call)
            command = str(told.at.use.input.get("command", ""))
            return await outcome_of(replace(call, cwd=Path(spec.cwd)), command, spec, end)
    if tool is not None and tool.repeat != Repeat.SAFE and not tool.attaches and record.read_intent() is not None:
        return unknown(request.why or "it was interrupted while it ran")
    return failed(f"The call failed: {request.why}") if request.why else cancelled()


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
