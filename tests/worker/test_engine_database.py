"""A database appears whole or not at all."""

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from activities.stores.home import Home
from worker.engine_database import clear_draft, draft_path, publish_draft
from worker.engine_state import database_path


@pytest.fixture
def home(tmp_path: Path) -> Home:
    home = Home(tmp_path / "home")
    home.ensure()
    return home


def make_draft(home: Home, mode: str) -> sqlite3.Connection:
    database = sqlite3.connect(draft_path(home))
    database.execute(f"PRAGMA journal_mode={mode}")
    database.execute("CREATE TABLE known (name)")
    database.execute("INSERT INTO known VALUES ('kept')")
    database.commit()
    return database


def test_what_stands_in_the_drafts_log_is_in_the_database(home: Home) -> None:
    with closing(make_draft(home, "wal")):
        publish_draft(home)
    with closing(sqlite3.connect(f"file:{database_path(home)}?mode=ro&immutable=1", uri=True)) as database:
        assert database.execute("SELECT name FROM known").fetchall() == [("kept",)]
    assert list(home.engine.glob("*draft*")) == []


def test_a_database_that_took_no_notice_of_the_pragma_is_refused(home: Home) -> None:
    with closing(make_draft(home, "delete")), pytest.raises(sqlite3.OperationalError, match="wal"):
        publish_draft(home)
    assert not database_path(home).exists()


def test_a_damaged_draft_is_refused(home: Home) -> None:
    draft_path(home).write_bytes(b"\0" * 9_000)
    with pytest.raises(sqlite3.Error):
        publish_draft(home)
    assert not database_path(home).exists()


def test_a_draft_is_cleared_with_all_its_files(home: Home) -> None:
    for companion in ("", "-wal", "-shm"):
        (home.engine / f"temporal.db.draft{companion}").touch()
    database_path(home).touch()
    clear_draft(home)
    assert [path.name for path in home.engine.iterdir()] == ["temporal.db"]
