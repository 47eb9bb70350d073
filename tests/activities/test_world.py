"""A worker keeps the files open of the sessions that it works for."""

from pathlib import Path

import pytest

from tests.fakes.world import make_world
from workflows.contracts.events import Notice


def told(text: str) -> Notice:
    return Notice(turn=1, what="test", text=text)


def test_the_session_that_is_worked_for_keeps_its_feed_open(tmp_path: Path) -> None:
    world = make_world(tmp_path)
    world.publish("busy", told("0"))
    feed = world.logs["busy"]
    for number in range(100):
        world.publish(f"other{number}", told("once"))
        world.publish("busy", told(f"{number}"))
    assert world.logs["busy"] is feed
    assert len(world.logs) == 64


@pytest.mark.parametrize("is_busy", [True, False])
def test_what_a_session_has_read_stays_in_memory_while_it_is_used(tmp_path: Path, is_busy: bool) -> None:
    world = make_world(tmp_path)
    seen = world.seen("first")
    for number in range(100):
        world.seen(f"other{number}")
        if is_busy:
            world.seen("first")
    assert (world.seen("first") is seen) == is_busy
