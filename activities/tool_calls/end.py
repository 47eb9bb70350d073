"""end_call: end what a cancelled call left running, and say what became of it."""

from activities.processes.attach import end_command
from activities.processes.command import CommandSpec
from activities.safety.command_texts import outcome_of
from activities.tool import Call
from activities.tool_calls.opened import opened
from activities.tool_calls.outcomes import Ended, Told, found, stored
from activities.tool_calls.run import cancelled, failed, unknown
from activities.world import World
from workflows.contracts.permissions import Decision, Verdict
from workflows.contracts.tools import EndRequest, Repeat, ToolDone, ToolOutcome

_ENDED = Verdict(decision=Decision.DENY, by="tool", text="the call was ended before it was decided or done")


async def end_call(world: World, request: EndRequest) -> ToolDone:
    """The call's outcome: found in the journal, or what is known after everything it started was ended."""
    at = await opened(world, request)
    told = Told(world, request, at)
    if (earlier := await found(told)) is not None:
        return earlier
    call = at.call(world, request)
    outcome = await _what_is_left(call, told, request)
    return await stored(told, _ENDED, Ended(outcome, "ended"))


async def _what_is_left(call: Call, told: Told, request: EndRequest) -> ToolOutcome:
    tool, record = told.at.tool, told.at.record
    if tool is not None and tool.attaches:
        end = await end_command(record.folder)
        if end is not None and end.is_started:
            spec = CommandSpec(key=call.key, argv=(), cwd=str(call.cwd), environment={})
            return await outcome_of(call, str(told.at.use.input.get("command", "")), spec, end)
    if request.why:
        return failed(f"The call failed: {request.why}")
    if tool is not None and tool.repeat != Repeat.SAFE and not tool.attaches and record.read_intent() is not None:
        return unknown("it was interrupted while it ran")
    return cancelled()
