"""perdure tasks: the background tasks of sessions, what they print, and their end."""

import asyncio
import json
import sys
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated

import typer

from cli.commands.sessions import AsJson, age
from cli.display.cells import one_line, safe_output
from cli.gateway import open_sessions
from cli.line import Listed
from cli.person import check_person
from cli.sessions import Sessions
from cli.signing import as_person
from worker.engine import Home
from worker.tasks import TaskHere, printed, task_here, tasks_here
from workflows.contracts.errors import UsageError

if TYPE_CHECKING:  # reading contracts takes longer than listing tasks
    from workflows.contracts.session import Snapshot

STOP_LIMIT_S = 10.0
"""How long the end of a task is waited for before it is only said to be coming."""


def tasks(
    session: Annotated[str, typer.Argument(metavar="ID", help="Only this session's, also those that ended.")] = "",
    task: Annotated[str, typer.Argument(metavar="TASK", help="Show the newest output of this one.")] = "",
    follow: Annotated[bool, typer.Option("--follow", "-f", help="Go on showing it until the task ends.")] = False,
    stop: Annotated[bool, typer.Option("--stop", help="End the task and all that it started.")] = False,
    as_json: AsJson = False,
) -> None:
    """List what runs in the background of all sessions, or of one; show what a task prints, or end it."""
    home = Home.from_environment()
    if as_json and (follow or stop):
        raise UsageError("--json is for lists and for one task's newest output, without --follow and --stop.")
    if (follow or stop) and not task:
        raise UsageError("Which task? Say `perdure tasks ID TASK`, with --follow or --stop.")
    if stop:
        check_person("perdure tasks --stop")
        print(asyncio.run(_stop(home, session, task)))
    elif task and as_json:
        name = asyncio.run(_name(home, session))
        told = {**asdict(task_here(home, name, task)), "output": "".join(printed(home, name, task))}
        print(json.dumps(told, indent=2))
    elif task:
        for piece in printed(home, asyncio.run(_name(home, session)), task, follows=follow):
            sys.stdout.write(safe_output(piece))
            sys.stdout.flush()
    else:
        _show(asyncio.run(_list(home, session)), as_json=as_json)


async def _name(home: Home, word: str) -> str:
    return (await (await open_sessions(home)).find(word)).session


async def _list(home: Home, word: str) -> list[TaskHere]:
    sessions = await open_sessions(home)
    if word:
        return await _of(sessions, home, await sessions.find(word))
    found = await sessions.sessions('ExecutionStatus = "Running"')
    each = await asyncio.gather(*(_of(sessions, home, one) for one in found))
    return [task for tasks in each for task in tasks if task.is_running]


async def _of(sessions: Sessions, home: Home, listed: Listed) -> list[TaskHere]:
    here = tasks_here(home, listed.session)
    snapshot = await sessions.snapshot(listed.session) if listed.is_open and not here else None
    return here or _elsewhere(listed, snapshot)


def _elsewhere(listed: Listed, snapshot: "Snapshot | None") -> list[TaskHere]:
    """The open tasks of a session whose host is not this one, as far as it tells of them itself."""
    state = f"running on {listed.host_name or listed.host}"
    open_tasks = snapshot.state.tasks if snapshot else ()
    return [
        TaskHere(
            session=listed.session, id=task.id, title=task.title, command="", is_running=True, state=state,
            started="", output_bytes=0,
        )
        for task in open_tasks
    ]  # fmt: skip


async def _stop(home: Home, word: str, task: str) -> str:
    sessions = await open_sessions(home)
    name = (await sessions.find(word)).session
    if not await sessions.stop_task(name, task, f"{as_person()} with perdure tasks"):
        known = ", ".join(one.id for one in tasks_here(home, name) if one.is_running)
        others = f"These do: {known}." if known else "None does."
        raise UsageError(f"No task {task[:40]} of session {name} runs. {others}", reason="no_task")
    if await sessions.has_ended(name, task, STOP_LIMIT_S):
        return f"Task {task} of session {name} has ended; its agent is told."
    return f"Task {task} of session {name} is being ended; perdure tasks {name} tells when it is done."


def _show(found: list[TaskHere], *, as_json: bool) -> None:
    if as_json:
        print(json.dumps([asdict(one) for one in found], indent=2))
        return
    rows = [("SESSION", "TASK", "AGE", "BYTES", "STATE", "TITLE")] + [
        (one.session, one.id, age(one.started), f"{one.output_bytes:,}", one_line(one.state), one_line(one.title))
        for one in found
    ]
    if not found:
        print("Nothing runs in the background.", file=sys.stderr)
        return
    sizes = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    for row in rows:
        print("  ".join(cell.ljust(size) for cell, size in zip(row, sizes, strict=True)).rstrip())
