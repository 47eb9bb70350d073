"""Start a command that goes on beyond its call, or let one go on that its call has waited for long enough."""

import asyncio
from dataclasses import dataclass
from datetime import UTC, datetime

from activities.processes import claim
from activities.processes.attach import ended, start
from activities.processes.command import CommandSpec
from activities.processes.output import stored_bytes
from activities.safety.bash.syntax import parse
from activities.safety.command_texts import readable
from activities.safety.sandbox.hold import ground_of, hold
from activities.safety.secrets import progress_text, shown_output
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
SHOWN = 10_000
"""Newest bytes of the output of a command that goes on."""


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
    record = _record(call, spec, begun)
    # A runner that has begun keeps what its sandbox needs for as long as the command runs.
    async with hold(ground_of(call), spec, begun.command, is_outside=begun.is_outside) as held:
        await asyncio.to_thread(_start, call, held.spec, record)
    end = ended(call.record.folder)
    if end is not None and (end.sandbox_error or not end.is_started):
        raise ToolError(
            f"The command could not be started: {end.sandbox_error or end.note or end.kind}. It did not run."
        )
    return _outcome(call, begun, record, _told(begun, record.id, is_last=call.once), held.tier.name)


def may_go_on(call: Call, command: str) -> bool:
    """Whether a command may become a task once its call has waited long enough, instead of being ended (spec 05 §2).

    Not a mere wait, nothing with git, which would hold its locks, and nothing that cannot be read. In a session that
    ends with its turn nobody would hear of it.
    """
    if call.tasks >= MOST_TASKS or call.once or call.settings.bash_silence:
        return False
    script = parse(command)
    names = [one.name for one in script.commands]
    return bool(names) and not script.problem and names[0] != "sleep" and "git" not in names


async def go_on(call: Call, spec: CommandSpec, begun: Begun, seconds: float, tier: str) -> ToolOutcome:
    """Make a task of the call's own command, which still runs after those seconds; what it printed so far is shown."""
    record = _record(call, spec, begun)
    await asyncio.to_thread(write_record, call.record, record)
    printed = await asyncio.to_thread(_printed, call)
    told = f"[it still runs after {seconds:g} s and goes on in the background] {_told(begun, record.id)}"
    return _outcome(call, begun, record, f"{printed}\n{told}" if printed else told, tier)


def _printed(call: Call) -> str:
    folder = call.record.folder
    size = stored_bytes(folder)
    masker = call.world.masker(call.session)
    newest = shown_output(masker, folder, max(0, size - SHOWN), size)
    shown = readable(progress_text(masker, newest, is_cut=size > SHOWN).encode())
    return f"[the newest of {size:,} bytes]\n{shown}" if size > SHOWN else shown


def _record(call: Call, spec: CommandSpec, begun: Begun) -> TaskRecord:
    title = call.world.masker(call.session).text(clean(" ".join((begun.title or begun.command).split())))[:TITLE]
    return TaskRecord(
        id=task_id(begun.kind, call.key),
        kind=begun.kind.value,
        command=begun.command,
        title=title,
        workspace=str(call.workspace),
        cwd=spec.cwd,
        at=stamp(datetime.now(UTC)),
        deadline=spec.deadline,
        is_outside=begun.is_outside,
    )


def _outcome(call: Call, begun: Begun, record: TaskRecord, text: str, tier: str) -> ToolOutcome:
    task = Task(
        id=record.id, kind=begun.kind, call=call_id(call.exchange, call.place), key=call.key, title=record.title
    )
    return ToolOutcome(
        content=(Text(text=text),),
        effects=(Effect(kind="command", path=record.cwd),),
        directives=(StartTask(task=task),),
        data={"task": record.id, "sandbox": tier},
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


def _told(begun: Begun, named: str, *, is_last: bool = False) -> str:
    hears = "each new line of its output and its end" if begun.kind == TaskKind.MONITOR else "its end"
    begins = f"It runs in the background as task {named}. You are told of {hears} without asking; TaskOutput shows its "
    if is_last:
        return (
            f"{begins}output and waits for its end, TaskStop ends it. This session ends with your last word, and the "
            "task with it: before you say it, wait with TaskOutput for what you need."
        )
    return f"{begins}output, TaskStop ends it. Go on with something else meanwhile; do not wait for it with sleep."
