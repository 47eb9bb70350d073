"""A safe call runs while its reply still streams."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

from tests.fakes.rig import Rig, played
from workflows.contracts.messages import Text

pytestmark = [pytest.mark.journey, pytest.mark.asyncio(loop_scope="module")]


def slow_reply(*blocks: Any) -> dict[str, Any]:
    """Calls first, then two seconds of text."""
    return {"content": [*blocks, {"text": "x" * 100}], "pacing": {"token_ms": 100, "chunk": 5}}


async def shown(rig: Rig, tmp_path: Path, *blocks: Any) -> str:
    """What the model is shown of the last call of a slow reply; the file changes while the reply streams."""
    path = tmp_path / "a.txt"
    path.write_text("as it was when the reply began")
    async with played({"replies": [slow_reply(*blocks), "done"]}) as model:
        talk = await rig.start(model, cwd=tmp_path)
        await asyncio.sleep(0)
        while not model.requests:
            await asyncio.sleep(0.01)
        await asyncio.sleep(1.2)
        path.write_text("as it was when the reply had ended")
        result = await talk.result(30)
    outcome = (await talk.outcomes(result.head))[-1]
    assert isinstance(outcome.content[0], Text)
    return outcome.content[0].text


async def test_a_read_sees_the_file_before_its_reply_has_ended(rig: Rig, tmp_path: Path) -> None:
    call = {"tool": "Read", "input": {"file_path": "a.txt"}}
    assert "when the reply began" in await shown(rig, tmp_path, call)


async def test_a_call_behind_one_that_changes_things_waits_for_its_turn(rig: Rig, tmp_path: Path) -> None:
    change = {"tool": "Bash", "input": {"command": "true"}}
    call = {"tool": "Read", "input": {"file_path": "a.txt"}}
    assert "when the reply had ended" in await shown(rig, tmp_path, change, call)
