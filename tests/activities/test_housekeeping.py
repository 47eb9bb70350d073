"""The audit outlives the engine: a run's history is kept in the store and named in the chain."""

from pathlib import Path

from activities.housekeeping import archive_history
from activities.world import RunHistory
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


async def test_a_history_is_stored_as_it_is_and_named_with_its_length(tmp_path: Path) -> None:
    world = make_world(tmp_path, histories=OneRun())
    request = ArchiveRequest(
        session="s1", workflow_id="session-s1", run_id="r1", head="", at="2026-01-02T03:04:05.006Z"
    )
    archived = await archive_history(world, request)
    assert await world.store.get(archived.history) == DATA
    body = (await world.transcript.entry(archived.head)).body
    assert isinstance(body, NoticeBody)
    assert (body.what, body.data["history"], body.data["events"]) == ("archived_history", archived.history, 2)
