"""The keeper starts a killed worker's successor, passes on orders to stop, and is not fooled by a crash loop."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import psutil
import pytest

from tests.fakes.waiting import eventually

pytestmark = pytest.mark.journey

_WORKER = """
import os, sys, time
from pathlib import Path
from worker.successor import Keeper

folder = Path(sys.argv[1])

def work() -> int:
    (folder / str(os.getpid())).touch()
    while not (folder / "exit").exists():
        time.sleep(0.02)
    return 7

sys.exit(Keeper().keep(work, ()))
"""


@pytest.fixture
def keeper(tmp_path: Path) -> subprocess.Popen[bytes]:
    """A keeper whose workers write their pids as names of files, and leave with 7 once told."""
    return subprocess.Popen([sys.executable, "-c", _WORKER, str(tmp_path)])


def workers(folder: Path) -> list[int]:
    return [int(path.name) for path in folder.iterdir() if path.name.isdigit()]


def next_worker(folder: Path, known: list[int]) -> int:
    return eventually(lambda: [pid for pid in workers(folder) if pid not in known], 20, "another worker")[0]


def test_a_killed_worker_has_a_successor_until_it_is_killed_too_often(
    keeper: subprocess.Popen[bytes], tmp_path: Path
) -> None:
    known: list[int] = []
    for _ in range(4):
        known.append(next_worker(tmp_path, known))
        os.kill(known[-1], signal.SIGKILL)
    assert keeper.wait(20) == 128 + signal.SIGKILL
    assert sorted(workers(tmp_path)) == sorted(known)


def test_a_worker_that_leaves_by_itself_has_no_successor(keeper: subprocess.Popen[bytes], tmp_path: Path) -> None:
    next_worker(tmp_path, [])
    (tmp_path / "exit").touch()
    assert keeper.wait(20) == 7
    assert len(workers(tmp_path)) == 1


def test_an_order_to_stop_reaches_the_worker(keeper: subprocess.Popen[bytes], tmp_path: Path) -> None:
    pid = next_worker(tmp_path, [])
    keeper.terminate()
    assert keeper.wait(20) == 128 + signal.SIGTERM
    assert not psutil.pid_exists(pid)


def test_a_worker_ends_with_its_keeper(keeper: subprocess.Popen[bytes], tmp_path: Path) -> None:
    pid = next_worker(tmp_path, [])
    keeper.kill()
    keeper.wait(20)
    eventually(lambda: not psutil.pid_exists(pid), 10, "the worker is gone")
