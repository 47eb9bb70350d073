"""overhead: what an exchange costs beyond the model's and the tool's own time, against two bare activities."""

import asyncio
import secrets
import time
from pathlib import Path

from tests.bench.floor import QUEUE, Floor, floor_worker
from tests.bench.measure import Measure, median, spread
from tests.bench.stage import ended, engine, project
from tests.bench.timed_model import timed
from tests.bench.timeline import Exchange, exchanges
from tests.fakes.rig import Rig
from worker.engine_state import read_state
from workflows.contracts.ids import session_workflow

EXCHANGES = 70
SETTLED = range(30, 69)
"""Exchanges that are counted: around number 50, when everything is warm."""
ROUNDS = 2
RESULT_BYTES = 4_000
LIMIT = 1.5


async def measures() -> list[Measure]:
    """Sessions and floors in turn, on one engine."""
    async with engine() as running, floor_worker(read_state(running.home).address):
        path = project(running) / "notes.txt"
        path.write_text("".join(f"{line:04d} {'lorem ipsum dolor sit amet ' * 3}\n" for line in range(42)))
        bare, ours, told = [], [], list[Exchange]()
        for _ in range(ROUNDS):
            bare += await _floor(running)
            more, seen = await _session(running, path)
            ours += more
            told += seen
        bare += await _floor(running)
    ratio = median(ours) / median(bare)
    note = f"perdure {spread(ours)}, floor {spread(bare)}; {_where(told, bare)}"
    return [Measure("overhead of an exchange", f"{ratio:.2f} x floor", f"<= {LIMIT} x floor", ratio <= LIMIT, note)]


async def _floor(running: Rig) -> list[float]:
    """Milliseconds of each pair of bare activities."""
    name = f"floor-{secrets.token_hex(4)}"
    await running.client.execute_workflow(Floor.run, EXCHANGES, id=name, task_queue=QUEUE)
    deeds = await exchanges(running.client, name, "nothing")
    begun = [one.began for one in deeds[::2]]
    return [begun[place + 1] - begun[place] for place in SETTLED]


async def _session(running: Rig, path: Path) -> tuple[list[float], list[Exchange]]:
    """Milliseconds of each exchange without the model's and the tool's own time."""
    call = {"tool": "Read", "input": {"file_path": str(path)}}
    async with timed({"replies": [{"content": call, "repeat": EXCHANGES}, "done"]}) as model:
        talk = await running.start(model, cwd=path.parent)
        await ended(talk, 120)
        seen = await exchanges(running.client, session_workflow(talk.session), "ask_model")
        own = await _tool_time(path)
        counted = [seen[place] for place in SETTLED]
        after = [seen[place + 1].began for place in SETTLED]
        answers = [model.answers[place] for place in SETTLED]
    for one, answer in zip(counted, answers, strict=True):
        one.deeds[0].ended -= answer
    took = [end - one.began - answer - own for one, end, answer in zip(counted, after, answers, strict=True)]
    return took, counted


async def _tool_time(path: Path) -> float:
    """Milliseconds that the read itself takes: open, read, number the lines, digest."""
    took = []
    for _ in range(25):
        began = time.perf_counter()
        await asyncio.to_thread(path.read_bytes)
        took.append((time.perf_counter() - began) * 1000)
    return median(took)


def _where(seen: list[Exchange], bare: list[float]) -> str:
    """Where the time goes, by the server's clock."""
    asked, ran = [one.deeds[0] for one in seen], [one.deeds[1] for one in seen]
    parts = {
        "ask_model waits": [deed.waited for deed in asked],
        "runs without the model": [deed.took for deed in asked],
        "run_tool waits": [deed.waited for deed in ran],
        "runs": [deed.took for deed in ran],
    }
    told = ", ".join(f"{name} {median(values):.1f}" for name, values in parts.items())
    return f"{told} ms; the rest is workflow tasks"
