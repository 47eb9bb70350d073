"""sandbox: what holding `true` costs over a bare spawn, tier by tier, as the Bash tool runs it."""

import os
import subprocess
import time
from dataclasses import replace
from pathlib import Path

from activities.processes.warm import WarmStart
from activities.safety.sandbox import network
from activities.tools.bash import Bash
from activities.world import World
from tests.bench.measure import Measure, median, not_measured, spread
from tests.bench.stage import folder
from tests.fakes.held import missing
from tests.fakes.world import SESSION, make_call, make_world, use
from workflows.contracts.sandbox import SandboxSettings
from workflows.contracts.settings import SessionSettings

ROUNDS = 40
LIMITS = {1: 15, 2: 10}
"""Milliseconds over a bare spawn."""


async def measures() -> list[Measure]:
    """Bare and held in turn, so that all meet the same load."""
    shown = {tier: why for tier in LIMITS if (why := missing(tier))}
    kinds = {0: SandboxSettings(enabled=False)} | {n: SandboxSettings(tier=n) for n in LIMITS if n not in shown}
    took: dict[int, list[float]] = {kind: [] for kind in kinds}
    with folder() as root, WarmStart() as start:
        world = replace(make_world(root), environment={"PATH": os.environ["PATH"]}, start_runner=start)
        subprocess.run(["git", "init", "-q", str(root / "work")], check=True)
        for turn in range(ROUNDS + 2):
            for place, (kind, settings) in enumerate(kinds.items()):
                seconds = await _one(world, root / "work", turn * len(kinds) + place, settings)
                # The first rounds probe, and make the session's network.
                took[kind] += [seconds * 1000] if turn > 1 else []
        network.end(world.home.journal / SESSION / "sandbox" / "network")
    found = [not_measured(_name(tier), f"<= {LIMITS[tier]} ms", why) for tier, why in shown.items()]
    for tier in kinds:
        if tier:
            over = median(took[tier]) - median(took[0])
            note = f"{spread(took[tier])} against {spread(took[0])}"
            found.append(Measure(_name(tier), f"{over:.1f} ms", f"<= {LIMITS[tier]} ms", over <= LIMITS[tier], note))
    return found


def _name(tier: int) -> str:
    return f"`true` in tier {tier}, over a bare spawn"


async def _one(world: World, workspace: Path, number: int, settings: SandboxSettings) -> float:
    call = make_call(world, workspace, "Bash", number, settings=SessionSettings(sandbox=settings))
    began = time.perf_counter()
    await use(call, Bash(), command="true")
    return time.perf_counter() - began
