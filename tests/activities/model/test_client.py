"""The endpoint: whose key goes where, and what a person is told when there is none."""

import asyncio
import traceback
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from activities.model.client import CLIENTS_HELD, AnthropicEndpoint
from activities.model.events import EventDecoder
from activities.model.failures import ModelFailure
from tests.fakes.model_stage import open_stage
from worker.rehearsal.scenario import Scenario
from worker.rehearsal.server import rehearse
from workflows.contracts.errors import FailureKind

KEY = "sk-ant-secret-0123456789"


async def _failure(folder: Path, environment: dict[str, str], url: str = "") -> ModelFailure:
    stage = await open_stage(folder, None, url)
    endpoint = AnthropicEndpoint(environment)
    stage.world = replace(stage.world, model=endpoint, environment=environment)
    try:
        with pytest.raises(ModelFailure) as failed:
            await stage.ask()
    finally:
        await endpoint.close()
    assert KEY not in "".join(traceback.format_exception(failed.value))
    assert KEY not in str(stage.told())
    return failed.value


@asynccontextmanager
async def _answering(text: str) -> AsyncIterator[str]:
    """A server that answers one and the same bytes to everything."""

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read(65_536)
        writer.write(text.encode())
        await writer.drain()
        writer.close()

    server = await asyncio.start_server(answer, "127.0.0.1")
    async with server:
        yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"


@pytest.mark.journey
async def test_connections_of_old_keys_are_given_back_but_not_under_a_stream() -> None:
    async with rehearse(Scenario.model_validate({"replies": ["a"], "fallback": "after"})) as model:
        environment = {"ANTHROPIC_BASE_URL": model.url, "ANTHROPIC_API_KEY": "first"}
        endpoint = AnthropicEndpoint(environment)
        body = b'{"model": "m", "max_tokens": 9, "stream": true, "messages": [{"role": "user", "content": "hi"}]}'
        async with endpoint.stream(body, "") as first:
            begun = await anext(first)
            for number in range(2 * CLIENTS_HELD):
                environment["ANTHROPIC_API_KEY"] = f"key-{number}"
                async with endpoint.stream(body, "") as other:
                    assert [event async for event in other][-1]["type"] == "message_stop"
            rest = [event async for event in first]
        assert (begun["type"], rest[-1]["type"]) == ("message_start", "message_stop")
        assert endpoint.clients == CLIENTS_HELD
        await endpoint.close()


@pytest.mark.journey
async def test_many_streams_side_by_side_end_each_for_itself() -> None:
    scenario = Scenario.model_validate({"fallback": {"content": "hello there"}})
    body = b'{"model": "m", "max_tokens": 9, "stream": true, "messages": [{"role": "user", "content": "hi"}]}'
    async with rehearse(scenario) as model:
        environment = {"ANTHROPIC_BASE_URL": model.url}
        endpoint = AnthropicEndpoint(environment)
        await endpoint.warm()

        async def one(number: int) -> str:
            environment["ANTHROPIC_API_KEY"] = f"key-{number}"
            async with endpoint.stream(body, "") as events:
                return str([event async for event in events][-1]["type"])

        for beginning in range(0, 200, 40):
            ends = await asyncio.gather(*(one(beginning + number) for number in range(40)))
            assert set(ends) == {"message_stop"}
        assert endpoint.clients == CLIENTS_HELD
        await endpoint.close()


async def test_without_key_and_base_url_one_line_says_what_to_set(tmp_path: Path) -> None:
    failure = await _failure(tmp_path, {})
    assert (failure.kind, failure.retryable) == (FailureKind.NO_KEY, False)
    assert all(word in failure.message for word in ("ANTHROPIC_API_KEY", "ANTHROPIC_BASE_URL", "perdure demo"))


async def test_a_session_may_name_a_model_on_loopback_only(tmp_path: Path) -> None:
    failure = await _failure(tmp_path, {"ANTHROPIC_API_KEY": KEY}, url="http://models.example/")
    assert failure.kind == FailureKind.BAD_REQUEST
    assert "loopback" in failure.message


async def test_a_rehearsal_model_never_sees_the_worker_s_key(tmp_path: Path) -> None:
    seen: list[bytes] = []

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        seen.append(await reader.readuntil(b"\r\n\r\n"))
        writer.write(b"HTTP/1.1 401 No\r\ncontent-length: 0\r\nconnection: close\r\n\r\n")
        await writer.drain()
        writer.close()

    async with await asyncio.start_server(answer, "127.0.0.1") as server:
        url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
        await _failure(tmp_path, {"ANTHROPIC_API_KEY": KEY, "ANTHROPIC_AUTH_TOKEN": KEY}, url=url)
    assert len(seen) == 1
    assert KEY.encode() not in seen[0]


async def test_the_worker_s_own_endpoint_gets_its_key_and_an_echo_of_it_is_masked(tmp_path: Path) -> None:
    body = f'{{"type":"error","error":{{"type":"authentication_error","message":"bad key {KEY}"}}}}'
    head = "HTTP/1.1 401 No\r\ncontent-type: application/json\r\nconnection: close\r\n"
    async with _answering(f"{head}content-length: {len(body)}\r\n\r\n{body}") as url:
        failure = await _failure(tmp_path, {"ANTHROPIC_API_KEY": KEY, "ANTHROPIC_BASE_URL": url})
    assert failure.kind == FailureKind.UNAUTHORIZED
    assert failure.message == "bad key ***"


async def test_a_messages_api_that_wants_no_key_is_asked_without_one(tmp_path: Path) -> None:
    async with rehearse(Scenario.model_validate({"replies": ["hello"]})) as model:
        stage = await open_stage(tmp_path, model, "")
        endpoint = AnthropicEndpoint({"ANTHROPIC_BASE_URL": model.url})
        stage.world = replace(stage.world, model=endpoint)
        reply = await stage.ask()
        await endpoint.close()
    assert not reply.is_empty


async def test_a_port_where_nobody_listens_is_a_transport_failure_that_names_the_host(tmp_path: Path) -> None:
    async with _answering("") as url:
        pass
    failure = await _failure(tmp_path, {"ANTHROPIC_API_KEY": KEY, "ANTHROPIC_BASE_URL": url})
    assert (failure.kind, failure.retryable) == (FailureKind.TRANSPORT, True)
    assert "127.0.0.1" in failure.message


async def test_a_server_that_is_no_messages_api_is_told_at_once(tmp_path: Path) -> None:
    async with _answering("HTTP/1.1 200 OK\r\ncontent-type: text/html\r\nconnection: close\r\n\r\n<p>hi</p>") as url:
        failure = await _failure(tmp_path, {"ANTHROPIC_BASE_URL": url})
    assert (failure.kind, failure.retryable) == (FailureKind.BAD_REQUEST, False)
    assert "Messages API" in failure.message


async def test_a_damaged_stream_is_a_transport_failure(tmp_path: Path) -> None:
    head = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n"
    async with _answering(f"{head}event: x\ndata: {{not json\n\n") as url:
        failure = await _failure(tmp_path, {"ANTHROPIC_BASE_URL": url})
    assert (failure.kind, failure.retryable) == (FailureKind.TRANSPORT, True)


@pytest.mark.parametrize("size", [1, 2, 7, 1000])
def test_events_are_found_wherever_the_pieces_end(size: int) -> None:
    text = 'event: a\r\ndata: {"type":"a","t":"é"}\r\n\r\n: comment\n\ndata: {"type":\ndata: "b"}\n\ndata: [DONE]\n\n'
    raw = text.encode()
    decoder = EventDecoder()
    found = [event for start in range(0, len(raw), size) for event in decoder.feed(raw[start : start + size])]
    assert found == [{"type": "a", "t": "é"}, {"type": "b"}]
