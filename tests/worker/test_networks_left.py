"""What `perdure down` ends beside commands."""

from pathlib import Path

import pytest

from activities.safety.sandbox import network
from activities.stores.home import Home
from tests.fakes.held import missing
from worker.networks_left import end_networks

pytestmark = [pytest.mark.journey, pytest.mark.skipif(bool(missing(1)), reason=f"no namespaces: {missing(1)}")]


def test_no_network_of_a_session_is_left(tmp_path: Path) -> None:
    home = Home(tmp_path / "home")
    folder = home.journal / "s1" / "sandbox" / "network"
    asked: dict[str, object] = {"allowed": [], "denied": [], "engine": "", "upstream": None}
    with network.network(folder, asked, home.root):
        assert network.find(folder) is not None
    end_networks(home)
    assert network.find(folder) is None
    end_networks(home)
