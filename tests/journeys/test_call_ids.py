"""A model that uses one and the same call id for ever gets each call's own result."""

from pathlib import Path

import pytest

from tests.fakes.rig import Rig, played
from workflows.contracts.session import TurnEnd

pytestmark = [pytest.mark.journey, pytest.mark.asyncio(loop_scope="module")]

EXCHANGES = 5


async def test_each_call_gets_its_own_result_though_all_have_one_id(rig: Rig, tmp_path: Path) -> None:
    twice = [{"tool": "Bash", "id": "same", "input": {"command": f"echo {{n}} {part}"}} for part in ("a", "b")]
    async with played({"replies": [{"content": twice, "repeat": EXCHANGES}, "done"]}) as model:
        talk = await rig.start(model, cwd=tmp_path)
        result = await talk.result(60)
        assert (result.end, model.refusals) == (TurnEnd.DONE, 0)
        outcomes = await talk.outcomes(result.head)
        said = [[block.text for block in outcome.content if block.kind == "text"] for outcome in outcomes]
        assert said == [[f"{number} {part}"] for number in range(EXCHANGES) for part in ("a", "b")]
        last = model.requests[-1].body["messages"]
        assert [[use["id"] for use in message["content"]] for message in last if message["role"] == "assistant"] == [
            ["same", "same-1"]
        ] * EXCHANGES
        answers = [message["content"] for message in last[2:] if message["role"] == "user"]
        assert [[part["tool_use_id"] for part in parts] for parts in answers] == [["same", "same-1"]] * EXCHANGES
