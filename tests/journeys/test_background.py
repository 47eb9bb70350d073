"""Background tasks outlive their turn, worker and Temporal run, are told of once, and end with their session."""

import asyncio
import json
from contextlib import suppress
from pathlib import Path

import pytest
from temporalio.client import WorkflowFailureError

from activities.processes.attach import is_running
from activities.stores.journal import Journal, effect_key
from activities.tasks.record import task_id
from tests.fakes.crash import healthy
from tests.fakes.rig import Rig, Talk, Told, played
from tests.fakes.waiting import eventually_async
from worker.commands_left import end_commands
from worker.engine import down, ensure_up
from workflows.contracts.ids import task_workflow
from workflows.contracts.settings import Thresholds
from workflows.contracts.tasks import TaskKind
from workflows.contracts.transcript import NoticeBody

pytestmark = [pytest.mark.journey, pytest.mark.asyncio(loop_scope="module"), pytest.mark.timeout(180)]


def background(command: str) -> Told:
    return {"content": [{"tool": "Bash", "input": {"command": command, "run_in_background": True}}]}


def monitor(command: str) -> Told:
    return {"content": [{"tool": "Monitor", "input": {"command": command, "description": "lines"}}]}


async def told(talk: Talk, head: str = "") -> list[NoticeBody]:
    """What tasks told, as it stands in the chain."""
    bodies = [link.entry.body for link in await talk.links(head)]
    return [body for body in bodies if isinstance(body, NoticeBody) and body.what.startswith("task_")]


def running(rig: Rig, session: str) -> int:
    return sum(is_running(record.folder) for record in Journal(rig.home.journal).calls(session))


async def none_runs(rig: Rig, session: str) -> None:
    """A runner that has told its end may live for a moment longer."""
    await eventually_async(lambda: running(rig, session) == 0, 5, "no command of it runs")


async def rests(talk: Talk, turns: int) -> None:
    await talk.when(lambda shown: shown.state.turns == turns and shown.phase == "idle", 60, f"{turns} turns")


async def closed(talk: Talk) -> str:
    await talk.close("enough")
    return (await talk.result(60)).head


async def test_the_end_of_a_task_wakes_the_session_once_though_the_worker_died_meanwhile(
    rig: Rig, tmp_path: Path
) -> None:
    replies = [background("echo began; sleep 2; echo ran >> log; echo finished"), "It runs.", "It is done."]
    async with played({"replies": replies, "fallback": "never"}) as model:
        talk = await rig.start(model, cwd=tmp_path, once=False)
        await talk.when(lambda shown: shown.state.turns == 1 and shown.phase == "idle" and bool(shown.state.tasks), 40)
        rig.kill_worker()
        await healthy(rig)
        await rests(talk, 2)
        assert (await talk.snapshot()).state.tasks == ()
        head = await closed(talk)
        (notice,) = await told(talk, head)
        assert (notice.what, notice.data["exit_code"]) == ("task_ended", 0)
        assert "finished" in notice.text
        assert [json.dumps(request.body).count("has ended: exit code 0") for request in model.requests] == [0, 0, 1]
    assert (tmp_path / "log").read_text() == "ran\n"


async def test_a_command_past_its_limit_goes_on_as_a_task_though_the_worker_dies_around_it(
    rig: Rig, tmp_path: Path
) -> None:
    long = {"command": "touch began; sleep 6; echo ran >> log; echo finished", "timeout": 2_000}
    replies = [{"content": [{"tool": "Bash", "input": long}]}, "It goes on.", "It is done."]
    async with played({"replies": replies, "fallback": "never"}) as model:
        talk = await rig.start(model, cwd=tmp_path, once=False)
        await eventually_async((tmp_path / "began").exists, 40)
        rig.kill_worker()
        await healthy(rig)
        await rests(talk, 2)
        assert "goes on in the background" in json.dumps(model.requests[1].body)
        assert "has ended: exit code 0" in json.dumps(model.requests[2].body)
        await closed(talk)
    assert (tmp_path / "log").read_text() == "ran\n"


async def test_a_task_that_ends_inside_a_turn_is_told_with_the_next_request(rig: Rig, tmp_path: Path) -> None:
    foreground = {"content": [{"tool": "Bash", "input": {"command": "sleep 1.5"}}]}
    async with played({"replies": [background("echo quick"), foreground, "Done."], "fallback": "never"}) as model:
        talk = await rig.start(model, cwd=tmp_path)
        result = await talk.result(40)
        assert result.turns == 1
        assert "quick" in json.dumps(model.requests[2].body)
        assert len(await told(talk, result.head)) == 1


async def test_closing_a_session_ends_its_tasks_and_writes_down_how(rig: Rig, tmp_path: Path) -> None:
    replies = [background("touch began; sleep 300"), "Runs."]
    async with played({"replies": replies}) as model:
        talk = await rig.start(model, cwd=tmp_path, once=False)
        await rests(talk, 1)
        await eventually_async((tmp_path / "began").exists, 20)
        assert running(rig, talk.session) == 1
        head = await closed(talk)
    await none_runs(rig, talk.session)
    (notice,) = await told(talk, head)
    assert (notice.data["end"], notice.data["status"]) == ("cancelled", "cancelled")


async def test_a_cancelled_session_leaves_no_task_either(rig: Rig, tmp_path: Path) -> None:
    async with played({"replies": [background("touch began; sleep 300"), "Runs."]}) as model:
        talk = await rig.start(model, cwd=tmp_path, once=False)
        await rests(talk, 1)
        await eventually_async((tmp_path / "began").exists, 20)
        await talk.handle.cancel()
        with suppress(WorkflowFailureError):
            await talk.result(60)
    await none_runs(rig, talk.session)


async def test_an_interrupt_leaves_a_task_running_and_task_stop_ends_it_without_another_word(
    rig: Rig, tmp_path: Path
) -> None:
    session, given = "stopper", background("sleep 301")
    key = effect_key(session, 1, 0, "Bash", json.dumps(given["content"][0]["input"]))
    endless = {"content": [{"tool": "Bash", "input": {"command": "touch waits; sleep 300"}}]}
    stop = {"content": [{"tool": "TaskStop", "input": {"task_id": task_id(TaskKind.COMMAND, key)}}]}
    async with played({"replies": [given, endless, stop], "fallback": "ok"}) as model:
        talk = await rig.start(model, cwd=tmp_path, once=False, session=session)
        await eventually_async((tmp_path / "waits").exists, 40)
        await talk.interrupt()
        await rests(talk, 1)
        assert len((await talk.snapshot()).state.tasks) == running(rig, session) == 1
        await talk.send("stop it")
        await rests(talk, 2)
        assert (await talk.snapshot()).state.tasks == ()
        await none_runs(rig, session)
        # The task's own workflow ends a moment later; what it says is not heard any more.
        child = rig.client.get_workflow_handle(task_workflow(session, task_id(TaskKind.COMMAND, key)))
        await asyncio.wait_for(child.result(), 20)
        assert (await talk.snapshot()).state.turns == 2
        assert await told(talk, await closed(talk)) == []


async def test_the_lines_of_a_monitor_reach_the_session_across_its_runs(rig: Rig, tmp_path: Path) -> None:
    command = "echo first; sleep 7; echo second; sleep 300"
    async with played({"replies": [monitor(command)], "fallback": "noted"}) as model:
        talk = await rig.start(model, cwd=tmp_path, once=False, thresholds=Thresholds(roll_events=30))
        await talk.when(lambda shown: shown.state.turns == 3 and shown.phase == "idle", 60, "two lines told")
        assert (await talk.snapshot()).state.runs > 1
        texts = [notice.text.splitlines()[1:] for notice in await told(talk)]
        assert texts == [["first"], ["second"]]
        head = await closed(talk)
    assert [notice.what for notice in await told(talk, head)] == ["task_lines", "task_lines", "task_ended"]
    await none_runs(rig, talk.session)


async def test_down_ends_a_task_and_the_session_hears_of_it_at_the_next_start(rig: Rig, tmp_path: Path) -> None:
    async with played({"replies": [background("touch began; sleep 300"), "Runs."], "fallback": "noted"}) as model:
        talk = await rig.start(model, cwd=tmp_path, once=False)
        await rests(talk, 1)
        await eventually_async((tmp_path / "began").exists, 20)
        await asyncio.to_thread(down, rig.home)
        await asyncio.to_thread(end_commands, rig.home)
        await none_runs(rig, talk.session)
        await asyncio.to_thread(ensure_up, rig.home)
        await rests(talk, 2)
        (notice,) = await told(talk)
        assert "it was stopped" in notice.text
        await closed(talk)
