"""starts: how long the command line takes to say its version, its help and the list of sessions."""

import asyncio
import subprocess
import sys
import time
from pathlib import Path

from tests.bench.measure import Measure, median, spread
from tests.bench.stage import PERDURE, engine, surroundings

ROUNDS = 15
LIMITS = {"--version": 8, "--help": 15, "ls": 25}


async def measures() -> list[Measure]:
    """Each in turn with a bare Python, so that all meet the same load."""
    async with engine() as running:
        took = await asyncio.to_thread(_rounds, running.home.root)
    bare = median(took["bare"])
    return [
        Measure(
            f"perdure {word}",
            f"{median(took[word]) / bare:.1f} x a bare start",
            f"<= {limit} x",
            median(took[word]) / bare <= limit,
            f"{spread(took[word], digits=0)} against {spread(took['bare'], digits=0)}",
        )
        for word, limit in LIMITS.items()
    ]


def _rounds(home: Path) -> dict[str, list[float]]:
    commands = {"bare": [sys.executable, "-c", "pass"], **{word: [str(PERDURE), word] for word in LIMITS}}
    took: dict[str, list[float]] = {name: [] for name in commands}
    for turn in range(ROUNDS + 1):
        for name, command in commands.items():
            began = time.perf_counter()
            subprocess.run(command, env=surroundings(home), stdout=subprocess.DEVNULL, check=True)
            # The first round warms the disk's cache.
            took[name] += [(time.perf_counter() - began) * 1000] if turn else []
    return took
