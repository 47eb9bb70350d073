"""Worker, server or both are killed at event n of a session; nothing is lost, nothing happens twice."""

import os
import random
import signal
import time
from pathlib import Path

import pytest
import pytest_asyncio

from activities.processes import claim
from activities.stores.journal import Journal
from tests.fakes.crash import EFFECTS, Played, Victim, faults, healthy, kill, notices, play
from tests.fakes.rig import Rig, played
from tests.fakes.waiting import eventually_async
from worker.engine_state import read_state
from worker.supervised import HEALTHY_AFTER_S
from workflows.contracts.tools import CallStatus
from workflows.contracts.transcript import OutcomeBody

pytestmark = [pytest.mark.journey, pytest.mark.timeout(180), pytest.mark.asyncio(loop_scope="module")]

GOING_ON_S = 15.0
"""Generous: measured 1 to 2 s after the death of a worker, 1 to 4 s after that of a server."""


@pytest.fixture(scope="module")
def box(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The one folder of all runs: its path stands in the chain."""
    return tmp_path_factory.mktemp("crash") / "box"


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def undisturbed(rig: Rig, box: Path) -> Played:
    """The same session without a kill."""
    return await play(rig, box)


async def disturb(rig: Rig, box: Path, undisturbed: Played, victim: Victim, at_event: int) -> Played:
    """Run it again with a kill; a failure tells victim and event."""
    disturbed = await play(rig, box, victim, at_event)
    told = f"{victim} killed at event {at_event} of {undisturbed.events}"
    print(f"{told}: went on after {disturbed.went_on:.2f} s, {disturbed.requests} requests")
    assert faults(undisturbed, disturbed) == [], told
    assert disturbed.went_on <= GOING_ON_S, told
    return disturbed


async def test_an_undisturbed_session_has_each_effect_once(undisturbed: Played) -> None:
    assert faults(undisturbed, undisturbed) == []
    assert dict(undisturbed.effects) == dict.fromkeys(EFFECTS, 1)
    assert undisturbed.requests == undisturbed.result.totals.exchanges == 12
    assert notices(undisturbed.links) == ["session_opened", "turn_ended", "closed"]
    assert {body.crash for body in _outcomes(undisturbed)} == {""}


@pytest.mark.parametrize("number", range(2))
async def test_a_session_outlives_its_worker(
    rig: Rig, box: Path, undisturbed: Played, chance: random.Random, number: int
) -> None:
    disturbed = await disturb(rig, box, undisturbed, "worker", chance.randint(1, undisturbed.events))
    assert disturbed.requests <= 14, "only an exchange without a complete block is asked again"


async def test_a_session_outlives_the_server(rig: Rig, box: Path, undisturbed: Played, chance: random.Random) -> None:
    disturbed = await disturb(rig, box, undisturbed, "server", chance.randint(1, undisturbed.events))
    assert disturbed.requests == 12, "the worker lives, so no model call is made again"


async def test_a_session_outlives_both(rig: Rig, box: Path, undisturbed: Played, chance: random.Random) -> None:
    disturbed = await disturb(rig, box, undisturbed, "both", chance.randint(1, undisturbed.events))
    assert disturbed.requests <= 14


async def test_a_worker_killed_while_the_server_is_down_loses_nothing(rig: Rig, tmp_path: Path) -> None:
    log = tmp_path / "log"
    call = {"tool": "Bash", "input": {"command": f"echo began >> {log}; sleep 2; echo ended >> {log}; echo true"}}
    async with played({"replies": [{"content": [call]}], "fallback": "done"}) as model:
        talk = await rig.start(model, cwd=tmp_path)
        await eventually_async(log.exists, 20, "the command began")
        supervisor = read_state(rig.home).supervisor.pid
        os.kill(supervisor, signal.SIGSTOP)
        try:
            kill(rig, "server")
            kill(rig, "worker")
            # The command ends while nobody is there to hear of it.
            await eventually_async(lambda: log.read_text().count("ended"), 20, "the command ended")
        finally:
            os.kill(supervisor, signal.SIGCONT)
        result = await talk.result(60)
        (outcome,) = await talk.outcomes(result.head)
        assert log.read_text().split() == ["began", "ended"]
        assert (outcome.status, outcome.crash) == (CallStatus.OK, "attached")
        assert len(model.requests) == 2
    await healthy(rig)


async def test_the_death_of_runner_and_worker_is_told_as_unknown_and_nothing_runs_again(
    rig: Rig, tmp_path: Path
) -> None:
    log = tmp_path / "log"
    call = {"tool": "Bash", "input": {"command": f"echo began >> {log}; sleep 60; echo ended >> {log}"}}
    async with played({"replies": [{"content": [call]}], "fallback": "done"}) as model:
        talk = await rig.start(model, cwd=tmp_path)
        await eventually_async(log.exists, 20, "the command began")
        (record,) = Journal(rig.home.journal).calls(talk.session)
        os.kill(claim.number(claim.facts_of(str(record.folder)), "runner"), signal.SIGKILL)
        kill(rig, "worker")
        result = await talk.result(60)
        (outcome,) = await talk.outcomes(result.head)
        assert log.read_text().split() == ["began"]
        assert (outcome.status, outcome.crash) == (CallStatus.UNKNOWN, "unknown")
        assert "outcome unknown: its runner died" in str(model.requests[-1].body)
    await healthy(rig)


@pytest.mark.soak
@pytest.mark.timeout(7200)
@pytest.mark.parametrize("victim", ["worker", "server", "both"])
async def test_a_session_outlives_a_kill_at_each_of_its_events(
    rig: Rig, box: Path, undisturbed: Played, victim: Victim
) -> None:
    for at_event in range(1, undisturbed.events + 1):
        # Who is killed sooner than this after its start is started again later and later.
        await eventually_async(lambda: _is_rested(rig), 60, "the engine has recovered from the kill before")
        await disturb(rig, box, undisturbed, victim, at_event)


def _is_rested(rig: Rig) -> bool:
    state = read_state(rig.home)
    return all(time.time() - part.since > HEALTHY_AFTER_S + 1 for part in (state.server, state.worker))


def _outcomes(run: Played) -> list[OutcomeBody]:
    return [link.entry.body for link in run.links if isinstance(link.entry.body, OutcomeBody)]
