"""headless: one prompt with one shell call from the command line, beyond the model's time: cold and warm."""

import asyncio
import time
from pathlib import Path

from activities.stores.home import Home
from tests.bench.measure import Measure, median
from tests.bench.stage import folder, perdure
from tests.bench.timed_model import TimedRehearsal, timed
from worker.engine import down

WARM = 5
SCENARIO = {"replies": [{"content": {"tool": "Bash", "input": {"command": "echo hello"}}}, "All is said."]}


async def measures() -> list[Measure]:
    """The first run starts the engine in a new home; those after it find it."""
    with folder() as root:
        (root / "project").mkdir()
        async with timed(SCENARIO) as model:
            try:
                cold = await _run(root, model)
                warm = [await _run(root, model) for _ in range(WARM)]
            finally:
                await asyncio.to_thread(down, Home(root / "home"))
    note = "run -p at an endpoint of the bench, whose time is taken off"
    return [
        Measure("headless prompt, one shell call, cold", f"{cold:.2f} s", "<= 6 s", cold <= 6, f"{note}; new home"),
        Measure(
            "headless prompt, one shell call, warm",
            f"{median(warm):.2f} s",
            "<= 1.5 s",
            median(warm) <= 1.5,
            ", ".join(f"{took:.2f}" for took in warm),
        ),
    ]


async def _run(root: Path, model: TimedRehearsal) -> float:
    """Seconds of one run beyond the model's time."""
    words = ("run", "-p", "--permission-mode", "bypassPermissions", "--cwd", str(root / "project"), "say hello")
    more = {"ANTHROPIC_BASE_URL": model.url, "ANTHROPIC_API_KEY": "bench", "PERDURE_MODEL": "rehearsal"}
    asked = len(model.answers)
    began = time.monotonic()
    done = await asyncio.to_thread(perdure, root / "home", *words, more=more)
    took = time.monotonic() - began
    assert done.returncode == 0, done.stderr[-500:]
    assert "All is said." in done.stdout, done.stdout
    return took - sum(model.answers[asked:]) / 1000
