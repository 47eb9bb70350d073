"""Monitor: hear of each line that a command prints, while you go on with something else."""

import asyncio

from pydantic import Field

from activities.processes.command import CommandSpec, shell
from activities.safety.command_texts import KEPT, shown_whole, summed_up
from activities.safety.environment import command_environment
from activities.tasks.start import Begun, start_task
from activities.tool import Call, Tool, ToolInput
from workflows.contracts.errors import ToolError
from workflows.contracts.tasks import TaskKind
from workflows.contracts.tools import Repeat, ToolOutcome


class Input(ToolInput):
    command: str = Field(min_length=1, description="The command, as bash reads it. Each line it prints is an event.")
    description: str = Field(min_length=1, description="What is watched for, in a few words.")
    timeout_ms: int = Field(default=300_000, ge=1, le=86_400_000, description="Milliseconds after which it is ended.")
    persistent: bool = Field(default=False, description="Let it run until the session ends, without a time limit.")


class Monitor(Tool[Input]):
    """Run a command in the background and be told of the lines it prints, as they come.

    - For waiting on something outside: a log, a build, a state that changes. Let the command print only what matters
      (`grep --line-buffered`), since every line costs you attention; lines in quick succession are told together, at
      most once in five seconds.
    - It is ended after five minutes, or after `timeout_ms`; with `persistent` it runs until TaskStop or the end of the
      session. You are told of its end as well.
    """

    name = "Monitor"
    input = Input
    repeat = Repeat.ONCE
    attaches = True
    judged_as = "Bash"
    timeout = 120

    def summary(self, given: Input) -> str:
        return summed_up(given.command)

    async def content(self, call: Call, given: Input) -> str:
        return await asyncio.to_thread(shown_whole, call, given.command)

    async def run(self, call: Call, given: Input) -> ToolOutcome:
        if not call.cwd.is_dir():
            raise ToolError(f"The session's folder {call.cwd} is gone, so no command can start in it.")
        spec = CommandSpec(
            key=call.key,
            argv=shell(given.command),
            cwd=str(call.cwd),
            environment=command_environment(call),
            deadline=None if given.persistent else given.timeout_ms / 1000,
            silence=None,
            output_cap=KEPT,
        )
        return await start_task(call, spec, Begun(TaskKind.MONITOR, given.command, given.description))
