"""Run the tool calls of one reply, batch by batch, and end what a cancelled one left."""

import asyncio
from collections.abc import Sequence

from temporalio import workflow

from workflows.contracts.activity_specs import END_CALL, RUN_TOOL
from workflows.contracts.directives import Directive
from workflows.contracts.tools import CallStatus, EndRequest, ToolDone, ToolRequest
from workflows.core import turn as turns
from workflows.steps.calls import failure_of, never_began, start
from workflows.steps.directives import carry_out
from workflows.steps.running import Running, now


async def run_tools(running: Running, places: Sequence[int]) -> None:
    """Run the calls at these places side by side; each ends with an outcome or an open question."""
    tasks = [asyncio.ensure_future(_run(running, place)) for place in places]
    await workflow.wait(tasks)
    asked: list[Directive] = []
    for place, task in zip(places, tasks, strict=True):
        # What the others gave counts, whatever fault one of them met.
        if task.exception() is None and (done := task.result()):
            running.state = turns.ran(running.state, place, done)
            asked += done.directives
    await carry_out(running, asked)
    for task in tasks:
        task.result()


async def _run(running: Running, place: int) -> ToolDone | None:
    request = _request(running, place)
    result = await running.run_on_host(RUN_TOOL, request)
    if not isinstance(result, BaseException):
        return result
    if running.is_stopped() and (never_began(result) or running.turn.calls[place].ref.beside):
        return None
    return await _end(running, place, "" if running.is_stopped() else _why(result))


async def _end(running: Running, place: int, why: str) -> ToolDone:
    """A cancelled call is never tried again, so its end proves nothing about its process: end that too.

    A host that does not answer while the session ends, or that cannot tell, leaves a call whose outcome is unknown.
    """
    running.waits_for(f"ending {running.turn.calls[place].ref.tool}")
    request = EndRequest(
        session=running.given.session,
        exchange=running.state.totals.exchanges,
        place=place,
        entry=running.turn.entry,
        at=now(),
        context=running.state.context,
        turn=running.turn.number,
        why=why,
        workspace=running.state.workspace,
    )
    result = await running.outlast(start(END_CALL, request, host=running.given.host))
    running.waits_for("")
    return ToolDone(status=CallStatus.UNKNOWN) if isinstance(result, BaseException) else result


def _why(error: BaseException) -> str:
    _kind, message = failure_of(error)
    return message[:1000] or type(error).__name__


def _request(running: Running, place: int) -> ToolRequest:
    open_call = running.turn.calls[place]
    return ToolRequest(
        session=running.given.session,
        exchange=running.state.totals.exchanges,
        place=place,
        entry=running.turn.entry,
        context=running.state.context,
        at=now(),
        mode=running.state.mode,
        cwd=running.state.cwd,
        approval=open_call.approval,
        answer=open_call.answer,
        turn=running.turn.number,
        broken=open_call.ref.broken,
        workspace=running.state.workspace,
        tasks=len(running.state.tasks),
        once=running.given.once,
    )
