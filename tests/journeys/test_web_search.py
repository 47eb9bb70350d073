"""A session searches the web through its provider, and only where a person allowed that before."""

import json
from pathlib import Path

import pytest

from tests.fakes.rig import Rig, Told, played
from workflows.contracts.permissions import Mode, Rules
from workflows.contracts.session import TurnEnd

pytestmark = [pytest.mark.journey, pytest.mark.asyncio(loop_scope="module")]

PAGE = {"url": "https://example.com/a", "title": "A"}
PAUSED: Told = {"content": [{"text": "I look."}, {"search": "slow", "open": True}]}
GOES_ON: Told = {"content": [{"found": [PAGE]}, {"text": "Found.", "cites": [PAGE["url"]]}]}


async def test_a_paused_search_goes_on_and_its_result_stays_behind_a_roll_of_workers(rig: Rig, tmp_path: Path) -> None:
    async with played({"replies": [PAUSED, GOES_ON], "order": "arrival", "fallback": "Again."}) as model:
        rules = Rules(allow=("WebSearch",))
        talk = await rig.start(model, cwd=tmp_path, mode=Mode.DEFAULT, settings={"rules": rules}, once=False)
        await talk.when(lambda snapshot: snapshot.state.totals.exchanges == 2 and snapshot.phase == "idle")
        rig.kill_worker()
        await talk.send("and now?")
        snapshot = await talk.when(lambda snapshot: snapshot.state.turns == 2 and snapshot.phase == "idle", 40)
        assert snapshot.state.last_end == TurnEnd.DONE
        assert snapshot.state.totals.usage.searches == 1
        last = json.loads(model.requests[-1].body_bytes)
        kinds = [block["type"] for block in last["messages"][1]["content"]]
        assert kinds == ["text", "server_tool_use", "web_search_tool_result", "text"]
        assert [request.answer for request in model.requests] == ["replies[0]", "replies[1]", "fallback"]
        await talk.close()


async def test_without_a_rule_no_search_is_offered_in_any_mode(rig: Rig, tmp_path: Path) -> None:
    async with played({"fallback": "Hello."}) as model:
        await (await rig.start(model, cwd=tmp_path, mode=Mode.BYPASS)).result()
        tools = json.loads(model.requests[0].body_bytes)["tools"]
        assert [tool["name"] for tool in tools if "type" in tool or tool["name"] in {"WebSearch", "MultiEdit"}] == []


@pytest.mark.parametrize("action", ["deny", "ask"])
async def test_a_rule_against_searches_counts_from_the_next_request_on(rig: Rig, tmp_path: Path, action: str) -> None:
    async with played({"fallback": "Hello."}) as model:
        settings = {"rules": Rules(allow=("WebSearch",))}
        talk = await rig.start(model, cwd=tmp_path, mode=Mode.DEFAULT, settings=settings, once=False)
        await talk.when(lambda snapshot: snapshot.state.turns == 1 and snapshot.phase == "idle")
        (tmp_path / ".perdure").mkdir()
        (tmp_path / ".perdure/settings.json").write_text(json.dumps({"permissions": {action: ["WebSearch"]}}))
        await talk.send("and now?")
        await talk.when(lambda snapshot: snapshot.state.turns == 2 and snapshot.phase == "idle")
        offered = [["type" in tool for tool in json.loads(request.body_bytes)["tools"]] for request in model.requests]
        assert [any(types) for types in offered] == [True, False]
        await talk.close()
