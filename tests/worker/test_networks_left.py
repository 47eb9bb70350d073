"""What `perdure down` ends beside commands."""

from pathlib import Path

import pytest

from activities.safety.sandbox import network
from activities.stores.home import Home
from tests.fakes.command_line import Cli
from tests.fakes.held import missing
from tests.fakes.waiting import eventually
from worker.networks_left import end_networks

pytestmark = [pytest.mark.journey, pytest.mark.skipif(bool(missing(1)), reason=f"no namespaces: {missing(1)}")]


def test_no_network_of_a_session_is_left(tmp_path: Path) -> None:
    home = Home(tmp_path / "home")
    folder = home.journal / "s1" / "sandbox" / "network"
    asked: dict[str, object] = {"allowed": [], "denied": [], "engine": "", "opened": "", "upstream": None}
    with network.network(folder, asked, home.root):
        assert network.find(folder) is not None
    end_networks(home)
    assert network.find(folder) is None
    end_networks(home)


def test_a_session_that_has_ended_leaves_no_network(home: Path, tmp_path: Path) -> None:
    cli = Cli(Home(home), tmp_path)
    try:
        model = cli.scenario(replies=[{"content": [{"tool": "Bash", "input": {"command": "true"}}]}], fallback="ok")
        words = ("run", "-p", "--permission-mode", "bypassPermissions", "--once", "--model", model, "go")
        assert cli(*words).returncode == 0
        (folder,) = home.glob("journal/*/sandbox/network")
        eventually(lambda: network.find(folder) is None)
    finally:
        cli("down")
