"""A real session is audited while it runs, after it ended, when the engine has forgotten it, and without an engine."""

import asyncio
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from temporalio.api.common.v1 import WorkflowExecution
from temporalio.api.workflowservice.v1 import DeleteWorkflowExecutionRequest
from temporalio.service import RPCError

from tests.fakes.rig import Rig, Told, played
from tests.fakes.waiting import eventually_async
from workflows.contracts.ids import session_workflow
from workflows.contracts.settings import Thresholds

pytestmark = [pytest.mark.journey, pytest.mark.asyncio(loop_scope="module")]

VERIFIER = Path(__file__).parents[2] / "docs" / "verify.py"
PROGRAM = "import sys; from cli.app import main; sys.exit(main())"


def bash(command: str) -> Told:
    return {"content": [{"tool": "Bash", "input": {"command": command}}]}


async def audited(rig: Rig, *words: str) -> tuple[int, list[Told]]:
    """Exit code and JSON lines of perdure audit."""
    env = {name: value for name, value in os.environ.items() if not name.startswith("TEMPORAL_")}
    env["PERDURE_HOME"] = str(rig.home.root)
    command = [sys.executable, "-c", PROGRAM, "audit", *words, "--json", "--verify"]
    done = await asyncio.to_thread(
        subprocess.run, command, env=env, capture_output=True, text=True, check=False, timeout=60
    )
    assert done.stderr == ""
    return done.returncode, [json.loads(line) for line in done.stdout.splitlines()]


async def forgotten(rig: Rig, session: str) -> None:
    """Have the server delete every run of a session."""
    execution = WorkflowExecution(workflow_id=session_workflow(session))
    request = DeleteWorkflowExecutionRequest(namespace=rig.client.namespace, workflow_execution=execution)

    async with asyncio.timeout(30):
        while True:
            try:
                await rig.client.workflow_service.delete_workflow_execution(request)
            except RPCError:
                return
            await asyncio.sleep(0.1)


async def test_the_audit_of_a_session_is_the_same_before_and_after_the_engine_forgets_it(
    rig: Rig, tmp_path: Path
) -> None:
    # Slow enough that the session rolls over into a second run, which it may do every three seconds.
    replies = [bash(f"sleep 0.4; echo {number} > file{number}") for number in range(12)]
    async with played({"replies": [*replies, "done"]}) as model:
        talk = await rig.start(model, cwd=tmp_path, thresholds=Thresholds(roll_events=60))
        result = await talk.result(60)
    code, before = await audited(rig, talk.session)
    assert (code, before[-1]["problems"]) == (0, [])
    assert before[-1]["head"] == result.head
    assert before[-1]["verification"]["histories"] >= 3
    assert before[-1]["totals"]["cost"] == result.totals.cost
    assert before[-1]["totals"]["replies"] == result.totals.exchanges == 13
    assert before[-1]["totals"]["calls"] == result.totals.calls == 12
    independent = [sys.executable, "-I", str(VERIFIER), str(rig.home.objects), result.head]
    told = await asyncio.to_thread(subprocess.run, independent, capture_output=True, text=True, check=False)
    assert (told.returncode, told.stdout[:3]) == (0, "OK:"), told.stdout + told.stderr
    await forgotten(rig, talk.session)
    code, after = await audited(rig, talk.session)
    assert (code, after[-1]["problems"]) == (0, [])
    assert after[:-1] == before[:-1]
    assert "has no history" in str(after[-1]["notes"])


async def test_a_session_is_audited_while_its_command_runs(rig: Rig, tmp_path: Path) -> None:
    wait = f"touch {tmp_path}/began; while [ ! -e {tmp_path}/go ]; do sleep 0.1; done"
    async with played({"replies": [bash(wait), "done"]}) as model:
        talk = await rig.start(model, cwd=tmp_path)
        await eventually_async((tmp_path / "began").exists, 30, "the command runs")
        code, lines = await audited(rig, talk.session)
        (tmp_path / "go").touch()
        result = await talk.result(30)
    assert (code, lines[-1]["problems"]) == (0, [])
    assert [line["kind"] for line in lines[:-1]] == ["notice", "prompt", "exchange"]
    assert lines[-1]["verification"]["histories"] == 1
    code, lines = await audited(rig, talk.session)
    assert (code, lines[-1]["head"]) == (0, result.head)


async def test_an_interrupted_reply_is_told_as_lost_with_unknown_usage(rig: Rig, tmp_path: Path) -> None:
    async with played({"replies": [{"content": "never said", "faults": [{"cut": "stall"}]}, "done"]}) as model:
        talk = await rig.start(model, cwd=tmp_path, once=True)
        await eventually_async(lambda: bool(model.requests), 30, "the model is asked")
        await talk.interrupt()
        result = await talk.result(30)
    _code, lines = await audited(rig, talk.session)
    assert lines[-1]["problems"] == []
    assert lines[-1]["totals"]["unknown"] == result.totals.unknown
