"""The server's database is made under a draft's name: a server that dies while it makes one can never finish it."""

import os
import sqlite3
from contextlib import closing
from pathlib import Path

from activities.stores.files import sync_folder
from activities.stores.home import Home
from worker.engine_state import database_path

_COMPANIONS = ("", "-wal", "-shm", "-journal")


def draft_path(home: Home) -> Path:
    """Where a new database is made."""
    return home.engine / "temporal.db.draft"


def clear_draft(home: Home) -> None:
    """Remove what a server that died has left of a draft; it never held a session."""
    draft = draft_path(home)
    for companion in _COMPANIONS:
        draft.with_name(draft.name + companion).unlink(missing_ok=True)


def publish_draft(home: Home) -> None:
    """Make the finished draft the database, in one step and lasting; its server must be gone.

    OSError or sqlite3.Error when the disk refuses or the draft is not one whole database in WAL mode.
    """
    draft = draft_path(home)
    with closing(sqlite3.connect(draft)) as database:
        busy, _, _ = database.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
        mode = database.execute("PRAGMA journal_mode").fetchone()[0]
    # The server takes any pragma without a word; this one is written in the file and can be read back.
    if busy or mode != "wal":
        raise sqlite3.OperationalError(f"the new database has journal mode {mode}, not wal, or is still in use")
    descriptor = os.open(draft, os.O_RDWR)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
    draft.rename(database_path(home))
    sync_folder(home.engine)
    clear_draft(home)
