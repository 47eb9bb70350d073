"""A reply may make more calls than are run, and a call may end where nobody sees it: each is answered all the same."""

from pathlib import Path

import pytest

from tests.fakes.model_stage import model_stage
from workflows.contracts.messages import ToolResult
from workflows.contracts.model import MOST_CALLS
from workflows.contracts.tools import CallStatus
from workflows.contracts.transcript import MessageBody, OutcomeBody

MANY = 1_000


@pytest.mark.journey
async def test_each_of_a_thousand_calls_is_answered_and_the_first_128_are_told(tmp_path: Path) -> None:
    calls = [{"tool": "Read", "id": f"t{place}"} for place in range(MANY)]
    async with model_stage(tmp_path, {"replies": [{"content": calls}, "done"]}) as stage:
        first = await stage.ask()
        assert (len(first.calls), first.beyond) == (MOST_CALLS, MANY - MOST_CALLS)
        asked = await stage.after(first)
        asked = asked.model_copy(
            update={"entry": first.head, "lost": tuple(range(MOST_CALLS)), "beyond": MANY - MOST_CALLS}
        )
        second = await stage.ask(asked)
        bodies = [link.entry.body for link in await stage.world.transcript.read(second.head)]
        sent = stage.model.requests[1].body["messages"][-1]["content"]
    outcomes = [body for body in bodies if isinstance(body, OutcomeBody)]
    assert [body.place for body in outcomes] == [*range(MANY)]
    assert {body.exchange for body in outcomes} == {1}
    assert [body.status for body in outcomes] == [CallStatus.UNKNOWN] * MOST_CALLS + [CallStatus.BROKEN] * (
        MANY - MOST_CALLS
    )
    (shown,) = [body for body in bodies[-2:] if isinstance(body, MessageBody) and body.blocks[0].kind == "tool_result"]
    assert all(isinstance(block, ToolResult) for block in shown.blocks)
    assert [block["tool_use_id"] for block in sent] == [f"t{place}" for place in range(MANY)]


async def test_a_lost_call_is_answered_at_its_place_between_the_others(tmp_path: Path) -> None:
    calls = [{"tool": "Read", "id": "t0"}, {"tool": "Read", "id": "t1"}]
    async with model_stage(tmp_path, {"replies": [{"content": calls}, "done"]}) as stage:
        first = await stage.ask()
        asked = await stage.after(first, waiting=(await stage.outcome(1, "t0", "one"),))
        await stage.ask(asked.model_copy(update={"entry": first.head, "lost": (1,)}))
        sent = stage.model.requests[1].body["messages"][-1]["content"]
    assert [block["tool_use_id"] for block in sent] == ["t0", "t1"]
    assert "look before you call it again" in str(sent[1])
