"""The audit outlives the engine: a run's history is kept in the store and named in the chain."""

from pathlib import Path

import pytest

from activities.housekeeping import archive_history
from activities.safety.sandbox import network
from activities.world import RunHistory
from tests.fakes.held import missing
from tests.fakes.world import make_world
from workflows.contracts.session_steps import ArchiveRequest
from workflows.contracts.transcript import NoticeBody

DATA = b'{"events": [{"eventId": "1"}, {"eventId": "2"}]}'


class OneRun:
    """An engine with one run."""

    async def fetch(self, workflow_id: str, run_id: str) -> RunHistory:
        """Its history."""
        assert (workflow_id, run_id) == ("session-s1", "r1")
        return RunHistory(DATA, 2)


REQUEST = ArchiveRequest(session="s1", workflow_id="session-s1", run_id="r1", head="", at="2026-01-02T03:04:05.006Z")


async def test_a_history_is_stored_as_it_is_and_named_with_its_length(tmp_path: Path) -> None:
    world = make_world(tmp_path, histories=OneRun())
    archived = await archive_history(world, REQUEST)
    assert await world.store.get(archived.history) == DATA
    body = (await world.transcript.entry(archived.head)).body
    assert isinstance(body, NoticeBody)
    assert (body.what, body.data["history"], body.data["events"]) == ("archived_history", archived.history, 2)


@pytest.mark.journey
@pytest.mark.skipif(bool(missing(1)), reason=f"no namespaces: {missing(1)}")
async def test_the_sessions_network_ends_with_the_run_unless_a_command_uses_it(tmp_path: Path) -> None:
    world = make_world(tmp_path, histories=OneRun())
    folder = world.home.journal / "s1" / "sandbox" / "network"
    asked: dict[str, object] = {"allowed": [], "denied": [], "engine": "", "opened": "", "upstream": None}
    with network.network(folder, asked, world.home.root):
        await archive_history(world, REQUEST)
        assert network.find(folder) is not None
    await archive_history(world, REQUEST)
    assert network.find(folder) is None
