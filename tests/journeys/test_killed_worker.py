"""A worker is killed while a shell command runs."""

import asyncio
from pathlib import Path

import pytest

from tests.fakes.rig import Rig, played
from tests.fakes.waiting import eventually_async
from workflows.contracts.messages import Text
from workflows.contracts.tools import CallStatus

pytestmark = [pytest.mark.journey, pytest.mark.asyncio(loop_scope="module")]


async def test_the_command_runs_once_and_its_true_result_reaches_the_model(rig: Rig, tmp_path: Path) -> None:
    log = tmp_path / "effects.log"
    command = f"echo began >> {log}; sleep 3; echo ended >> {log}; echo true result"
    async with played({"replies": [{"content": [{"tool": "Bash", "input": {"command": command}}]}, "done"]}) as model:
        talk = await rig.start(model, cwd=tmp_path)
        await eventually_async(log.exists, 20, "the command began")
        killed = rig.kill_worker()
        result = await talk.result(30)
        assert rig.worker_pid() != killed
        assert log.read_text().split() == ["began", "ended"]
        (outcome,) = await talk.outcomes(result.head)
        assert outcome.status == CallStatus.OK
        assert isinstance(outcome.content[0], Text)
        assert outcome.content[0].text == "true result"
        assert outcome.crash == "attached"
        assert "true result" in str(model.requests[-1].body)
    await asyncio.sleep(0)
