"""A bound activity beats only when it lasts, and then tells what it said before."""

import asyncio
from datetime import timedelta
from pathlib import Path

import pytest
from temporalio.testing import ActivityEnvironment

from activities.binding import BEAT_EVERY, Binding, current_beat
from activities.stores.claims import Claims
from activities.world import World
from tests.fakes.world import make_world
from workflows.contracts.activity_specs import ActivitySpec
from workflows.contracts.session_steps import ArchiveRequest, Settled

SPEC = ActivitySpec("lasting", ArchiveRequest, Settled, timeout=None, heartbeat=timedelta(seconds=5))
GIVEN = ArchiveRequest(session="s", workflow_id="w", run_id="r", head="", at="")


async def _beats(folder: Path, seconds: float) -> list[tuple[object, ...]]:
    """Run an activity of that length that says one thing at once; what it beat."""

    async def lasting(world: World, given: ArchiveRequest) -> Settled:
        current_beat().say("1", "digest")
        await asyncio.sleep(seconds)
        return Settled(head="h")

    environment = ActivityEnvironment()
    beaten: list[tuple[object, ...]] = []
    environment.on_heartbeat = lambda *details: beaten.append(details)
    bound = Binding(SPEC, lasting).as_activity(make_world(folder), "tester", Claims(folder / "claims"))
    assert await environment.run(bound, GIVEN) == Settled(head="h")
    return beaten


async def test_an_activity_that_ends_soon_never_beats(tmp_path: Path) -> None:
    assert await _beats(tmp_path, 0) == []


@pytest.mark.journey
async def test_the_first_beat_tells_what_was_said_before_it(tmp_path: Path) -> None:
    assert (await _beats(tmp_path, BEAT_EVERY * 2))[0] == ("1", "digest")
