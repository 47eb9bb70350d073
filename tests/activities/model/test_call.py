"""ask_model before a real server: entries, events, retries, single flight, cut-off replies."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

from activities.model.failures import ModelFailure
from activities.model.flight import flight_path
from tests.fakes.model_stage import SESSION, Stage, model_stage
from tests.fakes.waiting import eventually_async
from tests.fakes.world import SilentBeat
from workflows.contracts.errors import FailureKind
from workflows.contracts.messages import Role, Text, Thinking, ToolResult, ToolUse
from workflows.contracts.model import CallRef, ModelReply, StopReason

SLOW = {"token_ms": 30, "chunk": 4}
CALL = {"tool": "Read", "input": {"path": "/a"}}


async def test_text_thought_and_call_arrive_whole_however_the_stream_is_cut(tmp_path: Path) -> None:
    text, thought, given = "Grüße 👩‍👧 und\ttab", "hm — 🤔", {"path": "/ä/👍", "n": [1, {"x": None}], "s": 'a"b\\c\n'}
    content = [{"thinking": thought}, {"text": text}, {"tool": "Read", "input": given}]
    reply = {"content": content, "pacing": {"chunk": 1, "wire_bytes": 3, "ping_every": 2}}
    async with model_stage(tmp_path, {"replies": [reply]}) as stage:
        found = await stage.ask()
        thinking, said, call = await stage.blocks(found)
    assert isinstance(thinking, Thinking)
    assert thinking.text == thought
    assert thinking.signature
    assert said == Text(text=text)
    assert isinstance(call, ToolUse)
    assert call.input == given
    assert found.stop == StopReason.TOOL_USE
    assert found.calls == (CallRef(tool="Read", beside=True),)


async def test_the_prompt_becomes_an_entry_before_the_reply(tmp_path: Path) -> None:
    async with model_stage(tmp_path, {"replies": ["hello"]}) as stage:
        shown = await stage.shown((await stage.ask()).head)
    assert [(message.role, message.blocks) for message in shown] == [
        (Role.USER, (Text(text="list it"),)),
        (Role.ASSISTANT, (Text(text="hello"),)),
    ]


async def test_outcomes_are_written_first_and_their_results_come_in_one_message_in_call_order(tmp_path: Path) -> None:
    calls = [{"tool": "Read", "id": "t1"}, {"tool": "Read", "id": "t2"}]
    async with model_stage(tmp_path, {"replies": [{"content": calls}, "done"]}) as stage:
        first = await stage.ask()
        waiting = (await stage.outcome(1, "t1", "one"), await stage.outcome(1, "t2", "two"))
        second = await stage.ask(await stage.after(first, waiting=waiting, hidden="go on"))
        links = await stage.world.transcript.read(second.head)
        sent = stage.model.requests[1].body["messages"][-1]["content"]
    assert [link.entry.body.kind for link in links[3:]] == ["outcome", "outcome", "message", "message", "message"]
    results = await _results(stage, links[5].digest)
    assert [(block.id, block.content) for block in results] == [
        ("t1", (Text(text="one"),)),
        ("t2", (Text(text="two"),)),
    ]
    assert [block["type"] for block in sent] == ["tool_result", "tool_result", "text"]


async def _results(stage: Stage, digest: str) -> list[ToolResult]:
    return [block for block in (await stage.body(digest)).blocks if isinstance(block, ToolResult)]


async def test_a_thought_goes_back_byte_for_byte_and_not_to_another_model(tmp_path: Path) -> None:
    replies = [{"content": [{"thinking": "so — 🤔 "}, {"text": "a"}]}, "b", "c"]
    async with model_stage(tmp_path, {"replies": replies}) as stage:
        first = await stage.ask()
        await stage.ask(await stage.after(first, hidden="more"))
        await stage.ask(await stage.after(first, hidden="more", model="rehearsal-b"))
        same, other = (request.body["messages"][1]["content"] for request in stage.model.requests[1:])
    assert [block["type"] for block in same] == ["thinking", "text"]
    assert same[0]["thinking"] == "so — 🤔 "
    assert [block["type"] for block in other] == ["text"]


async def test_usage_with_its_cache_parts_is_counted_and_priced(tmp_path: Path) -> None:
    usage = {
        "input_tokens": 1,
        "output_tokens": 2,
        "cache_read_input_tokens": 4,
        "cache_creation_input_tokens": 24,
        "cache_creation": {"ephemeral_5m_input_tokens": 8, "ephemeral_1h_input_tokens": 16},
    }
    async with model_stage(tmp_path, {"replies": [{"content": "a", "usage": usage}]}) as stage:
        reply = await stage.ask()
        body = await stage.body(reply.head)
    assert reply.usage.model_dump() == {
        "input": 1,
        "output": 2,
        "cache_read": 4,
        "cache_write": 24,
        "cache_write_1h": 16,
    }
    assert reply.cost == round(3 + 2 * 15 + 4 * 0.3 + 8 * 3.75 + 16 * 6)
    assert (body.usage, body.cost, body.model) == (reply.usage, reply.cost, "rehearsal")


async def test_a_model_without_a_known_price_costs_an_unknown_sum_not_nothing(tmp_path: Path) -> None:
    async with model_stage(tmp_path, {"replies": ["a"]}, {"model": "claude-unheard-of"}) as stage:
        reply = await stage.ask()
    assert reply.usage.output > 0
    assert reply.cost is None


async def test_watchers_see_the_turn_begin_the_text_come_and_the_exchange_end(tmp_path: Path) -> None:
    async with model_stage(tmp_path, {"replies": [{"content": "word " * 40, "pacing": {"chunk": 5}}]}) as stage:
        reply = await stage.ask()
        told = stage.told()
    assert [event["kind"] for event in told if event["kind"] != "text"] == [
        "turn_started",
        "exchange_started",
        "block_ended",
        "exchange_ended",
    ]
    assert "".join(event["text"] for event in told if event["kind"] == "text") == "word " * 40
    assert told[-1]["head"] == reply.head
    assert {(event["turn"], event["exchange"], event["attempt"]) for event in told} == {(1, 1, 1)}


async def test_an_empty_reply_is_said_to_be_empty(tmp_path: Path) -> None:
    async with model_stage(tmp_path, {"replies": [{"content": []}]}) as stage:
        reply = await stage.ask()
    assert reply.is_empty
    assert reply.stop == StopReason.END_TURN


@pytest.mark.parametrize(
    ("call", "stop", "broken"),
    [
        ({"tool": "Write", "input": {"path": "/a", "text": "long text"}, "cut_at": 20}, None, True),
        ({"tool": "Write", "input": {}}, "max_tokens", True),
        ({"tool": "Write", "input_json": ""}, "max_tokens", True),
        ({"tool": "Write", "input": {"path": "/a"}}, "max_tokens", False),
        ({"tool": "Write", "input": {}}, "tool_use", False),
    ],
)
async def test_a_call_that_the_output_limit_cut_off_is_marked_and_a_complete_one_is_not(
    tmp_path: Path, call: dict[str, Any], stop: str | None, broken: bool
) -> None:
    content = [{"text": "now"}, CALL, call]
    reply = {"content": content, **({"stop_reason": stop} if stop else {})}
    async with model_stage(tmp_path, {"replies": [reply]}, {"max_tokens": 777}) as stage:
        found = await stage.ask()
        block = (await stage.blocks(found))[-1]
    assert isinstance(block, ToolUse)
    assert (block.cut_off, block.input if broken else {}) == (broken, {})
    assert [ref.broken for ref in found.calls] == ["", "cut off by the output limit of 777 tokens" if broken else ""]


async def test_a_call_whose_input_is_no_json_is_never_run(tmp_path: Path) -> None:
    content = [{"tool": "Write", "input_json": '{"a": NaN}'}, {"tool": "Write", "input_json": "[1]"}]
    async with model_stage(tmp_path, {"replies": [{"content": content}]}) as stage:
        reply = await stage.ask()
    assert [ref.broken for ref in reply.calls] == ["its input is no valid JSON"] * 2


async def test_half_characters_from_the_model_do_not_poison_the_conversation(tmp_path: Path) -> None:
    content = [{"tool": "Read", "id": "t1", "input_json": '{"path": "a\\ud83d", "b": "\\u0000"}'}]
    async with model_stage(tmp_path, {"replies": [{"content": content}, "done"]}) as stage:
        first = await stage.ask()
        await stage.ask(await stage.after(first, waiting=(await stage.outcome(1, "t1"),)))
        raw = stage.model.requests[1].body_bytes
    assert b"\\ud83d" not in raw
    assert "a\ufffd" in raw.decode("utf-8")


@pytest.mark.parametrize("cut", ["end", "reset", "error"])
async def test_a_reply_that_breaks_after_a_complete_block_counts_and_is_not_asked_again(
    tmp_path: Path, cut: str
) -> None:
    faults = [{"cut": cut, "after_blocks": 2, "times": "always"}]
    content = [{"text": "first"}, CALL, {"text": "never comes"}]
    async with model_stage(tmp_path, {"replies": [{"content": content, "faults": faults}]}) as stage:
        reply = await stage.ask()
        blocks = await stage.blocks(reply)
        asked = len(stage.model.requests)
    assert (reply.stop, reply.unknown, asked) == (StopReason.CUT_OFF, 1, 1)
    assert [block.kind for block in blocks] == ["text", "tool_use"]
    assert [ref.tool for ref in reply.calls] == ["Read"]
    assert reply.usage.context > 0


async def test_a_last_call_without_input_in_a_broken_stream_is_dropped(tmp_path: Path) -> None:
    faults = [{"cut": "end", "after_blocks": 2, "times": "always"}]
    content = [{"text": "first"}, {"tool": "Read", "input": {}}, {"text": "never comes"}]
    async with model_stage(tmp_path, {"replies": [{"content": content, "faults": faults}]}) as stage:
        reply = await stage.ask()
    assert (reply.stop, reply.calls) == (StopReason.CUT_OFF, ())


@pytest.mark.parametrize(
    ("fault", "kind"),
    [
        ({"cut": "end"}, FailureKind.TRANSPORT),
        ({"cut": "reset"}, FailureKind.TRANSPORT),
        ({"cut": "error"}, FailureKind.OVERLOADED),
        pytest.param({"cut": "stall"}, FailureKind.STALLED, marks=pytest.mark.journey),
        pytest.param({"cut": "stall", "after_events": 0}, FailureKind.STALLED, marks=pytest.mark.journey),
    ],
)
async def test_a_reply_that_breaks_before_a_complete_block_fails_and_is_asked_again(
    tmp_path: Path, fault: dict[str, Any], kind: FailureKind
) -> None:
    reply = {"content": "whole", "faults": [fault]}
    async with model_stage(tmp_path, {"replies": [reply]}, {"idle_seconds": 0.3}) as stage:
        with pytest.raises(ModelFailure) as failed:
            await stage.ask()
        again = await stage.ask(beat=SilentBeat(attempt=2))
        kinds = [event["kind"] for event in stage.told() if event["kind"] in {"superseded", "turn_started"}]
    was_billed = fault.get("after_events") != 0
    assert (failed.value.kind, failed.value.retryable) == (kind, True)
    assert (again.stop, again.unknown) == (StopReason.END_TURN, int(was_billed))
    assert kinds == ["turn_started", *["superseded"] * was_billed]


@pytest.mark.journey
async def test_a_slow_living_stream_is_never_cut(tmp_path: Path) -> None:
    reply = {"content": "x" * 60, "pacing": {"chunk": 1, "token_ms": 20}}
    async with model_stage(tmp_path, {"replies": [reply]}, {"idle_seconds": 0.4}) as stage:
        assert (await stage.ask()).stop == StopReason.END_TURN


async def test_a_retry_is_told_with_the_delay_that_the_engine_will_use(tmp_path: Path) -> None:
    faults = [{"status": 429, "retry_after": 7}, {"status": 529}]
    async with model_stage(tmp_path, {"replies": [{"content": "a", "faults": faults}]}) as stage:
        with pytest.raises(ModelFailure) as limited:
            await stage.ask()
        with pytest.raises(ModelFailure) as overloaded:
            await stage.ask(beat=SilentBeat(attempt=3))
        reply = await stage.ask(beat=SilentBeat(attempt=4))
        told = stage.told("model_retry")
    assert reply.unknown == 0
    assert (limited.value.kind, limited.value.retry_after) == (FailureKind.RATE_LIMITED, 7)
    assert overloaded.value.kind == FailureKind.OVERLOADED
    assert 1.5 <= (overloaded.value.retry_after or 0) <= 2.5
    assert [event["seconds"] for event in told] == [7, overloaded.value.retry_after]
    assert not any(event.get("final") for event in told)


async def test_a_permanent_failure_is_told_as_final_at_the_first_attempt(tmp_path: Path) -> None:
    async with model_stage(tmp_path, {"replies": [{"content": "a", "faults": [{"status": 401}]}]}) as stage:
        with pytest.raises(ModelFailure) as failed:
            await stage.ask()
        told = stage.told("model_retry")
    assert (failed.value.kind, failed.value.retryable) == (FailureKind.UNAUTHORIZED, False)
    assert [event["final"] for event in told] == [True]


@pytest.mark.journey
async def test_a_second_attempt_joins_the_request_that_is_under_way(tmp_path: Path) -> None:
    reply = {"content": [{"text": "complete"}, {"text": "x" * 60}], "pacing": SLOW}
    async with model_stage(tmp_path, {"replies": [reply]}) as stage:
        first = SilentBeat()
        superseded = asyncio.create_task(stage.ask(beat=first))
        await eventually_async(lambda: len(first.said) == 2)
        superseded.cancel()
        await asyncio.wait({superseded})
        beat = SilentBeat(attempt=2)
        found = await stage.ask(beat=beat)
        asked = len(stage.model.requests)
    assert superseded.cancelled()
    assert (asked, found.stop, found.unknown) == (1, StopReason.END_TURN, 0)
    assert beat.said == first.said[-1:]
    assert len(beat.said[0]) == 2


async def test_a_reply_that_nobody_waited_for_is_there_for_the_next_attempt(tmp_path: Path) -> None:
    async with model_stage(tmp_path, {"replies": [{"content": "x" * 20, "pacing": SLOW}]}) as stage:
        lost = asyncio.create_task(stage.ask())
        await eventually_async(lambda: bool(stage.told("text")))
        lost.cancel()
        await eventually_async(lambda: bool(stage.told("exchange_ended")))
        found = await stage.another_worker().ask(beat=SilentBeat(attempt=2))
        asked = len(stage.model.requests)
    assert (asked, found.stop, found.unknown) == (1, StopReason.END_TURN, 0)


@pytest.mark.journey
async def test_two_workers_of_a_host_make_one_request_and_write_one_entry(tmp_path: Path) -> None:
    async with model_stage(tmp_path, {"replies": [{"content": "x" * 40, "pacing": SLOW}]}) as stage:
        first, second = await asyncio.gather(stage.ask(), stage.another_worker().ask(beat=SilentBeat(attempt=2)))
        asked = len(stage.model.requests)
    assert (asked, first) == (1, second)


async def test_other_parameters_are_another_flight_of_the_same_exchange(tmp_path: Path) -> None:
    async with model_stage(tmp_path, {"replies": ["a"]}) as stage:
        await stage.ask()
        await stage.ask(stage.request.model_copy(update={"max_tokens": 64_000}))
        caps = [request.body["max_tokens"] for request in stage.model.requests]
    assert caps == [8_000, 64_000]


async def test_the_workflows_cancel_ends_the_request_and_keeps_what_was_said(tmp_path: Path) -> None:
    async with model_stage(tmp_path, {"replies": [{"content": "x" * 4000, "pacing": SLOW}]}) as stage:
        found = await _interrupted(stage)
        blocks = await stage.blocks(found)
        assert not stage.model.requests[0].ended
    assert (found.stop, found.unknown) == (StopReason.CUT_OFF, 1)
    assert len(blocks) == 1
    assert isinstance(blocks[0], Text)
    assert set(blocks[0].text) == {"x"}


async def _interrupted(stage: Stage) -> ModelReply:
    beat = SilentBeat()
    asking = asyncio.create_task(stage.ask(beat=beat))
    await eventually_async(lambda: bool(stage.told("text")))
    beat.cancelled.set()
    async with asyncio.timeout(5):
        return await asking


async def test_a_cancel_before_anything_was_said_is_a_cancel(tmp_path: Path) -> None:
    async with model_stage(tmp_path, {"replies": [{"content": "x", "pacing": {"first_byte_ms": 20_000}}]}) as stage:
        beat = SilentBeat()
        asking = asyncio.create_task(stage.ask(beat=beat))
        await eventually_async(lambda: bool(stage.model.requests))
        beat.cancelled.set()
        with pytest.raises(asyncio.CancelledError):
            async with asyncio.timeout(5):
                await asking


async def test_blocks_that_another_host_kept_are_taken_from_its_last_heartbeat(tmp_path: Path) -> None:
    faults = [{"cut": "end", "after_blocks": 1}]
    async with model_stage(
        tmp_path, {"replies": [{"content": [{"text": "said"}, {"text": "b"}], "faults": faults}]}
    ) as stage:
        beat = SilentBeat()
        first = await stage.ask(beat=beat)
        flight_path(stage.world.home.journal, SESSION, 1).unlink()
        second = await stage.another_worker().ask(beat=SilentBeat(attempt=2, details=beat.said[-1]))
        asked = len(stage.model.requests)
    assert (asked, second.stop, second.unknown) == (1, StopReason.CUT_OFF, 1)
    assert await stage.blocks(second) == await stage.blocks(first) == (Text(text="said"),)


async def test_the_file_of_an_exchange_goes_when_the_next_one_begins(tmp_path: Path) -> None:
    async with model_stage(tmp_path, {"replies": ["a", "b"]}) as stage:
        first = await stage.ask()
        await stage.ask(await stage.after(first, hidden="go on"))
        left = sorted(file.name for file in (stage.world.home.journal / SESSION).iterdir())
    assert left == ["model-2.ndjson"]


async def test_a_reply_set_aside_is_named_in_the_one_that_counts(tmp_path: Path) -> None:
    async with model_stage(tmp_path, {"replies": [{"content": "a", "stop_reason": "max_tokens"}]}) as stage:
        first = await stage.ask()
        again = stage.request.model_copy(update={"exchange": 2, "max_tokens": 64_000, "discards": (first.head,)})
        second = await stage.ask(again)
        told = [(event["kind"], event["exchange"]) for event in stage.told() if event["kind"].endswith(("ed", "seded"))]
        body = await stage.body(second.head)
    assert body.discards == (first.head,)
    assert told.count(("turn_started", 1)) == 1
    assert ("superseded", 1) in told
