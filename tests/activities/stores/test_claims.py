"""A dead worker's notes tell its attempts, its workflows and its name; a living one's are nobody's business."""

import signal
import subprocess
import sys
from pathlib import Path

from activities.stores.claims import LINGER_S, MOST_WORKFLOWS, Claims, abandoned
from tests.fakes.waiting import eventually, eventually_async

_DIES = """
import os, signal, sys
from pathlib import Path
from activities.stores.claims import Claims
claims = Claims(Path(sys.argv[1]), "me")
with claims.held("session-done", b"done"):
    pass
with claims.held("session-one", b"token\\nwith lines"):
    os.kill(os.getpid(), signal.SIGKILL)
"""


def dead(folder: Path) -> None:
    """A worker that was killed inside an attempt, after another one had ended."""
    ended = subprocess.run([sys.executable, "-c", _DIES, str(folder)], check=False)
    assert ended.returncode == -signal.SIGKILL


def test_a_dead_workers_attempts_workflows_and_name_are_found_and_forgotten(tmp_path: Path) -> None:
    dead(tmp_path)
    (left,) = abandoned(tmp_path)
    assert left.identity == "me"
    assert left.attempts == (("session-one", b"token\nwith lines"),)
    assert sorted(left.workflows) == ["session-done", "session-one"]
    left.forget()
    assert abandoned(tmp_path) == []


def test_a_living_workers_notes_are_left_alone(tmp_path: Path) -> None:
    claims = Claims(tmp_path, "me")
    with claims.held("session-one", b"token"):
        assert abandoned(tmp_path) == []


async def test_a_note_outlives_its_attempt_for_a_moment(tmp_path: Path) -> None:
    claims = Claims(tmp_path, "me")
    (folder,) = tmp_path.iterdir()
    before = {*folder.iterdir()}
    with claims.held("session-one", b"token"):
        held = {*folder.iterdir()} - before
    assert len(held) == 2
    assert all(path.exists() for path in held)
    await eventually_async(lambda: sum(path.exists() for path in held) == 1, LINGER_S + 5)


def test_workflows_are_noted_up_to_a_bound(tmp_path: Path) -> None:
    claims = Claims(tmp_path, "me")
    for number in range(MOST_WORKFLOWS + 5):
        with claims.held(f"session-{number}", str(number).encode()):
            pass
    (folder,) = tmp_path.iterdir()
    assert eventually(lambda: len([path for path in folder.iterdir() if path.name.startswith("workflow-")])) == 200
