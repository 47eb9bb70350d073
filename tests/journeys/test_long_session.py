"""One prompt of a thousand exchanges with 4 KB results: it finishes, and neither history nor state grows with it."""

import time
from pathlib import Path

import pytest

from tests.fakes.rig import Rig, played
from worker.rehearsal.record import Recorded
from workflows.contracts.session import TurnEnd
from workflows.contracts.settings import Thresholds
from workflows.contracts.tools import CallStatus

pytestmark = [pytest.mark.journey, pytest.mark.asyncio(loop_scope="module")]

WINDOW = 10_000_000


async def run_long(rig: Rig, folder: Path, exchanges: int, seconds: float) -> None:
    """One prompt whose model reads a file of 4 KB so often, then ends."""
    (folder / "a.txt").write_text("".join(f"{number:062d}\n" for number in range(65)))
    call = {"content": {"tool": "Read", "id": "call_1", "input": {"file_path": "a.txt"}}, "repeat": exchanges - 1}
    limits = {"window": WINDOW, "body": 256 * 1024 * 1024}
    async with played({"limits": limits, "replies": [call, "All read."]}, kept_bytes=64 * 1024 * 1024) as model:
        began = time.monotonic()
        talk = await rig.start(
            model,
            cwd=folder,
            thresholds=Thresholds(roll_events=2_000),
            settings={"window": WINDOW},
        )
        result = await talk.result(seconds)
        took = time.monotonic() - began
        first, last = _pace(model.requests, 0), _pace(model.requests, -100)
        print(f"{exchanges} in {took:.0f} s; a hundred took {first:.0f} s at first, {last:.0f} s at last")
        assert (result.end, model.refusals, result.totals.exchanges) == (TurnEnd.DONE, 0, exchanges)
        outcomes = await talk.outcomes(result.head)
        assert [outcome.exchange for outcome in outcomes] == list(range(1, exchanges))
        assert {outcome.status for outcome in outcomes} == {CallStatus.OK}
        assert len(model.requests) == exchanges


def _pace(requests: list[Recorded], start: int) -> float:
    """Seconds of a hundred exchanges."""
    some = requests[start:][:100]
    return float(some[-1].at - some[0].at)


@pytest.mark.timeout(600)
async def test_a_thousand_exchanges_finish(rig: Rig, tmp_path: Path) -> None:
    await run_long(rig, tmp_path, 1_000, 570)


@pytest.mark.soak
@pytest.mark.timeout(7200)
async def test_six_thousand_exchanges_finish(rig: Rig, tmp_path: Path) -> None:
    await run_long(rig, tmp_path, 6_000, 7_000)
