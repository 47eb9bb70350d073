"""A worker that starts knows which attempts a dead one held."""

import shutil
import subprocess
import sys
import textwrap
from pathlib import Path

from activities.stores.claims import Claims, abandoned


def dead_worker(root: Path) -> None:
    """A worker that is killed while it holds two attempts and has finished a third."""
    program = f"""
        import os, signal
        from pathlib import Path
        from activities.stores.claims import Claims
        claims = Claims(Path({str(root)!r}), "worker@host")
        with claims.held("session-c", b"done"):
            pass
        with claims.held("session-a", b"token\\n1"), claims.held("session-b", bytes(range(256))):
            os.kill(os.getpid(), signal.SIGKILL)
    """
    subprocess.run([sys.executable, "-c", textwrap.dedent(program)], check=False, timeout=30)


def test_what_a_killed_worker_held_is_found_to_the_byte(tmp_path: Path) -> None:
    dead_worker(tmp_path)
    (found,) = abandoned(tmp_path)
    assert sorted(found.attempts) == [("session-a", b"token\n1"), ("session-b", bytes(range(256)))]
    assert sorted(found.workflows) == ["session-a", "session-b", "session-c"]
    assert found.identity == "worker@host"


def test_what_was_given_back_is_forgotten(tmp_path: Path) -> None:
    dead_worker(tmp_path)
    (found,) = abandoned(tmp_path)
    found.forget()
    found.forget()
    assert abandoned(tmp_path) == []


def test_a_living_worker_is_left_alone(tmp_path: Path) -> None:
    claims = Claims(tmp_path)
    with claims.held("session-a", b"token"):
        assert abandoned(tmp_path) == []


def test_an_attempt_that_ended_is_held_no_more(tmp_path: Path) -> None:
    claims = Claims(tmp_path)
    with claims.held("session-a", b"token"):
        (folder,) = tmp_path.iterdir()
        during = {path.name for path in folder.iterdir()}
    after = {path.name for path in folder.iterdir()}
    assert len(during - after) == 1
    assert {"identity", "lock"} <= after


async def test_a_note_outlives_its_attempt_until_the_report_has_arrived(tmp_path: Path) -> None:
    claims = Claims(tmp_path)
    with claims.held("session-a", b"token"):
        (folder,) = tmp_path.iterdir()
        during = sorted(folder.iterdir())
    assert sorted(folder.iterdir()) == during


def test_an_attempt_runs_although_its_note_cannot_be_kept(tmp_path: Path) -> None:
    claims = Claims(tmp_path)
    (folder,) = tmp_path.iterdir()
    shutil.rmtree(folder)
    with claims.held("session-a", b"token"):
        assert abandoned(tmp_path) == []


def test_odd_things_beside_the_notes_do_no_harm(tmp_path: Path) -> None:
    (tmp_path / "a file").write_text("x")
    (tmp_path / "an empty folder").mkdir()
    assert abandoned(tmp_path) == []
    assert abandoned(tmp_path / "nothing") == []


def test_a_torn_note_is_no_attempt(tmp_path: Path) -> None:
    dead_worker(tmp_path)
    (folder,) = tmp_path.iterdir()
    (folder / "torn").write_bytes(b"session-x")
    (found,) = abandoned(tmp_path)
    assert len(found.attempts) == 2
