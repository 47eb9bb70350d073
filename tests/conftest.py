"""What every test may ask for: a home of its own, and chance that can be repeated."""

import atexit
import os
import random
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.fakes.held import BARE, missing, write_settings
from tests.fakes.leftovers import end_processes_of

SEED = "PERDURE_SEED"
HOMES = "PERDURE_TEST_HOMES"
"""Folder for the homes of tests, so that a CI run can find and end all that it started."""


def pytest_configure() -> None:
    """Choose the seed once, so that test workers started later share it; leave the tester's own settings out."""
    os.environ.setdefault(SEED, str(random.SystemRandom().randrange(2**32)))
    if BARE not in os.environ:
        os.environ[BARE] = missing(1)
    files = (".claude/settings.json", ".config/perdure/settings.json")
    if os.environ[BARE] or any(Path.home().joinpath(name).exists() for name in files):
        # Their rules would take part in every session that a test starts.
        os.environ["HOME"] = tempfile.mkdtemp(prefix="pd-user-")
        atexit.register(shutil.rmtree, os.environ["HOME"], ignore_errors=True)
    if os.environ[BARE]:
        write_settings(Path.home())


def pytest_sessionstart(session: pytest.Session) -> None:
    """Print the seed first, so that a run that is cut off has told it too."""
    reporter = session.config.pluginmanager.get_plugin("terminalreporter")
    if reporter is not None and not hasattr(session.config, "workerinput"):
        reporter.write_line(f"seed {os.environ[SEED]} (the same again: {SEED}={os.environ[SEED]})")
        if why := os.environ[BARE]:
            reporter.write_line(f"no full sandbox here, so commands of most tests run without one: {why}")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Begin with the files that are allowed most time, so that none is left at the end while the other core rests."""
    longest: dict[Path, float] = {}
    for item in items:
        mark = item.get_closest_marker("timeout")
        seconds = float(mark.args[0]) if mark and mark.args else 0.0
        longest[item.path] = max(longest.get(item.path, 0.0), seconds)
    items.sort(key=lambda item: -longest[item.path])


@pytest.fixture(scope="session")
def seed() -> int:
    """The seed of this whole run, printed at its start."""
    return int(os.environ[SEED])


@pytest.fixture
def chance(seed: int, request: pytest.FixtureRequest) -> random.Random:
    """Chance for one test, the same again under the same seed, whatever else runs."""
    return random.Random(f"{seed} {request.node.nodeid}")


@pytest.fixture
def home(monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """An empty PERDURE_HOME on a path short enough for sockets; what still runs under it is ended afterwards."""
    folder = Path(tempfile.mkdtemp(prefix="pd-", dir=os.environ.get(HOMES, "/tmp")))
    monkeypatch.setenv("PERDURE_HOME", str(folder))
    yield folder
    end_processes_of(folder)
    shutil.rmtree(folder, ignore_errors=True)
