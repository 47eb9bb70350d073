"""A search is the provider's: it is declared, shown, counted, kept and sent back as it came, and never called here."""

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from activities.tools.web_search import WebSearch
from tests.fakes.model_stage import Stage, model_stage
from workflows.contracts.messages import ServerBlock, Text
from workflows.contracts.model import StopReason
from workflows.contracts.permissions import Policy
from workflows.contracts.settings import SessionContext, SessionSettings
from workflows.contracts.transcript import canonical
from workflows.contracts.web import WebSettings
from workflows.core.tool_pool import pool

PAGE = {"url": "https://example.com/a", "title": "Größe"}
SEARCH = {"search": "how large", "found": [PAGE]}
SAID = {"text": "It is large.", "cites": ["https://example.com/a"]}


@asynccontextmanager
async def searching(folder: Path, *replies: Any, **web: Any) -> AsyncIterator[Stage]:
    """A session that may search."""
    async with model_stage(folder, {"replies": list(replies), "fallback": "Done."}) as stage:
        store = stage.world.store
        context = SessionContext.model_validate_json(await store.get(stage.request.context))
        settings = SessionSettings(tools=("WebSearch",), web=WebSettings(**web))
        given = context.model_copy(update={"tools": pool((WebSearch().spec(),), settings, Policy())})
        digest = await store.put(canonical(given.model_dump(mode="json")))
        stage.request = stage.request.model_copy(update={"context": digest})
        yield stage


def body(stage: Stage, number: int = -1) -> Any:
    return json.loads(stage.model.requests[number].body_bytes)


async def test_the_search_is_declared_as_the_providers_tool(tmp_path: Path) -> None:
    async with searching(tmp_path, "hi", search_blocked=("bad.example",)) as stage:
        await stage.ask()
        (tool,) = body(stage)["tools"]
        del tool["cache_control"]
        assert tool == {
            "type": "web_search_20250305",
            "name": "web_search",
            "max_uses": 8,
            "blocked_domains": ["bad.example"],
        }


@pytest.mark.parametrize(("made", "uses"), [(0, 8), (192, 8), (195, 5), (200, None), (230, None)])
async def test_a_session_makes_no_more_than_two_hundred_searches(tmp_path: Path, made: int, uses: int | None) -> None:
    async with searching(tmp_path, "hi") as stage:
        await stage.ask(stage.request.model_copy(update={"searches": made}))
        assert [tool["max_uses"] for tool in body(stage).get("tools", [])] == ([] if uses is None else [uses])


async def test_what_was_found_is_kept_and_sent_back_as_it_came(tmp_path: Path) -> None:
    async with searching(tmp_path, {"content": [SEARCH, SAID], "pacing": {"chunk": 3}}) as stage:
        reply = await stage.ask()
        assert (reply.stop, reply.calls, reply.is_empty) == (StopReason.END_TURN, (), False)
        use, found, text = await stage.blocks(reply)
        assert isinstance(use, ServerBlock)
        assert isinstance(found, ServerBlock)
        assert use.data["input"] == {"query": "how large"}
        assert found.answers == use.asks
        assert isinstance(text, Text)
        await stage.another_worker().ask(await stage.after(reply, hidden="go on"))
        back = body(stage)["messages"][1]["content"]
        assert [block["type"] for block in back] == ["server_tool_use", "web_search_tool_result", "text"]
        assert back[1]["content"][0]["title"] == "Größe"
        assert back[2]["citations"][0]["url"] == "https://example.com/a"
        assert [request.answer[:7] for request in stage.model.requests] == ["replies", "fallbac"]


async def test_searches_are_counted_paid_and_told(tmp_path: Path) -> None:
    async with searching(tmp_path, {"content": [SEARCH, SEARCH | {"search": "again"}, SAID]}, "no search") as stage:
        reply = await stage.ask()
        assert reply.usage.searches == 2
        assert reply.cost is not None
        assert reply.cost >= 20_000
        notices = [event["text"] for event in stage.told("notice")]
        assert notices == [
            "searched the web for 'how large': 1 found",
            "searched the web for 'again': 1 found",
        ]


async def test_a_search_that_failed_is_told_with_the_providers_word(tmp_path: Path) -> None:
    failed = {"search": "x", "error": "max_uses_exceeded"}
    async with searching(tmp_path, {"content": [failed, {"text": "Nothing."}]}) as stage:
        await stage.ask()
        assert [event["text"] for event in stage.told("notice")] == ["searched the web for 'x': max_uses_exceeded"]


async def test_a_paused_turn_goes_on_behind_the_open_search(tmp_path: Path) -> None:
    replies = (
        {"content": [{"text": "I look."}, {"search": "slow", "open": True}]},
        {"content": [{"found": [PAGE]}, SAID]},
    )
    async with searching(tmp_path, *replies) as stage:
        paused = await stage.ask()
        assert (paused.stop, paused.calls) == (StopReason.PAUSE_TURN, ())
        whole = await stage.ask(await stage.after(paused))
        assert body(stage)["messages"][-1]["content"][-1]["type"] == "server_tool_use"
        assert whole.stop == StopReason.END_TURN
        await stage.ask(await stage.after(whole, exchange=3, hidden="go on"))
        kinds = [block["type"] for block in body(stage)["messages"][1]["content"]]
        assert kinds == ["text", "server_tool_use", "web_search_tool_result", "text"]
        assert not [request for request in stage.model.requests if request.answer.startswith("refused")]


async def test_a_search_that_broke_off_is_not_sent_back(tmp_path: Path) -> None:
    cut = {"cut": "reset", "after_blocks": 2}
    broken = {"content": [{"text": "I look."}, SEARCH, SAID], "faults": [cut]}
    async with searching(tmp_path, broken) as stage:
        reply = await stage.ask()
        assert reply.stop == StopReason.CUT_OFF
        assert [block.kind for block in await stage.blocks(reply)] == ["text", "server"]
        await stage.ask(await stage.after(reply, hidden="go on"))
        assert [block["type"] for block in body(stage)["messages"][1]["content"]] == ["text"]
        assert stage.model.requests[-1].answer == "fallback"
