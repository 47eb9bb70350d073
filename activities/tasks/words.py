"""What a background task tells its session, as the notice that the model is shown."""

import asyncio
from dataclasses import replace
from pathlib import Path

from pydantic import JsonValue

from activities.processes.command import CommandEnd, CommandSpec, EndKind
from activities.processes.output import read_output
from activities.safety.command_texts import outcome_of, readable
from activities.safety.environment import command_environment
from activities.safety.sandbox.hold import ground_of, reheld
from activities.safety.secrets import shown_output
from activities.stores.contexts import read_context
from activities.tasks.record import TaskRecord, read_record
from activities.tool import Call
from activities.world import World
from workflows.contracts.errors import ToolError
from workflows.contracts.events import Notice
from workflows.contracts.messages import Text, clean
from workflows.contracts.tasks import Watched, WatchRequest
from workflows.contracts.tools import CallStatus
from workflows.contracts.transcript import NoticeBody, canonical

MOST_LINES, MOST_BYTES = 100, 4_000
"""Of one word to the model."""
SHOWN_START, SHOWN_END = 500, 2_500
"""Characters of the output of a task that ended."""


async def told_lines(world: World, request: WatchRequest, until: int) -> Watched:
    """The lines up to that byte of the output, the first of them when there are many."""
    folder = world.journal.call(request.session, request.task.key).folder
    data = read_output(folder, request.offset, min(until - request.offset, MOST_BYTES))
    first = b"".join(data.splitlines(keepends=True)[:MOST_LINES])
    left_out = until - request.offset - len(first)
    shown = await asyncio.to_thread(
        shown_output, world.masker(request.session), folder, request.offset, request.offset + len(first)
    )
    more = (
        f"\n[{left_out:,} more bytes: TaskOutput shows them from offset {request.offset + len(first)}]"
        if left_out
        else ""
    )
    text = f"[Background task {request.task.id} ({request.task.title}) printed:]\n{readable(shown)}{more}"
    notice = await _kept(world, request, "task_lines", text, {"until": until})
    return Watched(notice=notice, offset=until)


async def told_end(world: World, request: WatchRequest, end: CommandEnd) -> Watched:
    """How the task ended, and the beginning and end of what it printed; the whole is an object of the store."""
    record = world.journal.call(request.session, request.task.key)
    task = read_record(record) or TaskRecord(request.task.id, request.task.kind.value, "", request.task.title, "", "/")
    call = await _call(world, request, task)
    spec = CommandSpec(
        key=call.key, argv=(), cwd=task.cwd, environment=command_environment(call), deadline=task.deadline
    )
    # A task that was stopped was not interrupted by the person: what it printed is told without that word.
    is_stopped = end.kind == EndKind.CANCELLED
    quiet = replace(end, kind=EndKind.EXITED, exit_code=0, signal=None) if is_stopped else end
    outcome = await outcome_of(call, task.command, spec, quiet, await _refused(call, spec, task, end))
    status = CallStatus.CANCELLED if is_stopped else outcome.status
    masker = world.masker(request.session)
    whole = masker.text("\n".join(block.text for block in outcome.content if isinstance(block, Text)))
    full, shown = outcome.full, whole
    if len(whole) > SHOWN_START + SHOWN_END + 200:
        full = full or await world.store.put(whole.encode())
        left_out = len(whole) - SHOWN_START - SHOWN_END
        note = f"[{left_out:,} characters left out; all of it: Read result:{full}]"
        shown = f"{whole[:SHOWN_START]}\n{note}\n{whole[-SHOWN_END:]}"
    ended = f"{how(end)} by {request.by}" if is_stopped and request.by else how(end)
    text = f"[Background task {request.task.id} ({request.task.title}) has ended: {ended}. What it gave:]\n{shown}"
    facts: dict[str, JsonValue] = {
        **outcome.data,
        "call": request.task.call,
        "status": status.value,
        "end": end.kind.value,
        "by": request.by,
    }
    notice = await _kept(world, request, "task_ended", text, {**facts, "full": full})
    await asyncio.to_thread(record.drop_environment)
    return Watched(notice=notice, offset=end.stored_bytes, has_ended=True)


def how(end: CommandEnd) -> str:
    """How a command ended, in a few words."""
    if end.sandbox_error:
        return f"its sandbox could not be started ({end.sandbox_error})"
    words = {
        EndKind.EXITED: f"exit code {end.exit_code}",
        EndKind.SIGNAL: f"signal {end.signal}",
        EndKind.DEADLINE: "its time was over",
        EndKind.SILENCE: "it printed nothing for too long",
        EndKind.CANCELLED: "it was stopped",
        EndKind.UNKNOWN: f"nobody knows how ({end.note or 'its runner died'})",
    }
    return words[end.kind]


async def _refused(call: Call, spec: CommandSpec, task: TaskRecord, end: CommandEnd) -> list[str]:
    """What its sandbox refused to it, a line each."""
    try:
        held = await reheld(ground_of(call), spec, task.command, is_outside=task.is_outside)
        return await asyncio.to_thread(held.report, end)
    except ToolError as error:
        return [f"[what the sandbox refused is not known: {error}]"]


async def _call(world: World, request: WatchRequest, task: TaskRecord) -> Call:
    """The call that started it, as far as its end depends on it."""
    context = await read_context(world.store, request.context)
    exchange, _, place = request.task.call.partition(".")
    workspace = Path(task.workspace or context.cwd)
    return Call(
        world=world,
        session=request.session,
        exchange=int(exchange),
        place=int(place),
        key=request.task.key,
        record=world.journal.call(request.session, request.task.key),
        workspace=workspace,
        cwd=Path(task.cwd),
        seen=world.seen(request.session),
        settings=context.settings,
    )


async def _kept(world: World, request: WatchRequest, what: str, text: str, facts: dict[str, JsonValue]) -> str:
    """Store the notice, masked, and tell watchers at once; its digest."""
    text = await asyncio.to_thread(world.masker(request.session).text, clean(text))
    data: dict[str, JsonValue] = {"task": request.task.id, "number": request.number, **facts}
    body = NoticeBody(what=what, text=text, shown=True, data=data)
    digest = await world.store.put(canonical(body.model_dump(mode="json")))
    world.publish(request.session, Notice(what=what, text=text[:2_000]))
    return digest
