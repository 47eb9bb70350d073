"""Large values stay out of the history, whole in the store; what cannot be ends in one clear error."""

import hashlib
import re
from pathlib import Path

import pytest
from temporalio.api.enums.v1 import EventType
from temporalio.client import WorkflowFailureError
from temporalio.exceptions import ApplicationError

from tests.fakes.rig import Rig, Talk, played
from workflows.contracts.audit import Line
from workflows.contracts.errors import FailureKind
from workflows.contracts.model import MOST_CALLS
from workflows.contracts.session import TurnEnd
from workflows.contracts.tools import CallStatus
from workflows.core.audit_checks import check_calls

pytestmark = [pytest.mark.journey, pytest.mark.asyncio(loop_scope="module")]

MANY = {"window": 10_000_000, "body": 64 * 1024 * 1024}


async def history_bytes(talk: Talk) -> tuple[int, int]:
    """Bytes of the newest run's history, and how many of its workflow tasks failed."""
    size = failed = 0
    async for event in talk.handle.fetch_history_events():
        size += event.ByteSize()
        failed += event.event_type == EventType.EVENT_TYPE_WORKFLOW_TASK_FAILED
    return size, failed


@pytest.mark.parametrize("size", [300_000, 2_500_000, 5_000_000])
async def test_a_large_result_is_shown_in_part_and_kept_whole(rig: Rig, tmp_path: Path, size: int) -> None:
    line = b"0123456789abcde\n"
    call = {"tool": "Bash", "input": {"command": f"yes 0123456789abcde | head -c {size}"}}
    async with played({"replies": [{"content": [call]}, "done"]}) as model:
        talk = await rig.start(model, cwd=tmp_path)
        result = await talk.result(60)
        assert (result.end, model.refusals) == (TurnEnd.DONE, 0)
        (outcome,) = await talk.outcomes(result.head)
        whole = line * (size // len(line))
        assert outcome.size == len(whole)
        assert outcome.full == hashlib.sha256(whole).hexdigest()
        assert await rig.store.get(outcome.full) == whole
        assert f"result:{outcome.full}" in str(model.requests[-1].body)
        assert model.requests[-1].size < 200_000
        assert await history_bytes(talk) < (40_000, 1)


async def test_of_60_mb_beginning_and_end_are_kept_and_the_gap_is_told(rig: Rig, tmp_path: Path) -> None:
    call = {"tool": "Bash", "input": {"command": "echo first; head -c 60000000 /dev/zero | tr '\\0' x; echo last"}}
    async with played({"replies": [{"content": [call]}, "done"]}) as model:
        talk = await rig.start(model, cwd=tmp_path)
        result = await talk.result(60)
        assert (result.end, model.refusals) == (TurnEnd.DONE, 0)
        (outcome,) = await talk.outcomes(result.head)
        kept = await rig.store.get(outcome.full)
        assert outcome.size == 60_000_000 + len("first\nlast\n")
        assert (kept[:6], kept[-6:]) == (b"first\n", b"xlast\n")
        gap = re.search(rb"\n\[(\d+) bytes were not kept\]\n", kept)
        assert gap is not None
        assert len(kept) - len(gap[0]) + int(gap[1]) == outcome.size
        assert await history_bytes(talk) < (40_000, 1)


async def test_a_prompt_of_3_mb_reaches_the_model_and_not_the_history(rig: Rig, tmp_path: Path) -> None:
    prompt = "many words " * 280_000
    async with played({"replies": ["done"], "limits": MANY}) as model:
        talk = await rig.start(model, prompt, cwd=tmp_path)
        result = await talk.result(60)
        assert result.end == TurnEnd.DONE
        assert model.requests[0].body["messages"][0]["content"][0]["text"] == prompt
        assert await history_bytes(talk) < (40_000, 1)


async def test_a_fault_in_workflow_code_ends_the_session_at_once(rig: Rig, tmp_path: Path) -> None:
    talk = await rig.start("http://127.0.0.1:9", cwd=tmp_path, fault="planted by the test")
    with pytest.raises(WorkflowFailureError) as failure:
        await talk.result(10)
    cause = failure.value.cause
    assert isinstance(cause, ApplicationError)
    assert (cause.type, cause.non_retryable) == (FailureKind.BUG, True)
    assert "planted by the test" in cause.message
    assert (await history_bytes(talk))[1] == 0


async def test_an_input_over_64_kb_ends_in_an_error_that_names_the_field(rig: Rig, tmp_path: Path) -> None:
    talk = await rig.start("http://127.0.0.1:9", cwd=tmp_path / ("x" * 70_000))
    with pytest.raises(WorkflowFailureError) as failure:
        await talk.result(10)
    cause = failure.value.cause
    assert isinstance(cause, ApplicationError)
    assert cause.type == FailureKind.PAYLOAD_TOO_LARGE
    assert "its largest field is 'cwd'" in cause.message
    assert (await history_bytes(talk))[1] == 0


async def test_a_missing_folder_ends_the_session_with_one_sentence(rig: Rig, tmp_path: Path) -> None:
    talk = await rig.start("http://127.0.0.1:9", cwd=tmp_path / "missing")
    with pytest.raises(WorkflowFailureError) as failure:
        await talk.result(20)
    assert isinstance(failure.value.cause, ApplicationError)
    assert "missing" in failure.value.cause.message


async def test_a_reply_with_more_calls_than_are_run_is_answered_call_by_call(rig: Rig, tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("alpha\n")
    calls = [{"tool": "Read", "input": {"file_path": "a.txt"}}] * (MOST_CALLS + 22)
    async with played({"replies": [{"content": calls}, "done"]}) as model:
        talk = await rig.start(model, cwd=tmp_path)
        result = await talk.result(90)
        assert (result.end, result.totals.calls, model.refusals) == (TurnEnd.DONE, MOST_CALLS, 0)
        lines = [Line(n, link.digest, link.entry) for n, link in enumerate(await talk.links(result.head))]
        assert list(check_calls(talk.session, lines)) == []
        outcomes = await talk.outcomes(result.head)
        assert [outcome.status for outcome in outcomes].count(CallStatus.BROKEN) == 22
