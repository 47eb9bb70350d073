"""TaskOutput: look at what a background task printed."""

import asyncio
from contextlib import suppress

from pydantic import Field, JsonValue

from activities.processes.attach import ended, is_running, watch
from activities.processes.output import stored_bytes
from activities.safety.command_texts import readable
from activities.safety.secrets import may_go_on, shown_output
from activities.tasks.record import found_task
from activities.tasks.words import how
from activities.tool import Call, Tool, ToolInput
from workflows.contracts.messages import Text
from workflows.contracts.tools import Repeat, ToolOutcome

SHOWN = 30_000
"""Bytes of output in one answer."""


class Input(ToolInput):
    task_id: str = Field(min_length=1, description="Id of the task, as its start told it.")
    offset: int | None = Field(default=None, ge=0, description="Byte of the output to begin at; else its end is shown.")
    block: bool = Field(default=True, description="Wait until the task has ended, for as long as `timeout` says.")
    timeout: int = Field(default=30_000, ge=0, le=600_000, description="Milliseconds to wait, at most 600000.")


class TaskOutput(Tool[Input]):
    """Look at the output of a background task, and wait for its end if you like.

    - You are told of a task's end anyway: wait only when there is nothing else to do until then.
    - Without an offset the newest 30,000 bytes are shown. The answer names the byte at which the next look begins.
    """

    name = "TaskOutput"
    input = Input
    is_read_only = True
    may_run_beside_others = True
    repeat = Repeat.SAFE
    timeout = 660

    def summary(self, given: Input) -> str:
        return given.task_id

    async def run(self, call: Call, given: Input) -> ToolOutcome:
        record, task = await asyncio.to_thread(found_task, call.world.journal, call.session, given.task_id)
        if given.block:
            with suppress(TimeoutError):
                await asyncio.wait_for(watch(record.folder), given.timeout / 1000)
        end, size = ended(record.folder), stored_bytes(record.folder)
        begin = max(0, size - SHOWN) if given.offset is None else min(given.offset, size)
        upto = min(size, begin + SHOWN)
        if end is None and upto == size:
            upto = max(begin, size - await asyncio.to_thread(may_go_on, record.folder, size))
        masker = call.world.masker(call.session)
        data = await asyncio.to_thread(shown_output, masker, record.folder, begin, upto)
        state = (
            f"has ended: {how(end)}" if end else "runs" if is_running(record.folder) else "has ended, nobody knows how"
        )
        left = size - upto
        head = f"[task {task.id} ({task.title}) {state}; bytes {begin} to {upto} of {size}"
        more = f"; {left} more from offset {upto}" if left else f"; the next begin at offset {size}"
        lost = f"; {end.output_bytes - size} bytes after them were not kept" if end and end.output_bytes > size else ""
        facts: dict[str, JsonValue] = {
            "task": task.id,
            "state": "ended" if end else "running",
            "next": upto,
            "size": size,
        }
        return ToolOutcome(content=(Text(text=f"{head}{more}{lost}]\n{readable(data)}"),), data=facts)
