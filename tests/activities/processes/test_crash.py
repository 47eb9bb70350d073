"""Kill at any moment: a command runs once, with its true end, or its outcome is called unknown and nothing is left."""

import asyncio
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from activities.processes import claim
from activities.processes.command import EndKind
from tests.activities.processes.place import Place

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="the tree kill needs a subreaper")

ROOT = Path(__file__).parents[3]
TEXT = 'echo x >> "$EFFECTS"; echo first; (setsid sleep 60 &); sleep 0.05; echo last; exit 5'

# Forked, not started: what is killed is the work, not the import of Python.
WORKER = """
import asyncio, os, sys
from pathlib import Path
from activities.processes.attach import run_command
from activities.processes.command import CommandSpec, shell
for line in sys.stdin:
    folder, key, cwd, effects, text = line.rstrip("\\n").split("\\t")
    child = os.fork()
    if not child:
        os.setsid()
        environment = {"PATH": os.environ["PATH"], "EFFECTS": effects}
        spec = CommandSpec(key=key, argv=shell(text), cwd=cwd, environment=environment)
        asyncio.run(run_command(Path(folder), spec))
        os._exit(0)
    print(child, flush=True)
    os.waitpid(child, 0)
"""


Workers = subprocess.Popen[str]


@pytest.fixture(scope="module")
def workers() -> Iterator[Workers]:
    """A process that forks a worker for each line it is given and prints its pid."""
    process = subprocess.Popen(
        [sys.executable, "-c", WORKER], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=ROOT
    )
    yield process
    process.communicate(timeout=30)


def fork_worker(workers: Workers, place: Place) -> int:
    """The pid of a worker that runs the command of a place."""
    fields = (place.folder, place.key, place.path, place.effects, TEXT)
    assert workers.stdin
    assert workers.stdout
    workers.stdin.write("\t".join(map(str, fields)) + "\n")
    workers.stdin.flush()
    return int(workers.stdout.readline())


def runners_of(place: Place) -> list[int]:
    """Starter, warden and runner of a place, as far as they live."""
    found = psutil.process_iter(["cmdline"])
    return [each.pid for each in found if {str(place.folder), "-I"} <= set(each.info["cmdline"] or [])]


def kill(pid: int) -> None:
    try:
        os.kill(pid, signal.SIGKILL)
    except ProcessLookupError:
        return


async def worker_dies(place: Place, workers: Workers, moment: float) -> None:
    worker = fork_worker(workers, place)
    time.sleep(moment)
    kill(worker)
    end = await place.run(TEXT)
    assert (end.kind, end.exit_code, place.text(), place.count()) == (EndKind.EXITED, 5, "first\nlast\n", 1)
    assert place.alive() == []


async def runner_dies(place: Place, workers: Workers, moment: float, chance: random.Random) -> str:
    fork_worker(workers, place)
    time.sleep(moment)
    targets = runners_of(place)
    killed = chance.choice(targets) if targets else 0
    if killed:
        kill(killed)
    end = await place.run(TEXT)
    if end.kind is EndKind.SIGNAL and killed == claim.number(claim.facts_of(str(place.folder)), "session"):
        # It looked like its runner still: the command itself was killed before it became its shell, and that is told.
        assert (end.signal, place.count()) == (signal.SIGKILL, 0)
    elif end.kind is not EndKind.UNKNOWN:
        assert (end.kind, end.exit_code, place.text(), place.count()) == (EndKind.EXITED, 5, "first\nlast\n", 1)
    assert place.count() <= 1
    await asyncio.sleep(0.02)
    assert place.alive() == []
    return str(end.kind)


@pytest.mark.journey
@pytest.mark.parametrize("trial", range(15))
async def test_a_worker_killed_at_any_moment_leaves_a_command_run_once_with_its_true_end(
    place: Place, workers: Workers, chance: random.Random, trial: int
) -> None:
    await worker_dies(place, workers, chance.uniform(0, 0.2))


@pytest.mark.journey
@pytest.mark.parametrize("trial", range(10))
async def test_a_runner_killed_at_any_moment_never_doubles_a_command_and_leaves_nothing(
    place: Place, workers: Workers, chance: random.Random, trial: int
) -> None:
    await runner_dies(place, workers, chance.uniform(0, 0.2), chance)


@pytest.mark.soak
@pytest.mark.parametrize("trial", range(200))
async def test_a_worker_killed_at_many_moments(
    place: Place, workers: Workers, chance: random.Random, trial: int
) -> None:
    await worker_dies(place, workers, chance.uniform(0, 0.25))


@pytest.mark.soak
@pytest.mark.parametrize("trial", range(200))
async def test_a_runner_killed_at_many_moments(
    place: Place, workers: Workers, chance: random.Random, trial: int
) -> None:
    await runner_dies(place, workers, chance.uniform(0, 0.25), chance)
