"""The real SDK over real HTTP gets what the scenario says, and what it sends is on record."""

import asyncio
import json
from pathlib import Path
from typing import Any

import anthropic
import pytest
from anthropic.types import TextBlock, ThinkingBlock, ToolUseBlock

from tests.worker.rehearsal.stage import ASK, Stage, streamed

ODD = 'rm "é" \U0001f600 \\ \t {x} 日本'


@pytest.mark.parametrize("chunk", [1, 2, 3, 7, 1000])
async def test_text_thinking_and_calls_arrive_whole_however_they_are_cut(stage: Stage, chunk: int) -> None:
    content = [{"thinking": "hm é"}, {"text": ODD}, {"tool": "Bash", "input": {"command": ODD, "n": [1, None]}}]
    _, client = await stage.play({"replies": [{"content": content, "pacing": {"chunk": chunk}}]})
    thinking, text, call = (await streamed(client)).content
    assert isinstance(thinking, ThinkingBlock)
    assert isinstance(text, TextBlock)
    assert isinstance(call, ToolUseBlock)
    assert (thinking.thinking, text.text, call.input) == ("hm é", ODD, {"command": ODD, "n": [1, None]})
    assert thinking.signature
    assert call.id.startswith("toolu_")


@pytest.mark.parametrize("wire_bytes", [1, 5])
async def test_a_character_may_be_cut_in_two_on_the_wire(stage: Stage, wire_bytes: int) -> None:
    _, client = await stage.play({"replies": [{"content": ODD, "pacing": {"wire_bytes": wire_bytes}}]})
    assert (await streamed(client)).content[0].text == ODD


async def test_a_reply_is_the_same_with_and_without_streaming(stage: Stage) -> None:
    content = [{"thinking": "hm"}, {"text": ODD}, {"tool": "Bash", "input": {"command": ODD}}]
    _, client = await stage.play({"fallback": {"content": content}})
    whole = await client.messages.create(**ASK)
    again = await streamed(client)
    assert whole.to_dict() == again.to_dict()


async def test_events_come_in_the_providers_order(stage: Stage) -> None:
    reply = {"content": [{"text": "ab"}, {"tool": "T", "input": {}}], "pacing": {"chunk": 1}}
    _, client = await stage.play({"replies": [reply]})
    async with client.messages.with_streaming_response.create(**ASK, stream=True) as answer:
        lines = [line async for line in answer.iter_lines()]
    assert [line.removeprefix("event: ") for line in lines if line.startswith("event: ")] == [
        "message_start",
        "content_block_start",
        "ping",
        "content_block_delta",
        "content_block_delta",
        "content_block_stop",
        "content_block_start",
        "content_block_delta",
        "content_block_delta",
        "content_block_delta",
        "content_block_stop",
        "message_delta",
        "message_stop",
    ]


async def test_a_call_makes_the_stop_reason_tool_use_and_text_end_turn(stage: Stage) -> None:
    _, client = await stage.play({"replies": [{"content": {"tool": "T"}}, "done"]})
    first = await streamed(client)
    results = [{"type": "tool_result", "tool_use_id": first.content[0].id, "content": "ok"}]
    answered = [*ASK["messages"], {"role": "assistant", "content": first.content}, {"role": "user", "content": results}]
    second = await streamed(client, messages=answered)
    assert (first.stop_reason, second.stop_reason) == ("tool_use", "end_turn")


async def test_an_empty_reply_has_no_blocks_and_an_empty_text_has_one(stage: Stage) -> None:
    _, client = await stage.play({"order": "arrival", "replies": [{"content": []}, ""]})
    nothing, empty = await streamed(client), await streamed(client)
    assert (nothing.content, nothing.stop_reason) == ([], "end_turn")
    assert [block.text for block in empty.content] == [""]


async def test_what_the_scenario_does_not_answer_says_so(stage: Stage) -> None:
    model, client = await stage.play({"replies": ["one"], "name": "short"})
    talked = [*ASK["messages"], {"role": "assistant", "content": "one"}, {"role": "user", "content": "more"}]
    with pytest.raises(anthropic.BadRequestError, match=r"'short' has no reply for exchange 1"):
        await streamed(client, messages=talked)
    assert (model.unanswered, model.refusals) == (1, 0)


async def test_tokens_are_counted_as_they_are_used(stage: Stage) -> None:
    _, client = await stage.play({"fallback": "hi"})
    counted = await client.messages.count_tokens(model="m", messages=ASK["messages"], system="be brief")
    used = (await streamed(client, system="be brief")).usage
    assert counted.input_tokens == used.input_tokens > 0


async def test_models_are_those_the_scenario_lists(stage: Stage) -> None:
    _, client = await stage.play({"models": ["big", "small"], "fallback": "hi"})
    assert [model.id async for model in client.models.list()] == ["big", "small"]
    assert (await client.models.retrieve("small")).id == "small"
    with pytest.raises(anthropic.NotFoundError, match="model: m"):
        await streamed(client)


async def test_only_the_scenarios_key_opens(stage: Stage) -> None:
    model, right = await stage.play({"key": "sesame", "fallback": "hi"})
    with pytest.raises(anthropic.AuthenticationError, match="invalid x-api-key"):
        await streamed(right)
    assert (await streamed(await stage.client(model.url, "sesame"))).content


async def test_a_query_is_ignored_and_an_unknown_path_is_not_found(stage: Stage) -> None:
    _, client = await stage.play({"fallback": "hi"})
    assert (await client.beta.messages.create(**ASK)).content
    with pytest.raises(anthropic.NotFoundError):
        await client.get("/v1/nothing", cast_to=object)


async def test_every_request_is_on_record_before_it_is_answered_and_no_key_is(stage: Stage, tmp_path: Path) -> None:
    model, client = await stage.play({"replies": ["one"]}, record=tmp_path)
    await streamed(client)
    lines = [json.loads(line) for line in (tmp_path / "index.ndjson").read_text().splitlines()]
    assert [(line["file"], line["path"], line["answer"]) for line in lines] == [
        ("00001.json", "/v1/messages", "replies[0]")
    ]
    assert json.loads((tmp_path / "00001.json").read_bytes()) == model.requests[0].body == {**ASK, "stream": True}
    assert "key" not in {*lines[0]["headers"].values(), *model.requests[0].headers.values()}
    assert "Bearer key" not in str(lines)
    assert model.requests[0].ended


async def test_a_record_goes_on_where_an_earlier_server_left_it(stage: Stage, tmp_path: Path) -> None:
    for number in (1, 2):
        _, client = await stage.play({"fallback": "hi"}, record=tmp_path)
        await streamed(client)
        assert (tmp_path / f"{number:05d}.json").exists()


@pytest.mark.journey
async def test_a_client_that_leaves_is_noticed(stage: Stage) -> None:
    model, client = await stage.play({"fallback": {"content": "hi", "faults": [{"cut": "stall", "seconds": 60}]}})
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0.5):
            await streamed(client)
    assert not model.requests[0].ended


async def test_pacing_delays_the_first_byte_and_each_piece(stage: Stage) -> None:
    pacing = {"first_byte_ms": 60, "token_ms": 20, "chunk": 1, "ping_every": 1}
    _, client = await stage.play({"fallback": "abc", "pacing": pacing})
    start = asyncio.get_running_loop().time()
    await streamed(client)
    assert asyncio.get_running_loop().time() - start >= 0.12


async def test_four_megabytes_are_answered_at_once(stage: Stage) -> None:
    _, client = await stage.play({"fallback": "hi"}, window=10_000_000)
    talk: list[dict[str, Any]] = [{"role": "user", "content": "go"}]
    for number in range(1000):
        call = {"type": "tool_use", "id": f"t{number}", "name": "Bash", "input": {"command": "ls"}}
        result = {"type": "tool_result", "tool_use_id": f"t{number}", "content": "x" * 4096}
        talk += [{"role": "assistant", "content": [call]}, {"role": "user", "content": [result]}]
    body = json.dumps({**ASK, "messages": talk}).encode()
    start = asyncio.get_running_loop().time()
    answer = await client.post(
        "/v1/messages", content=body, cast_to=object, options={"headers": {"content-type": "application/json"}}
    )
    assert answer
    assert asyncio.get_running_loop().time() - start < 1
