"""What the journal keeps of a background task, and how a task is found by its id."""

import json
from dataclasses import asdict, dataclass
from pathlib import Path

from activities.stores.files import write_atomic
from activities.stores.journal import CallRecord, Journal
from workflows.contracts.errors import ToolError
from workflows.contracts.tasks import TaskKind

NAME = "task.json"


@dataclass(frozen=True)
class TaskRecord:
    """A command that goes on beyond its call; written before it starts."""

    id: str
    kind: str
    command: str
    title: str
    workspace: str
    cwd: str
    at: str = ""
    deadline: float | None = None
    is_outside: bool = False
    """A person let it run outside the sandbox."""


def task_id(kind: TaskKind, key: str) -> str:
    """The id of the task that the call of this key starts: the same whenever it is tried again."""
    return f"{'m' if kind == TaskKind.MONITOR else 'b'}{key[:8]}"


def write_record(record: CallRecord, task: TaskRecord) -> None:
    """Keep it beside the call's other records; on disk when this returns."""
    record.path.mkdir(parents=True, exist_ok=True, mode=0o700)
    write_atomic(record.path / NAME, json.dumps(asdict(task)).encode("ascii"))


def read_record(record: CallRecord) -> TaskRecord | None:
    """The task that this call started; None when it started none, or nothing of it can be read."""
    try:
        told = json.loads((record.path / NAME).read_bytes())
        return TaskRecord(**{name: value for name, value in told.items() if name in TaskRecord.__dataclass_fields__})
    except (OSError, ValueError, TypeError):
        return None


def is_task(folder: Path) -> bool:
    """Whether the call whose records are in that folder started a task."""
    return (folder / NAME).exists()


def found_task(journal: Journal, session: str, named: str) -> tuple[CallRecord, TaskRecord]:
    """The task of that id in the session. Raises ToolError, which names those that there are."""
    tasks = [(record, task) for record in journal.calls(session) if (task := read_record(record)) is not None]
    for record, task in tasks:
        if task.id == named.strip():
            return record, task
    names = ", ".join(f"{task.id} ({task.title})" for _record, task in tasks[-10:])
    raise ToolError(
        f"There is no background task {named[:40]!r}. " + (f"There are: {names}." if names else "None was started.")
    )
