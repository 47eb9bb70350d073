"""A change that dies at any moment is found again: the file is old or new, and ends new, once."""

import random
import subprocess
import sys
import time
from pathlib import Path

import pytest

from activities.stores.digests import digest_of
from activities.tools.write import Write
from tests.fakes.world import make_call, make_world, use

ROOT = Path(__file__).resolve().parents[3]
WRITER = """
import asyncio, sys
from pathlib import Path
from activities.tools.write import Write
from tests.fakes.world import make_call, make_world, use
folder = Path(sys.argv[1])
call = make_call(make_world(folder), folder / "work", "Write")
print("ready", flush=True)
asyncio.run(use(call, Write(), file_path="f", content="new" * 1_000_000))
"""


@pytest.mark.journey
@pytest.mark.parametrize("trial", range(6))
async def test_a_killed_write_is_repeated_to_the_same_end(tmp_path: Path, chance: random.Random, trial: int) -> None:
    work = tmp_path / "work"
    work.mkdir()
    (work / "f").write_bytes(b"old")
    world = make_world(tmp_path)
    world.journal.call("s1", make_call(world, work, "Write").key).write_intent({})
    world.seen("s1").note((work / "f").resolve(), digest_of(b"old"))
    with subprocess.Popen(
        [sys.executable, "-c", WRITER, str(tmp_path)], cwd=ROOT, stdout=subprocess.PIPE, text=True
    ) as writer:
        assert writer.stdout is not None
        assert writer.stdout.readline() == "ready\n"
        time.sleep(chance.random() * 0.06)
        writer.kill()
    assert digest_of((work / "f").read_bytes()) in {digest_of(b"old"), digest_of(b"new" * 1_000_000)}

    told = await use(make_call(world, work, "Write", is_repeat=True), Write(), file_path="f", content="new" * 1_000_000)

    assert (work / "f").read_bytes() == b"new" * 1_000_000
    assert (told.effects[0].before, told.effects[0].after) == (digest_of(b"old"), digest_of(b"new" * 1_000_000))
    assert [path.name for path in work.iterdir()] == ["f"]
