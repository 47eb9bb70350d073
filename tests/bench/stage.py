"""A home and a project in a short temporary folder, with an engine of its own."""

import asyncio
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path

from activities.stores.home import Home
from tests.fakes.rig import Rig, Talk, rig
from worker.engine import wait_for_worker
from workflows.contracts.session import SessionResult


@contextmanager
def folder() -> Iterator[Path]:
    """A temporary folder with a short path: socket names are bounded."""
    root = Path(tempfile.mkdtemp(prefix="pdb-")).resolve()
    try:
        yield root
    finally:
        shutil.rmtree(root, ignore_errors=True)


@asynccontextmanager
async def engine() -> AsyncIterator[Rig]:
    """An engine with one worker that polls."""
    with folder() as root:
        (root / "project").mkdir()
        async with rig(Home(root / "home")) as running:
            await asyncio.to_thread(wait_for_worker, running.home, 30)
            await warmed(running)
            yield running


PERDURE = Path(sys.executable).with_name("perdure")


def surroundings(home: Path, more: Mapping[str, str] | None = None) -> dict[str, str]:
    """Environment of a command of that home: nothing that leads to another model or server."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("TEMPORAL_", "ANTHROPIC_"))}
    return {**kept, "PERDURE_HOME": str(home), "TERM": "xterm-256color", **(more or {})}


def perdure(home: Path, *words: str, more: Mapping[str, str] | None = None) -> "subprocess.CompletedProcess[str]":
    """Run a command of perdure to its end, within two minutes."""
    return subprocess.run(
        [PERDURE, *words],
        cwd=home.parent,
        env=surroundings(home, more),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


def project(running: Rig) -> Path:
    """The folder in which the sessions work."""
    return running.home.root.parent / "project"


async def warmed(running: Rig) -> None:
    """One small session, so that no measure pays for a first import."""
    from tests.bench.timed_model import timed

    async with timed({"fallback": "done"}) as model:
        talk = await running.start(model, cwd=project(running))
        await ended(talk, 60)


async def ended(talk: Talk, seconds: float) -> SessionResult:
    """The session's result. AssertionError when its turn failed."""
    result = await talk.result(seconds)
    assert not result.error, result.error
    return result
