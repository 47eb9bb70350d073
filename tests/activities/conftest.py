"""What tests of activities leave running is ended."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from activities.safety.sandbox import network


@pytest.fixture(autouse=True)
def _networks_end(tmp_path: Path) -> Iterator[None]:
    """End the networks of the sessions that a test played in its folder; by themselves they wait five minutes."""
    yield
    for facts in tmp_path.glob("**/sandbox/network/network.json"):
        network.end(facts.parent)
