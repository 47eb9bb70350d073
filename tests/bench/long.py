"""long: one prompt of 1,000 exchanges, watched: history, carried input, the worker's memory, the audit."""

import asyncio
import os
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from activities.events import follow_all
from tests.bench.growth import carried
from tests.bench.measure import Measure, median, not_measured
from tests.bench.stage import ended, engine, perdure, project
from tests.bench.timed_model import TimedRehearsal, timed
from tests.bench.timeline import Exchange, exchanges, history, run_ids
from tests.fakes.rig import Rig, Talk
from tests.fakes.waiting import eventually_async
from workflows.contracts.ids import session_workflow
from workflows.contracts.settings import Thresholds

EXCHANGES = int(os.environ.get("PERDURE_BENCH_EXCHANGES", "1000"))
EARLY = EXCHANGES // 10
ROLL_EVENTS = 12 * EARLY
RESULT_LINES = 48
MOST_BYTES, MOST_EVENTS = 3_072, 14
SECONDS = 0.8
"""Seconds an exchange may take on a loaded machine before the bench gives up."""


async def measures() -> list[Measure]:
    """The session once; then what it left is looked at."""
    async with engine() as running:
        path = project(running) / "notes.txt"
        path.write_text("".join(f"{line:04d} {'lorem ipsum dolor sit amet ' * 3}\n" for line in range(RESULT_LINES)))
        call = {"tool": "Read", "input": {"file_path": str(path)}}
        scenario = {"limits": {"window": 10_000_000}, "replies": [{"content": call, "repeat": EXCHANGES}, "done"]}
        async with timed(scenario, strict=False) as model:
            began = time.monotonic()
            talk = await running.start(model, cwd=path.parent, thresholds=Thresholds(roll_events=ROLL_EVENTS))
            early, late, seen = await _watched(running, talk, model)
            took = time.monotonic() - began
        runs = await run_ids(running.client, session_workflow(talk.session))
        found = [await exchanges(running.client, session_workflow(talk.session), "ask_model", run) for run in runs]
        return [
            *_history(found, seen),
            await _input(running, talk, runs),
            _memory(early, late, model.sizes[-1], took),
            await _audit(running.home.root, talk.session),
        ]


async def _watched(running: Rig, talk: Talk, model: TimedRehearsal) -> tuple[int, int, int]:
    """Follow it to its end; the worker's memory at a tenth and at the end, and how many events a watcher saw."""
    stop = asyncio.Event()
    seen = 0

    async def watch() -> None:
        nonlocal seen
        async for _ in follow_all(running.home.events, talk.session, stop=stop):
            seen += 1

    watching = asyncio.ensure_future(watch())
    limit = EXCHANGES * SECONDS
    await eventually_async(lambda: len(model.answers) >= EARLY, limit, f"exchange {EARLY}")
    early = resident(running.worker_pid())
    await eventually_async(lambda: len(model.answers) >= EXCHANGES, limit, f"exchange {EXCHANGES}")
    late = resident(running.worker_pid())
    await ended(talk, 60)
    stop.set()
    await watching
    return early, late, seen


def resident(pid: int) -> int:
    """Bytes of memory that the process has in use."""
    fields = Path(f"/proc/{pid}/statm").read_text().split()
    return int(fields[1]) * os.sysconf("SC_PAGE_SIZE")


def _history(found: Sequence[Sequence[Exchange]], seen: int) -> list[Measure]:
    # The first and the last exchange of a run stand beside its start and its roll.
    whole = [one for run in found for one in run[1:-1]]
    early, late = whole[3:13], whole[-10:]
    size, events = median([one.size for one in whole]), median([one.events for one in whole])
    most = max(one.events for one in whole)
    first, last = median([one.size for one in early]), median([one.size for one in late])
    watched = f"{len(found)} runs; most events of one exchange {most}; a live watcher saw {seen} events of the feed"
    return [
        Measure(
            "history of an exchange",
            f"{size / 1024:.2f} KB, {events:.0f} events",
            "<= 3 KB, <= 14 events",
            size <= MOST_BYTES and events <= MOST_EVENTS,
            watched,
        ),
        Measure(
            f"history at exchange {EXCHANGES:,} against 10",
            f"{last / first:.3f} x",
            "within 10 %",
            abs(last / first - 1) <= 0.1,
            f"{first:.0f} B at exchanges 5-14, {last:.0f} B at the last ten",
        ),
    ]


async def _input(running: Rig, talk: Talk, runs: Sequence[str]) -> Measure:
    """What each new run is given, in bytes; at exchange 5,000 as the core's own functions make it."""
    sizes = []
    for run in runs[1:]:
        first = await anext(history(running.client, session_workflow(talk.session), run))
        started = first.workflow_execution_started_event_attributes
        sizes.append(sum(len(payload.data) for payload in started.input.payloads))
    name, target = "continue-as-new input at 5,000 against 100", "within 10 %"
    if len(sizes) < 2:
        return not_measured(name, target, "the session did not roll twice")
    at_100, at_5000 = carried(100), carried(5_000)
    real = f"real rolls: {sizes[0]:,} B the first (exchange ~{EARLY}), {sizes[-1]:,} B the last (~{EXCHANGES})"
    note = f"{real}; by the core's functions: {at_100:,} B at 100, {at_5000:,} B at 5,000 (not run for real)"
    worst = max(at_5000 / at_100, sizes[-1] / sizes[0])
    return Measure(name, f"{worst:.3f} x", target, abs(worst - 1) <= 0.1, note)


def _memory(early: int, late: int, request: int, took: float) -> Measure:
    limit = early + 4 * request
    return Measure(
        f"worker memory at exchange {EXCHANGES:,}",
        f"{late / 1e6:.0f} MB",
        f"<= {limit / 1e6:.0f} MB",
        late <= limit,
        f"{early / 1e6:.0f} MB at {EARLY} + 4 x the last request of {request / 1e6:.1f} MB; "
        f"the session took {took:.0f} s",
    )


async def _audit(home: Path, session: str) -> Measure:
    began = time.monotonic()
    done = await asyncio.to_thread(perdure, home, "audit", session, "--verify")
    took = (time.monotonic() - began) * 1000 / EXCHANGES
    name, target = "audit --verify of 1,000 exchanges", "< 10 s"
    if done.returncode:
        print(done.stdout[-500:], done.stderr[-500:], file=sys.stderr)
        return not_measured(name, target, f"exit code {done.returncode}: {done.stderr.strip()[-150:]}")
    return Measure(name, f"{took:.1f} s", target, took < 10, done.stdout.strip().splitlines()[-1][:110])
