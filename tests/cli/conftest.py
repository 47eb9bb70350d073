"""A real engine for the journeys of the command line."""

import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.fakes.command_line import Cli
from tests.fakes.leftovers import end_processes_of
from worker import engine
from worker.engine import Home
from worker.rehearsals import end_rehearsals


@pytest.fixture(scope="module")
def served() -> Iterator[Home]:
    """One engine with the real worker for the journeys of a module."""
    folder = Path(tempfile.mkdtemp(prefix="pd-", dir="/tmp"))
    home = Home(folder)
    try:
        engine.ensure_up(home)
        assert engine.wait_for_worker(home, 30)
        yield home
    finally:
        engine.down(home)
        end_rehearsals(home)
        end_processes_of(folder)


@pytest.fixture
def cli(served: Home, tmp_path: Path) -> Cli:
    """The command line with the shared engine, in a folder of its own."""
    return Cli(served, tmp_path)


@pytest.fixture
def lone(tmp_path: Path) -> Iterator[Cli]:
    """The command line with a home that has no engine; what is started is ended."""
    folder = Path(tempfile.mkdtemp(prefix="pd-", dir="/tmp"))
    home = Home(folder)
    yield Cli(home, tmp_path)
    engine.down(home)
    end_rehearsals(home)
    end_processes_of(folder)
