"""A place for commands, whose processes are gone when the test is."""

import asyncio
from collections.abc import Iterator
from pathlib import Path

import pytest

from activities.processes.attach import end_command
from tests.activities.processes.place import Place


@pytest.fixture
def place(tmp_path: Path) -> Iterator[Place]:
    """A place whose processes are gone when the test is."""
    here = Place(tmp_path)
    yield here
    if here.folder.exists():
        asyncio.run(end_command(here.folder))
    assert here.alive() == []
