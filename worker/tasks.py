"""The background tasks of this host: what its journal knows of them, and what they printed."""

import os
import time
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime

from activities.processes import claim
from activities.processes.attach import ended, is_running
from activities.processes.command import CommandEnd
from activities.processes.output import read_output, read_tail, stored_bytes
from activities.stores.home import Home
from activities.stores.journal import CallRecord, Journal
from activities.stores.maskers import Maskers
from activities.stores.masking import Masker
from activities.tasks.record import TaskRecord, found_task, read_record
from activities.tasks.words import how
from workflows.contracts.errors import ToolError, UsageError
from workflows.contracts.transcript import stamp

SHOWN = 30_000
"""Newest bytes of an output that are shown."""

LOOK_S = 0.2


@dataclass(frozen=True)
class TaskHere:
    """One task that was started on this host."""

    session: str
    id: str
    title: str
    command: str
    is_running: bool
    state: str
    """`running`, or how it ended."""
    started: str
    """ISO 8601 UTC."""
    output_bytes: int


def tasks_here(home: Home, session: str) -> list[TaskHere]:
    """The tasks of a session, oldest first; none when it ran elsewhere, or so long ago that nothing is kept."""
    calls, masker = Journal(home.journal).calls(session), Maskers(home, os.environ).of(session)
    found = [_task(session, masker, record, task) for record in calls if (task := read_record(record)) is not None]
    return sorted(found, key=lambda task: task.started)


def task_here(home: Home, session: str, named: str) -> TaskHere:
    """One task of a session; UsageError when this host knows of no such task."""
    record, task = _found(home, session, named)
    return _task(session, Maskers(home, os.environ).of(session), record, task)


def printed(home: Home, session: str, named: str, *, follows: bool = False) -> Iterator[str]:
    """The newest output of a task, secrets masked; with `follows` also what comes until it ends, line by line.

    UsageError when this host knows of no such task.
    """
    record, _ = _found(home, session, named)
    masker = Maskers(home, os.environ).of(session)
    end, size = ended(record.folder), stored_bytes(record.folder)
    if end is not None or not follows:
        yield _text(masker, read_tail(record.folder, SHOWN, end), is_cut=_size(record, end) > SHOWN)
        return
    yield from _followed(masker, record, max(0, size - SHOWN))


def _found(home: Home, session: str, named: str) -> tuple[CallRecord, TaskRecord]:
    journal = Journal(home.journal)
    if session not in journal.sessions():
        raise UsageError(f"Nothing of session {session} is kept on this host: ask where it runs.", reason="no_task")
    try:
        return found_task(journal, session, named)
    except ToolError as error:
        raise UsageError(str(error), reason="no_task") from error


def _followed(masker: Masker, record: CallRecord, offset: int) -> Iterator[str]:
    is_cut = offset > 0
    while True:
        # Looked at before the output is read: what is printed until the end is read after it.
        is_over = not is_running(record.folder)
        data = read_output(record.folder, offset, SHOWN)
        whole = data.rfind(b"\n") + 1 if not is_over and len(data) < SHOWN else len(data)
        if whole:
            yield _text(masker, data[:whole], is_cut=is_cut)
            offset, is_cut = offset + whole, False
        elif is_over:
            return
        else:
            time.sleep(LOOK_S)


def _task(session: str, masker: Masker, record: CallRecord, task: TaskRecord) -> TaskHere:
    end, at = ended(record.folder), claim.facts_of(str(record.folder)).get("at")
    runs = end is None and is_running(record.folder)
    return TaskHere(
        session=session,
        id=task.id,
        title=task.title,
        command=masker.text(task.command),
        is_running=runs,
        state=how(end) if end else "running" if runs else "nobody knows how it ended",
        started=stamp(datetime.fromtimestamp(at, UTC)) if isinstance(at, float) else task.at,
        output_bytes=_size(record, end),
    )


def _size(record: CallRecord, end: CommandEnd | None) -> int:
    return end.output_bytes if end else stored_bytes(record.folder)


def _text(masker: Masker, data: bytes, *, is_cut: bool) -> str:
    text = data.decode("utf-8", "replace")
    # The first line began before: of a secret in it only the end might be seen.
    return masker.text(text[text.find("\n") + 1 :] if is_cut else text)
