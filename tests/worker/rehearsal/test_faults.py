"""Each fault, seen as the real SDK sees it."""

from typing import Any

import anthropic
import httpx2
import pytest

from tests.worker.rehearsal.stage import ASK, Stage, streamed

BROKEN = (httpx2.HTTPError, anthropic.APIConnectionError)


def faulty(*faults: dict[str, Any]) -> dict[str, Any]:
    return {"fallback": {"content": [{"text": "first"}, {"text": "second"}], "faults": list(faults)}}


@pytest.mark.parametrize(
    ("status", "kind", "error"),
    [
        (400, "invalid_request_error", anthropic.BadRequestError),
        (401, "authentication_error", anthropic.AuthenticationError),
        (403, "permission_error", anthropic.PermissionDeniedError),
        (404, "not_found_error", anthropic.NotFoundError),
        (413, "request_too_large", anthropic.APIStatusError),
        (429, "rate_limit_error", anthropic.RateLimitError),
        (500, "api_error", anthropic.InternalServerError),
        (529, "overloaded_error", anthropic.APIStatusError),
    ],
)
async def test_a_status_comes_in_the_providers_form(
    stage: Stage, status: int, kind: str, error: type[anthropic.APIStatusError]
) -> None:
    _, client = await stage.play(faulty({"status": status, "message": "told so"}))
    with pytest.raises(error) as caught:
        await streamed(client)
    assert caught.value.status_code == status
    assert caught.value.body == {
        "type": "error",
        "error": {"type": kind, "message": "told so"},
        "request_id": caught.value.request_id,
    }


async def test_a_rate_limit_says_when_to_come_back(stage: Stage) -> None:
    _, client = await stage.play(faulty({"status": 429, "retry_after": 2.5}))
    with pytest.raises(anthropic.RateLimitError) as caught:
        await streamed(client)
    assert caught.value.response.headers["retry-after"] == "2.5"


async def test_faults_come_as_often_as_they_say_then_the_reply(stage: Stage) -> None:
    _, client = await stage.play(faulty({"status": 529, "times": 2}, {"status": 500}))
    seen: list[object] = []
    for _ in range(4):
        try:
            seen.append((await streamed(client)).stop_reason)
        except anthropic.APIStatusError as error:
            seen.append(error.status_code)
    assert seen == [529, 529, 500, "end_turn"]


async def test_a_fault_may_come_for_ever(stage: Stage) -> None:
    _, client = await stage.play(faulty({"status": 529, "times": "always"}))
    for _ in range(5):
        with pytest.raises(anthropic.APIStatusError, match="Overloaded"):
            await streamed(client)


async def test_too_long_names_both_numbers(stage: Stage) -> None:
    _, client = await stage.play(faulty({"too_long": 210_000}))
    with pytest.raises(anthropic.BadRequestError, match="prompt is too long: 210000 tokens > 200000 maximum"):
        await streamed(client)


async def test_a_stream_that_ends_early_leaves_no_stop_reason(stage: Stage) -> None:
    _, client = await stage.play(faulty({"cut": "end", "after_blocks": 1}))
    message = await streamed(client)
    assert (message.stop_reason, [block.text for block in message.content]) == (None, ["first"])


@pytest.mark.parametrize("after", [{"after_events": 0}, {"after_events": 3}, {"after_blocks": 2}, {}])
async def test_a_reset_is_an_error_of_the_transport(stage: Stage, after: dict[str, int]) -> None:
    _, client = await stage.play(faulty({"cut": "reset", **after}))
    with pytest.raises(BROKEN):
        await streamed(client)
    assert (await streamed(client)).stop_reason == "end_turn"


async def test_what_came_before_a_reset_has_arrived(stage: Stage) -> None:
    _, client = await stage.play(faulty({"cut": "reset", "after_blocks": 1}))
    seen = []

    async def read() -> None:
        async for event in await client.messages.create(**ASK, stream=True):
            seen.append(event.type)  # noqa: PERF401 - what came before the error is to be kept

    with pytest.raises(BROKEN):
        await read()
    assert seen[-1] == "content_block_stop"


async def test_an_error_event_inside_a_stream_is_raised(stage: Stage) -> None:
    _, client = await stage.play(faulty({"cut": "error", "after_events": 4, "message": "busy now"}))
    with pytest.raises(anthropic.APIStatusError) as caught:
        await streamed(client)
    assert "busy now" in str(caught.value)
    assert "overloaded_error" in str(caught.value.body)


@pytest.mark.parametrize("after", [0, 3])
async def test_a_stall_is_silence_and_then_the_rest(stage: Stage, after: int) -> None:
    _, client = await stage.play(faulty({"cut": "stall", "seconds": 0.2, "after_events": after}))
    assert [block.text for block in (await streamed(client)).content] == ["first", "second"]


@pytest.mark.journey
async def test_a_long_stall_ends_with_the_clients_patience(stage: Stage) -> None:
    _, client = await stage.play(faulty({"cut": "stall", "after_events": 3}))
    with pytest.raises((*BROKEN, anthropic.APITimeoutError)):
        await streamed(client.with_options(timeout=0.3))


@pytest.mark.parametrize("cut", ["end", "reset", "error"])
async def test_a_cut_breaks_a_reply_that_is_not_streamed(stage: Stage, cut: str) -> None:
    _, client = await stage.play(faulty({"cut": cut}))
    with pytest.raises((*BROKEN, anthropic.APIStatusError)):
        await client.messages.create(**ASK)
    assert (await client.messages.create(**ASK)).stop_reason == "end_turn"


async def test_a_call_cut_by_the_output_limit_ends_inside_its_json(stage: Stage) -> None:
    call = {"tool": "Write", "input": {"file_path": "/x", "content": "half of it"}, "cut_at": 34}
    _, client = await stage.play({"fallback": {"content": call}})
    message = await streamed(client)
    assert message.stop_reason == "max_tokens"
    assert message.content[0].input != call["input"]


@pytest.mark.parametrize("given", ["", "{}", '{"command": "rm -rf /box/ke'])
async def test_the_json_of_a_call_may_be_given_to_the_letter(stage: Stage, given: str) -> None:
    reply = {"content": {"tool": "Bash", "input_json": given}, "stop_reason": "max_tokens"}
    _, client = await stage.play({"fallback": reply})
    pieces = [
        event.delta.partial_json
        async for event in await client.messages.create(**ASK, stream=True)
        if event.type == "content_block_delta" and event.delta.type == "input_json_delta"
    ]
    assert "".join(pieces) == given


async def test_a_reply_longer_than_the_output_limit_is_cut_where_asked(stage: Stage) -> None:
    reply = {"content": [{"text": "x" * 40}, {"tool": "T", "input": {"a": "b"}}], "obey_max_tokens": True}
    _, client = await stage.play({"fallback": reply})
    cut = await streamed(client, max_tokens=5)
    assert (cut.stop_reason, cut.content[0].text, len(cut.content)) == ("max_tokens", "x" * 20, 1)
    assert (await streamed(client)).stop_reason == "tool_use"
