"""A world of one test, and the folder that its session works in."""

from pathlib import Path

import pytest

from activities.world import World
from tests.fakes.world import make_world


@pytest.fixture
def world(tmp_path: Path) -> World:
    return make_world(tmp_path)


@pytest.fixture
def work(tmp_path: Path) -> Path:
    (tmp_path / "work").mkdir()
    return tmp_path / "work"
