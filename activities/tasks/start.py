"""Start a command that goes on beyond its call."""

import asyncio
from dataclasses import dataclass
from datetime import UTC, datetime

from activities.processes import claim
from activities.processes.attach import ended, start
from activities.processes.command import CommandSpec
from activities.safety.sandbox.hold import ground_of, hold
from activities.tasks.record import TaskRecord, task_id, write_record
from activities.tool import Call
from workflows.contracts.directives import StartTask
from workflows.contracts.errors import ToolError
from workflows.contracts.ids import call_id
from workflows.contracts.messages import Text, clean
from workflows.contracts.tasks import MOST_TASKS, Task, TaskKind
from workflows.contracts.tools import Effect, ToolOutcome
from workflows.contracts.transcript import stamp

TITLE = 40


@dataclass(frozen=True)
class Begun:
    """What is to be started, and how it is told."""

    kind: TaskKind
    command: str
    title: str
    is_outside: bool = False


async def start_task(call: Call, spec: CommandSpec, begun: Begun) -> ToolOutcome:
    """Start the command once, however often this is tried, and name its task. Raises ToolError when it cannot be."""
    if call.tasks >= MOST_TASKS and not call.is_repeat:
        raise ToolError(f"{call.tasks} background tasks run already. End one with TaskStop, or wait for one to end.")
    named = task_id(begun.kind, call.key)
    title = call.world.masker(call.session).text(clean(" ".join((begun.title or begun.command).split())))[:TITLE]
    record = TaskRecord(
        id=named,
        kind=begun.kind.value,
        command=begun.command,
        title=title,
        workspace=str(call.workspace),
        cwd=spec.cwd,
        at=stamp(datetime.now(UTC)),
        deadline=spec.deadline,
        is_outside=begun.is_outside,
    )
    # A runner that has begun keeps what its sandbox needs for as long as the command runs.
    async with hold(ground_of(call), spec, begun.command, is_outside=begun.is_outside) as held:
        await asyncio.to_thread(_start, call, held.spec, record)
    end = ended(call.record.folder)
    if end is not None and (end.sandbox_error or not end.is_started):
        raise ToolError(
            f"The command could not be started: {end.sandbox_error or end.note or end.kind}. It did not run."
        )
    task = Task(id=named, kind=begun.kind, call=call_id(call.exchange, call.place), key=call.key, title=title)
    return ToolOutcome(
        content=(Text(text=_told(begun, named)),),
        effects=(Effect(kind="command", path=spec.cwd),),
        directives=(StartTask(task=task),),
        data={"task": named, "sandbox": held.tier.name},
    )


def _start(call: Call, spec: CommandSpec, record: TaskRecord) -> None:
    folder = call.record.folder
    if claim.is_taken(str(folder)):
        return
    write_record(call.record, record)
    try:
        start(folder, spec, call.world.start_runner)
    except TimeoutError as error:
        # Its runner may still come; unless it is kept from it, nobody would know of the command.
        if claim.prevent(str(folder)):
            raise ToolError("The command could not be started in time. It did not run.") from error
    except OSError as error:
        raise ToolError(f"The command could not be started: {error}. It did not run.") from error


def _told(begun: Begun, named: str) -> str:
    hears = "each new line of its output and its end" if begun.kind == TaskKind.MONITOR else "its end"
    return (
        f"It runs in the background as task {named}. You are told of {hears} without asking; TaskOutput shows its "
        f"output, TaskStop ends it. Go on with something else meanwhile; do not wait for it with sleep."
    )
