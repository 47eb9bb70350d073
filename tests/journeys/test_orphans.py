"""A session that goes on keeps the command it waits for, and no other."""

import asyncio
import os
from dataclasses import replace
from pathlib import Path

import pytest

from activities.processes.attach import is_running, start
from activities.processes.command import CommandSpec
from activities.world import World
from tests.fakes.rig import Rig, played
from tests.fakes.waiting import eventually_async
from tests.fakes.world import make_world
from worker.orphans import end_orphans, forget_closed

pytestmark = [pytest.mark.journey, pytest.mark.asyncio(loop_scope="module")]


def world_of(rig: Rig) -> World:
    """What the rig's worker sees of its home."""
    return replace(make_world(rig.home.root.parent), engine="embedded")


async def test_a_call_under_way_is_awaited_and_one_of_an_earlier_reply_is_not(rig: Rig, tmp_path: Path) -> None:
    world = world_of(rig)
    wait = {"tool": "Bash", "input": {"command": "touch began; while [ ! -e go ]; do sleep 0.05; done; echo done"}}
    async with played({"replies": ["hello", {"content": [wait]}, "all done"]}) as model:
        talk = await rig.start(model, cwd=tmp_path, once=False)
        await talk.until("idle")
        left = world.journal.call(talk.session, os.urandom(32).hex())
        left.write_intent({"tool": "Bash", "exchange": 1, "place": 0, "engine": "embedded"})
        spec = CommandSpec(key=left.key, argv=("sleep", "60"), cwd="/", environment={"PATH": "/usr/bin:/bin"})
        await asyncio.to_thread(start, left.folder, spec)
        await talk.send("again")
        await eventually_async((tmp_path / "began").exists, 30, "the command began")
        assert await end_orphans(rig.client, world) == [talk.session]
        await eventually_async(lambda: not is_running(left.folder))
        (tmp_path / "go").touch()
        snapshot = await talk.until("idle")
        assert [body.crash for body in await talk.outcomes(snapshot.state.head)] == [""]
        assert await forget_closed(rig.client, world) == []
        await talk.close()
        await talk.result(30)
