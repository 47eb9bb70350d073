"""A real engine for the journeys of the command line."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.fakes.command_line import Cli
from tests.fakes.stranger import home_for
from worker.engine import Home


@pytest.fixture(scope="module")
def served() -> Iterator[Home]:
    """One engine with the real worker for the journeys of a module."""
    with home_for(is_up=True) as home:
        yield home


@pytest.fixture
def cli(served: Home, tmp_path: Path) -> Cli:
    """The command line with the shared engine, in a folder of its own."""
    return Cli(served, tmp_path)


@pytest.fixture
def lone(tmp_path: Path) -> Iterator[Cli]:
    """The command line with a home that has no engine; what is started is ended."""
    with home_for(is_up=False) as home:
        yield Cli(home, tmp_path)
