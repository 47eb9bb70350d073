"""TaskStop: stop a background task."""

import asyncio

from pydantic import Field

from activities.processes.attach import end_command, is_running
from activities.safety.command_texts import readable
from activities.safety.secrets import shown_tail
from activities.stores.journal import Journal
from activities.tasks.record import found_task, read_record
from activities.tasks.words import how
from activities.tool import Call, Tool, ToolInput
from workflows.contracts.directives import DropTask
from workflows.contracts.errors import ToolError
from workflows.contracts.messages import Text
from workflows.contracts.tools import Repeat, ToolOutcome

SHOWN = 4_000


class Input(ToolInput):
    task_id: str = Field(min_length=1, description="Id of the task, as its start told it.")


class TaskStop(Tool[Input]):
    """End a background task and all that it started; the end of its output is shown."""

    name = "TaskStop"
    input = Input
    is_read_only = True
    repeat = Repeat.CHECKED
    timeout = 60

    def summary(self, given: Input) -> str:
        return given.task_id

    async def run(self, call: Call, given: Input) -> ToolOutcome:
        record, task = await asyncio.to_thread(found_task, call.world.journal, call.session, given.task_id)
        if not is_running(record.folder) and not call.is_repeat:
            running = await asyncio.to_thread(_running, call.world.journal, call.session)
            others = f"These run: {running}." if running else "None runs."
            raise ToolError(f"Task {task.id} has ended already. {others}")
        end = await end_command(record.folder)
        masker = call.world.masker(call.session)
        tail = readable(await asyncio.to_thread(shown_tail, masker, record.folder, SHOWN, end))
        text = f"Task {task.id} ({task.title}) has ended: {how(end) if end else 'it never began'}.\n{tail}"
        return ToolOutcome(
            content=(Text(text=text.rstrip("\n")),),
            directives=(DropTask(task=task.id),),
            data={"task": task.id, "end": end.kind.value if end else "prevented"},
        )


def _running(journal: Journal, session: str) -> str:
    """The tasks that run, for whoever named another."""
    calls = [record for record in journal.calls(session) if is_running(record.folder)]
    return ", ".join(f"{task.id} ({task.title})" for record in calls if (task := read_record(record)))
