"""A session continues as new run again and again; nothing that arrives meanwhile is lost, doubled or reordered."""

import asyncio
import json
from pathlib import Path

import pytest
from temporalio.api.workflowservice.v1 import DeleteWorkflowExecutionRequest

from activities.transcript import Link
from tests.fakes.rig import Rig, Talk, played
from tests.fakes.waiting import eventually_async
from workflows.contracts.messages import Role, Text
from workflows.contracts.permissions import Mode
from workflows.contracts.session import Snapshot
from workflows.contracts.settings import Thresholds
from workflows.contracts.transcript import MessageBody, NoticeBody

pytestmark = [pytest.mark.journey, pytest.mark.timeout(150), pytest.mark.asyncio(loop_scope="module")]

SMALL = Thresholds(roll_events=60)
PROMPTS = 30


def prompts_in(links: list[Link]) -> list[str]:
    """The texts that a person said, in the chain's order."""
    bodies = [link.entry.body for link in links]
    return [
        block.text
        for body in bodies
        if isinstance(body, MessageBody) and body.role == Role.USER and not body.hidden
        for block in body.blocks
        if isinstance(block, Text)
    ]


def archives_in(links: list[Link]) -> list[NoticeBody]:
    """The notices of archived histories."""
    bodies = [link.entry.body for link in links]
    return [body for body in bodies if isinstance(body, NoticeBody) and body.what == "archived_history"]


async def runs_of(rig: Rig, talk: Talk) -> list[tuple[str, int]]:
    """Id and bytes of input of each run, first to last."""
    found, run = [], talk.handle.first_execution_run_id or ""
    while run:
        handle = rig.client.get_workflow_handle(talk.handle.id, run_id=run)
        next_run = ""
        async for event in handle.fetch_history_events():
            started = event.workflow_execution_started_event_attributes
            if started.HasField("input"):
                found.append((run, sum(len(payload.data) for payload in started.input.payloads)))
            next_run = event.workflow_execution_continued_as_new_event_attributes.new_execution_run_id or next_run
        run = next_run
    return found


async def test_prompts_that_arrive_during_rolls_run_once_each_in_one_order(rig: Rig, tmp_path: Path) -> None:
    scenario = {"fallback": {"content": "ok", "pacing": {"first_byte_ms": 500}}}
    async with played(scenario) as model:
        talk = await rig.start(model, "prompt 0", cwd=tmp_path, thresholds=SMALL, once=False)
        turns: dict[int, str] = {}
        for first in range(1, PROMPTS, 10):
            texts = [f"prompt {number}" for number in range(first, min(first + 10, PROMPTS))]
            taken = await asyncio.gather(*(talk.send(text) for text in texts))
            turns |= {each.turn: text for each, text in zip(taken, texts, strict=True)}
            await asyncio.sleep(2)

        def is_done(snapshot: Snapshot) -> bool:
            return snapshot.state.turns == PROMPTS and snapshot.phase == "idle"

        snapshot = await talk.when(is_done, 100, "all prompts ran")
        assert snapshot.state.runs >= 5
        await talk.close()
        result = await talk.result(30)
        links = await talk.links(result.head)
        assert prompts_in(links) == ["prompt 0", *(turns[number] for number in sorted(turns))]
        assert len(turns) == PROMPTS - 1
        assert len(model.requests) == PROMPTS

        runs = await runs_of(rig, talk)
        sizes = [size for _run, size in runs]
        print("bytes of input by run:", sizes)
        assert abs(sizes[4] - sizes[1]) <= 2_000
        assert max(sizes) <= 16 * 1024 + 2_000
        archives = archives_in(links)
        assert [body.data["run_id"] for body in archives] == [run for run, _size in runs]
        await _forget(rig, talk, runs[1][0])
        for body in archives:
            history = json.loads(await rig.store.get(str(body.data["history"])))
            assert len(history["events"]) == body.data["events"]
            assert history["events"][0]["workflowExecutionStartedEventAttributes"]
        assert await talk.links(result.head) == links


async def _forget(rig: Rig, talk: Talk, run: str) -> None:
    """Delete a run at the server."""
    request = DeleteWorkflowExecutionRequest(namespace=rig.client.namespace)
    request.workflow_execution.workflow_id = talk.handle.id
    request.workflow_execution.run_id = run
    await rig.client.workflow_service.delete_workflow_execution(request)


async def test_an_open_question_goes_along_into_the_next_run(rig: Rig, tmp_path: Path) -> None:
    call = {"tool": "Bash", "input": {"command": "echo ran >> log"}}
    async with played({"replies": [{"content": [call]}], "fallback": "ok"}) as model:
        talk = await rig.start(model, cwd=tmp_path, thresholds=SMALL, mode=Mode.DEFAULT, once=False)
        before = await talk.until("waiting for approval")
        await asyncio.sleep(3)
        for number in range(20):
            await talk.send(f"prompt {number}")
        after = await talk.when(lambda snapshot: snapshot.state.runs >= 2, 30, "another run")
        assert after.approvals == before.approvals
        assert after.phase == "waiting for approval"
        await talk.answer(after.approvals[0].id, after.approvals[0].digest, allow=True)
        await eventually_async((tmp_path / "log").exists, 20, "the command ran")
        await talk.close()
        result = await talk.result(60)
        assert (tmp_path / "log").read_text() == "ran\n"
        links = await talk.links(result.head)
        assert prompts_in(links)[1:] == [f"prompt {number}" for number in range(20)]
