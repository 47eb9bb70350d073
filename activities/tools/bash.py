"""Bash: run a command."""

import asyncio
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from pydantic import Field

from activities.processes.attach import end_command, ended, is_running, run_for
from activities.processes.command import CommandEnd, CommandProgress, CommandSpec, shell
from activities.processes.output import read_tail
from activities.safety.command_texts import KEPT, outcome_of, shown_whole, summed_up
from activities.safety.environment import command_environment
from activities.safety.paths import is_inside
from activities.safety.sandbox.hold import Hold, ground_of, hold, openable_hosts, outside_findings
from activities.safety.sandbox.named_hosts import CLOSED
from activities.safety.shown_files import note_shown
from activities.tasks.start import Begun, go_on, may_go_on, start_task
from activities.tool import Call, Tool, ToolInput
from workflows.contracts.errors import ToolError
from workflows.contracts.permissions import Finding
from workflows.contracts.tasks import TaskKind
from workflows.contracts.tools import Repeat, ToolOutcome

LONGEST = 600_000
"""Milliseconds that a command may ask for (spec 05 §2)."""

PROGRESS_BYTES = 16_384
"""Of them the newest are shown; a secret in them is seen whole."""


class Input(ToolInput):
    command: str = Field(description="The command, as bash reads it.", min_length=1)
    timeout: int | None = Field(default=None, description="Milliseconds it may run, at most 600000.", ge=1)
    description: str = Field(default="", description="What it does, in five to ten words.")
    run_in_background: bool = Field(default=False, description="Go on at once; you are told when the command ends.")
    dangerouslyDisableSandbox: bool = Field(  # noqa: N815 - the name that models know
        default=False,
        description="Ask a person to let it run outside the sandbox; only after the sandbox refused what it needs.",
    )


class Bash(Tool[Input]):
    """Run a command in bash and return what it printed, both streams together, and how it ended.

    - Each command is a new shell. The folder it ends in is where the next one starts, as long as that is inside the
      workspace; variables, functions and aliases do not last. Standard input is empty.
    - You wait for 120 seconds or as long as the person set, or `timeout` milliseconds (at most 600000). A command that
      still runs then goes on in the background, as if it had been started there; one that begins with sleep, calls git
      or cannot be read is ended with all it started. When a command returns, whatever it left running is ended too.
    - With `run_in_background` the call returns at once and the command goes on, without a time limit unless `timeout`
      names one: for servers, watchers, long builds. You are told of its end; TaskOutput and TaskStop take its id.
    - Long output is shown by its beginning and its end; the note between names a `result:` that Read and Grep take.
    - It runs in a sandbox: it may change the workspace and its own /tmp, which other tools do not see; the home folder
      is hidden but for tools; only hosts that the person allowed are reached. What was refused is told in the result,
      with the setting that would allow it: say so to the person, and do not try to get around it. Where it says that
      they opened a host, run the command again if you still want it.
    - Prefer Read, Grep, Glob, Edit and Write to cat, grep, find and sed.
    """

    name = "Bash"
    input = Input
    repeat = Repeat.ONCE
    attaches = True
    result_limit = 160_000
    """Of what a hook puts in its place: an output is cut where it is read."""
    timeout = LONGEST // 1000

    def summary(self, given: Input) -> str:
        return summed_up(given.command)

    async def content(self, call: Call, given: Input) -> str:
        return await asyncio.to_thread(shown_whole, call, given.command)

    def findings(self, call: Call, given: Input) -> tuple[Finding, ...]:
        return _outside(call, given)

    async def run(self, call: Call, given: Input) -> ToolOutcome:
        folder, seconds = call.record.folder, _seconds(call, given)
        goes_on = await asyncio.to_thread(may_go_on, call, given.command)
        spec = CommandSpec(
            key=call.key,
            argv=shell(given.command),
            cwd=str(_start_folder(call)),
            environment=command_environment(call),
            deadline=None if goes_on else seconds,
            silence=float(call.settings.bash_silence) or None,
            output_cap=KEPT,
        )
        is_outside = given.dangerouslyDisableSandbox
        begun = Begun(TaskKind.COMMAND, given.command, given.description, is_outside=is_outside)
        if given.run_in_background:
            limit = seconds if given.timeout is not None else None
            return await start_task(call, replace(spec, deadline=limit, silence=None), begun)

        def tell(progress: CommandProgress) -> None:
            call.progress(read_tail(folder, PROGRESS_BYTES), progress.stored_bytes)

        async with hold(ground_of(call), spec, given.command, is_outside=is_outside) as held:
            end = await _ended(call, held, seconds if goes_on else None, tell)
            if end is None:
                return await go_on(call, spec, begun, seconds, held.tier.name)
            if end.sandbox_error:
                raise ToolError(f"The sandbox could not be started: {end.sandbox_error}. The command did not run.")
            notes = await asyncio.to_thread(held.report, end)
            closed = await asyncio.to_thread(openable_hosts, call.record.path)
            told = await outcome_of(call, given.command, spec, end, notes)
            await asyncio.to_thread(note_shown, call, given.command, end)
        refused = sum(note.startswith("[sandbox denial") for note in notes)
        said = {"sandbox": held.tier.name, "sandbox_denials": refused, "sandbox_told": [*notes], CLOSED: [*closed]}
        return told.model_copy(update={"data": {**told.data, **said}})

    async def cancel(self, call: Call, given: Input) -> bool:
        await end_command(call.record.folder)
        # A runner that has told its end may live for a moment longer.
        return ended(call.record.folder) is not None or not is_running(call.record.folder)


def _outside(call: Call, given: Input) -> tuple[Finding, ...]:
    return outside_findings(call, given.command, is_outside=given.dangerouslyDisableSandbox)


async def _ended(
    call: Call, held: Hold, seconds: float | None, tell: Callable[[CommandProgress], None]
) -> CommandEnd | None:
    """How the command ended; None when it still runs after those seconds. Raises ToolError when it never began."""
    try:
        return await run_for(call.record.folder, held.spec, seconds, tell, call.world.start_runner)
    except TimeoutError:
        # Its runner may still come: whether it did is settled before anything is said of it.
        settled = await end_command(call.record.folder)
        if settled is None or not settled.is_started:
            raise ToolError("The command could not be started in time. It did not run.") from None
        return settled
    except OSError as error:
        raise ToolError(f"The command could not be started: {error}. It did not run.") from error


def _start_folder(call: Call) -> Path:
    if call.cwd.is_dir() and is_inside(call.cwd, call.workspace):
        return call.cwd
    if call.workspace.is_dir():
        return call.workspace
    raise ToolError(f"The session's folder {call.workspace} is gone, so no command can start in it.")


def _seconds(call: Call, given: Input) -> float:
    wanted = given.timeout if given.timeout is not None else call.settings.bash_timeout * 1000
    return min(wanted, LONGEST) / 1000
