"""The results of one reply share a budget, decided once."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.fakes.case_bench import bash, reply, results_of, strict_json, text_of
from tests.fakes.rig import Rig, played
from workflows.core.budgets import MESSAGE_CHARACTERS

pytestmark = [pytest.mark.journey, pytest.mark.asyncio(loop_scope="module")]

_CALLS = 9


async def test_what_is_too_large_together_is_shown_in_part_and_the_same_in_every_later_request(
    rig: Rig, tmp_path: Path
) -> None:
    printing = [bash(f"python3 -c \"print('{place}' * 29_000)\"") for place in range(_CALLS)]
    asked = {"replies": [reply(*printing), reply(bash("true")), "Done."]}
    async with played(asked) as model:
        talk = await rig.start(model, cwd=tmp_path)
        result = await talk.result()
        bodies = [strict_json(request.body_bytes) for request in model.requests if request.path == "/v1/messages"]
    first = results_of(bodies[1])
    texts = [text_of(each) for each in first]
    assert len(texts) == _CALLS
    assert sum(map(len, texts)) <= MESSAGE_CHARACTERS
    cut = [place for place, text in enumerate(texts) if "too large together" in text]
    assert cut == [0, 1, 2]
    assert all(text == str(place) * 29_000 for place, text in enumerate(texts) if place not in cut)
    assert _shown_in(bodies[2]) == [_plain(each) for each in first]
    outcomes = await talk.outcomes(result.head)
    assert [bool(outcome.full) for outcome in outcomes[:_CALLS]] == [place in cut for place in range(_CALLS)]
    assert await rig.store.get(outcomes[0].full) == b"0" * 29_000


def _shown_in(body: dict[str, Any]) -> list[str]:
    """The results that answer the first reply, in a later request."""
    return [_plain(block) for block in body["messages"][2]["content"] if block["type"] == "tool_result"]


def _plain(block: dict[str, Any]) -> str:
    """A result without the mark of the cache, which moves on."""
    return json.dumps({name: value for name, value in block.items() if name != "cache_control"}, sort_keys=True)
