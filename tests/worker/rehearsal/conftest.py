"""A stage for rehearsal models, and scenario files."""

from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack
from pathlib import Path

import pytest

from tests.worker.rehearsal.stage import Stage


@pytest.fixture
async def stage() -> AsyncIterator[Stage]:
    async with AsyncExitStack() as closing:
        yield Stage(closing)


@pytest.fixture
def scenario_file(tmp_path: Path) -> Callable[[str], Path]:
    """Writes a scenario file."""

    def write(text: str) -> Path:
        file = tmp_path / "scenario.yaml"
        file.write_text(text, encoding="utf-8")
        return file

    return write
