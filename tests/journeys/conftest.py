"""One engine for the journeys of a file; each test has its own session and folder."""

import shutil
import tempfile
from collections.abc import AsyncIterator
from pathlib import Path

import pytest_asyncio

from activities.stores.home import Home
from tests.fakes.rig import Rig
from tests.fakes.rig import rig as opened


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def rig() -> AsyncIterator[Rig]:
    """A running engine and worker; a short path, since some systems bound the length of socket names."""
    root = Path(tempfile.mkdtemp(prefix="perdure-"))
    try:
        async with opened(Home(root / "home")) as running:
            yield running
    finally:
        shutil.rmtree(root, ignore_errors=True)
