"""recovery: a worker killed in the middle of a command, a server killed in the middle of a turn."""

import time
from functools import partial
from pathlib import Path

from tests.bench.measure import Measure, median
from tests.bench.stage import ended, engine, project
from tests.bench.timed_model import TimedRehearsal, timed
from tests.fakes.rig import Rig
from tests.fakes.waiting import eventually_async
from worker.engine_state import read_state

TRIALS = 3
COMMAND_SECONDS = 2.0


async def measures() -> list[Measure]:
    """Both kills on one engine."""
    async with engine() as running:
        return [await _worker(running), await _server(running)]


async def _worker(running: Rig) -> Measure:
    """From the end of the command, or from the kill if that is later, until the model is asked again."""
    waits, wrong = [], []
    for trial in range(TRIALS):
        log = project(running) / f"effects-{trial}"
        async with timed(_scenario(log)) as model:
            talk = await running.start(model, cwd=log.parent)
            await eventually_async(log.exists, 30, "the command began")
            killed = time.time()
            running.kill_worker()
            result = await ended(talk, 60)
            (outcome,) = await talk.outcomes(result.head)
            lines = log.read_text().split()
            # The command's end is written by the command itself.
            waits.append(model.arrivals[1] - max(killed, float(lines[1]) if len(lines) > 1 else killed))
            if len(lines) != 2 or "true result" not in str(outcome.content):
                wrong.append(f"trial {trial}: {lines}, {outcome.status}")
    note = (
        f"{TRIALS} kills: {', '.join(f'{wait:.2f}' for wait in waits)} s after the command's end; {TRIALS} true results"
    )
    return Measure(
        "worker killed in a command: going on",
        f"{max(waits):.1f} s, ran once" if not wrong else "WRONG",
        "<= 5 s, ran once",
        not wrong and max(waits) <= 5,
        note if not wrong else "; ".join(wrong),
    )


def _scenario(log: Path) -> dict[str, object]:
    command = f"date +%s.%N >> {log}; sleep {COMMAND_SECONDS}; date +%s.%N >> {log}; echo true result"
    return {"replies": [{"content": {"tool": "Bash", "input": {"command": command}}}, "done"]}


async def _server(running: Rig) -> Measure:
    """From the moment the server serves again until the model is asked again."""
    path = project(running) / "small.txt"
    path.write_text("text\n")
    call = {"tool": "Read", "input": {"file_path": str(path)}}
    waits, restarts = [], []
    async with timed({"replies": [{"content": call, "repeat": "always"}]}) as model:
        talk = await running.start(model, cwd=path.parent, once=False)
        for _ in range(TRIALS):
            await _goes_on(model, 5)
            killed = time.time()
            old = running.kill_server()
            await eventually_async(partial(_serves_anew, running, old), 60, "the server is restarted")
            again = time.time()
            asked = await _asked_after(model, again)
            restarts.append(again - killed)
            waits.append(max(0.0, asked - again))
        await talk.interrupt()
        await talk.close()
        await talk.result(30)
    note = (
        f"{TRIALS} kills: {', '.join(f'{wait:.2f}' for wait in waits)} s; the restart itself {median(restarts):.1f} s"
    )
    return Measure(
        "server killed: going on", f"{max(waits):.1f} s", "<= 15 s after its restart", max(waits) <= 15, note
    )


def _serves_anew(running: Rig, old: int) -> bool:
    state = read_state(running.home)
    return state.is_serving and state.server.pid not in {0, old}


async def _goes_on(model: TimedRehearsal, exchanges: int) -> None:
    wanted = len(model.arrivals) + exchanges
    await eventually_async(lambda: len(model.arrivals) >= wanted, 60, "the session works")


async def _asked_after(model: TimedRehearsal, moment: float) -> float:
    await eventually_async(lambda: model.arrivals[-1] > moment, 60, "the session goes on")
    return next(at for at in model.arrivals if at > moment)
