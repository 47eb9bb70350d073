"""The warm start: the same as a cold one, and harmless when it dies."""

import asyncio
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from activities.processes.attach import run_command, start
from activities.processes.command import EndKind
from activities.processes.warm import WarmStart
from tests.activities.processes.place import Place, until
from tests.fakes.waiting import eventually

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="looks into /proc")

ROOT = Path(__file__).parents[3]


@pytest.fixture
def warm() -> Iterator[WarmStart]:
    with WarmStart() as it:
        # A process that has just begun its program has no arguments yet for those who look.
        eventually(helpers, 10, "the helper is there")
        yield it


def helpers() -> list[psutil.Process]:
    """Helpers of this process."""
    return [each for each in psutil.Process().children() if "runner.serve" in " ".join(each.cmdline())]


async def test_a_command_started_warm_ends_as_any_other(place: Place, warm: WarmStart) -> None:
    end = await run_command(place.folder, place.spec("echo hi; ls /proc/self/fd; sleep 60 & exit 3"), starter=warm)
    assert (end.kind, end.exit_code, end.leftovers, place.text().split()[0]) == (EndKind.EXITED, 3, 1, "hi")
    assert {word for word in place.text().split() if word.isdigit()} == {"0", "1", "2", "3", "210"}


async def test_many_at_once_are_each_started_once(tmp_path: Path, warm: WarmStart) -> None:
    places = [Place(tmp_path / str(number)) for number in range(8)]
    for each in places:
        each.path.mkdir()
    specs = [each.spec(f'echo x >> "$EFFECTS"; exit {number}') for number, each in enumerate(places)]
    runs = [
        run_command(each.folder, spec, starter=warm) for each, spec in zip(places, specs, strict=True) for _ in "ab"
    ]
    ends = await asyncio.wait_for(asyncio.gather(*runs), 60)
    assert [end.exit_code for end in ends] == [number for number in range(8) for _ in "ab"]
    assert [each.count() for each in places] == [1] * 8


async def test_a_dead_helper_is_replaced(place: Place, warm: WarmStart) -> None:
    (helper,) = helpers()
    helper.kill()
    end = await run_command(place.folder, place.spec("exit 3"), starter=warm)
    assert end.exit_code == 3


@pytest.mark.journey
async def test_a_command_outlives_the_helper_that_started_it(place: Place, warm: WarmStart) -> None:
    await asyncio.to_thread(start, place.folder, place.spec("sleep 0.3; echo done"), warm)
    warm.close()
    assert helpers() == []
    assert (await place.run("never")).exit_code == 0
    assert place.text() == "done\n"


async def test_a_folder_that_cannot_be_used_is_told_and_spoils_nothing(place: Place, warm: WarmStart) -> None:
    (place.folder / "output").mkdir(parents=True)
    with pytest.raises(IsADirectoryError, match="directory"):
        await run_command(place.folder, place.spec("exit 3"), starter=warm)
    (place.folder / "output").rmdir()
    assert (await run_command(place.folder, place.spec("exit 3"), starter=warm)).exit_code == 3
    eventually(lambda: len(helpers()) == 1, 10, "there is one helper")


async def test_the_helper_ends_with_its_worker() -> None:
    program = (
        "import time; from activities.processes.warm import WarmStart\n"
        "warm = WarmStart(); warm.warm_up(); print(warm._helper.pid, flush=True); time.sleep(60)"
    )
    worker = subprocess.Popen([sys.executable, "-c", program], cwd=ROOT, stdout=subprocess.PIPE)
    assert worker.stdout
    helper = int(worker.stdout.readline())
    os.kill(worker.pid, signal.SIGKILL)
    worker.communicate(timeout=30)
    await until(lambda: not psutil.pid_exists(helper) or psutil.Process(helper).status() == psutil.STATUS_ZOMBIE)
