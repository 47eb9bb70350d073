"""A session of twelve exchanges that is disturbed at one of its events, and what must be left of it afterwards."""

import asyncio
import shutil
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from activities.events import follow_all, read_events
from activities.transcript import Link
from tests.fakes.rig import Rig, Told, played
from tests.fakes.waiting import eventually_async
from worker.engine import EngineStatus, status
from worker.rehearsal.server import Rehearsal
from workflows.contracts.messages import Role, ToolUse
from workflows.contracts.model import StopReason
from workflows.contracts.session import SessionResult
from workflows.contracts.tools import CallStatus
from workflows.contracts.transcript import EditBody, MessageBody, NoticeBody, OutcomeBody

Victim = Literal["worker", "server", "both", "nobody"]

EFFECTS = ("one", "two", "three", "four", "five")

_DIFFERS = ("at", "started", "ended", "attempt", "crash", "worker", "unknown", "usage", "cost", "stop", "totals")
"""What times, attempts and crashes change in an entry; the reason of a stop too, since kept blocks are `cut_off`."""

_DIFFERS_IN_DATA = ("seconds",)

_IN_FLIGHT = 0.1
"""Seconds after a kill within which a request was on its way before it."""


def bash(name: str) -> Told:
    """A call of the external program that counts its runs in a file."""
    return {"tool": "Bash", "input": {"command": f"./effect {name}; sleep 0.2; echo {name} done"}}


def read(name: str) -> Told:
    """A call of Read."""
    return {"tool": "Read", "input": {"file_path": name}}


def edit(name: str, old: str, new: str) -> Told:
    """A call of Edit."""
    return {"tool": "Edit", "input": {"file_path": name, "old_string": old, "new_string": new}}


def write(name: str, text: str) -> Told:
    """A call of Write."""
    return {"tool": "Write", "input": {"file_path": name, "content": text}}


_TODO: Told = {
    "tool": "TodoWrite",
    "input": {"todos": [{"content": "Count", "activeForm": "Counting", "status": "in_progress"}]},
}

SCENARIO: Told = {
    "name": "twelve exchanges",
    "pacing": {"first_byte_ms": 20, "token_ms": 2, "chunk": 30},
    "replies": [
        {"content": [read("a.txt"), read("b.txt"), read("c.txt")]},
        {"content": [read("a.txt")]},
        {"content": [edit("a.txt", "alpha", "omega")]},
        {"content": [bash("one")]},
        {"content": [write("new.txt", "first\n")]},
        {"content": [read("b.txt"), bash("two"), read("c.txt")]},
        {"content": [_TODO]},
        {"content": [bash("three")]},
        {"content": [edit("new.txt", "first", "second")]},
        {"content": [bash("four")]},
        {"content": [write("new.txt", "third\n"), bash("five")]},
        "All is counted and written.",
    ],
    "fallback": "Nothing more.",
}


@dataclass(frozen=True)
class Played:
    """One run of the session."""

    result: SessionResult
    links: list[Link]
    effects: Counter[str]
    requests: int
    events: int
    """Events that its feed held at the end."""
    went_on: float
    """Seconds from the kill to the next request to the model; 0 when there was none."""


async def play(rig: Rig, box: Path, victim: Victim = "nobody", at_event: int = 0, seconds: float = 60.0) -> Played:
    """Run the session in a fresh box; the victim is killed when its feed shows this many events."""
    make_box(box)
    async with played(SCENARIO) as model:
        talk = await rig.start(model, "count", cwd=box)
        killing = asyncio.ensure_future(_kill_at(rig, talk.session, victim, at_event))
        result = await talk.result(seconds)
        # What is in the feed by now is seen by whoever follows it.
        await asyncio.wait({killing}, timeout=0.0 if victim == "nobody" else 5.0)
        killing.cancel()
        killed = killing.result() if killing.done() and not killing.cancelled() else 0.0
        await healthy(rig)
        events = list(read_events(rig.home.events, talk.session))
        # How many events tell a text depends on how fast it comes: the last few may not be there in each run.
        assert killed or victim == "nobody" or len(events) < at_event, f"event {at_event} was never seen"
        return Played(
            result,
            await talk.links(result.head),
            effects_of(box),
            len(model.requests),
            len(events),
            _went_on(model, killed),
        )


async def healthy(rig: Rig) -> EngineStatus:
    """Wait until the supervisor has everything running again."""

    async def runs() -> EngineStatus | None:
        now = await asyncio.to_thread(status, rig.home)
        return now if now.is_serving and now.is_polling else None

    return await eventually_async(runs, 60, "engine and worker run again")


def make_box(box: Path) -> None:
    """A folder with three files and the program whose runs are counted."""
    shutil.rmtree(box, ignore_errors=True)
    box.mkdir(parents=True)
    for name, text in {"a.txt": "alpha\n", "b.txt": "beta\n", "c.txt": "gamma\n"}.items():
        (box / name).write_text(text)
    program = box / "effect"
    program.write_text(f'#!/bin/sh\necho "$1" >> {box}/effects.log\n')
    program.chmod(0o755)


def effects_of(box: Path) -> Counter[str]:
    """How often each effect really happened."""
    log = box / "effects.log"
    return Counter(log.read_text().split()) if log.exists() else Counter()


def kill(rig: Rig, victim: Victim) -> None:
    """SIGKILL."""
    if victim in {"server", "both"}:
        rig.kill_server()
    if victim in {"worker", "both"}:
        rig.kill_worker()


async def _kill_at(rig: Rig, session: str, victim: Victim, at_event: int) -> float:
    """Kill when the event appears; the time at which it was done."""
    async for event in follow_all(rig.home.events, session):
        if victim != "nobody" and event["seq"] >= at_event:
            kill(rig, victim)
            return time.time()
    return 0.0


def _went_on(model: Rehearsal, killed: float) -> float:
    if not killed:
        return 0.0
    return next((request.at - killed for request in model.requests if request.at > killed + _IN_FLIGHT), 0.0)


Exchange = dict[str, Any]
"""What one exchange left in the chain: blocks of the reply, outcomes by place, results as the model is shown them."""


def normalised(links: Sequence[Link]) -> list[Exchange]:
    """The chain without what times, attempts and crashes change, exchange by exchange."""
    story: dict[int, Exchange] = {}
    for link in links:
        body = link.entry.body
        if isinstance(body, NoticeBody | EditBody):
            continue
        told = story.setdefault(body.exchange, {"asked": [], "blocks": [], "outcomes": {}, "cut": False, "stray": []})
        shown = _stripped(body.model_dump(mode="json"))
        if isinstance(body, OutcomeBody):
            told["outcomes"].setdefault(str(body.place), []).append(shown)
        elif body.role == Role.ASSISTANT:
            told["blocks"] += [block.model_dump(mode="json") for block in body.blocks]
            told["cut"] = body.stop == StopReason.CUT_OFF
        else:
            told["asked"].append(shown["blocks"])
    return [story[number] for number in sorted(story)]


def _stripped(entry: dict[str, Any]) -> dict[str, Any]:
    kept = {name: value for name, value in entry.items() if name not in _DIFFERS}
    if isinstance(data := kept.get("data"), dict):
        kept["data"] = {name: value for name, value in data.items() if name not in _DIFFERS_IN_DATA}
    return kept


def notices(links: Sequence[Link]) -> list[str]:
    """What the notices of the chain are about; archived histories left out, since a run more has one more."""
    bodies = [link.entry.body for link in links]
    return [body.what for body in bodies if isinstance(body, NoticeBody) and body.what != "archived_history"]


def faults(reference: Played, disturbed: Played) -> list[str]:
    """Everything that a kill must not have done; empty when it did nothing of it."""
    found = [*_chain_faults(reference, disturbed), *_effect_faults(disturbed), *_once_faults(disturbed)]
    if str(disturbed.result.end) != "done":
        found.append(f"the session ended as {disturbed.result.end}: {disturbed.result.error}")
    return found


def _chain_faults(reference: Played, disturbed: Played) -> list[str]:
    expected, got = normalised(reference.links), normalised(disturbed.links)
    found = []
    if notices(reference.links) != notices(disturbed.links):
        found.append(f"notices {notices(disturbed.links)}")
    for number, whole in enumerate(expected, 1):
        if number > len(got):
            found.append(f"exchange {number} is missing")
            continue
        found += [f"exchange {number}: {fault}" for fault in _exchange_faults(whole, got[number - 1])]
    last_was_cut = len(got) >= len(expected) and got[len(expected) - 1]["cut"]
    if len(got) > len(expected) + int(last_was_cut):
        found.append(f"{len(got)} exchanges instead of {len(expected)}")
    return found


def _exchange_faults(whole: Exchange, got: Exchange) -> list[str]:
    """A reply that broke after a complete block counts with the blocks it has (design §4)."""
    count = len(got["blocks"])
    if not got["cut"] and count != len(whole["blocks"]):
        return [f"{count} blocks instead of {len(whole['blocks'])}"]
    if got["blocks"] != whole["blocks"][:count]:
        return [f"blocks {got['blocks']} instead of {whole['blocks']}"]
    return [
        f"call {place}: {outcomes} instead of {whole['outcomes'].get(place)}"
        for place, outcomes in got["outcomes"].items()
        if outcomes != whole["outcomes"].get(place) and outcomes[0]["status"] != CallStatus.UNKNOWN
    ]


def _effect_faults(disturbed: Played) -> list[str]:
    """Each effect that the chain asks for happened once, or is recorded as unknown."""
    asked = Counter[str]()
    unknown = Counter[str]()
    for outcome, name in _commands(disturbed.links):
        asked[name] += 1
        unknown[name] += outcome.status == CallStatus.UNKNOWN
    return [
        f"effect {name} happened {disturbed.effects[name]} times, asked {asked[name]}, unknown {unknown[name]}"
        for name in EFFECTS
        if not asked[name] - unknown[name] <= disturbed.effects[name] <= asked[name]
    ]


def _commands(links: Sequence[Link]) -> list[tuple[OutcomeBody, str]]:
    texts = {
        (body.exchange, place): str(use.input.get("command", ""))
        for link in links
        if isinstance(body := link.entry.body, MessageBody) and body.role == Role.ASSISTANT
        for place, use in enumerate(block for block in body.blocks if isinstance(block, ToolUse))
    }
    outcomes = [link.entry.body for link in links if isinstance(link.entry.body, OutcomeBody)]
    return [
        (outcome, texts[outcome.exchange, outcome.place].split()[1].strip(";"))
        for outcome in outcomes
        if outcome.tool == "Bash"
    ]


def _once_faults(disturbed: Played) -> list[str]:
    found = []
    for number, exchange in enumerate(normalised(disturbed.links), 1):
        calls = [block for block in exchange["blocks"] if block["kind"] == "tool_use"]
        if {int(place) for place in exchange["outcomes"]} != set(range(len(calls))):
            found.append(f"exchange {number}: {len(calls)} calls, outcomes of {list(exchange['outcomes'])}")
        found += [
            f"exchange {number}: call {place} has {len(outcomes)} outcomes"
            for place, outcomes in exchange["outcomes"].items()
            if len(outcomes) != 1
        ]
    return found
