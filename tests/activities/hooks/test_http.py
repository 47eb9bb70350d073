"""Http hooks against a real server on loopback: what is sent, what is taken, and how each fault refuses."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio

from activities.hooks.http import BadHeader, filled
from activities.hooks.snapshot import frozen, kept_headers
from activities.stores.environments import keep_environment
from tests.activities.tool_calls.stage import Stage, text, use
from tests.fakes.waiting import eventually_async
from workflows.contracts.extensions import HookHeader, HookKind, HookRule
from workflows.contracts.settings import SessionSettings
from workflows.contracts.settings_files import SettingsFile
from workflows.contracts.tools import CallStatus

WRITE = {"file_path": "f", "content": "x"}


@dataclass
class Server:
    """Answers each request with the same bytes, and keeps what it was sent."""

    answer: bytes = b""
    delay: float = 0.0
    port: int = 0
    open: int = 0
    closing: asyncio.Event = field(default_factory=asyncio.Event)
    requests: list[tuple[str, dict[str, str], bytes]] = field(default_factory=list)

    def will(self, status: int, body: Any = "", headers: str = "", delay: float = 0.0) -> None:
        data = (body if isinstance(body, str) else json.dumps(body)).encode()
        self.answer = f"HTTP/1.1 {status} X\r\nContent-Length: {len(data)}\r\n{headers}\r\n".encode() + data
        self.delay = delay

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.open += 1
        head = (await reader.readuntil(b"\r\n\r\n")).decode()
        first, *lines = head.strip().split("\r\n")
        headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines)}
        body = await reader.readexactly(int(headers.get("content-length", 0)))
        self.requests.append((first, headers, body))
        try:
            await asyncio.wait_for(self.closing.wait(), self.delay)
        except TimeoutError:
            writer.write(self.answer)
        finally:
            writer.close()
            with suppress(OSError):
                await writer.wait_closed()
            self.open -= 1


@pytest_asyncio.fixture
async def server() -> AsyncIterator[Server]:
    told = Server()
    listening = await asyncio.start_server(told.serve, "127.0.0.1", 0)
    told.port = listening.sockets[0].getsockname()[1]
    async with listening:
        yield told
        told.closing.set()
        await eventually_async(lambda: not told.open)


def rule(server: Server, event: str = "PreToolUse", **more: Any) -> HookRule:
    return HookRule(event=event, kind=HookKind.HTTP, url=f"http://127.0.0.1:{server.port}/hook", **more)


async def test_the_input_is_posted_and_the_answer_decides(server: Server, tmp_path: Path) -> None:
    server.will(200, {"hookSpecificOutput": {"hookEventName": "PreToolUse", "permissionDecision": "deny"}})
    headers = (HookHeader(name="Authorization", value="Bearer ${TOKEN}"),)
    stage = Stage(tmp_path, SessionSettings(hooks=(rule(server, headers=headers, allowed_env=("TOKEN",)),)))
    keep_environment(stage.world.home, "s1", {"TOKEN": "t0p", "OTHER": "x"})
    done, body = await stage.run(use("Write", **WRITE))
    ((first, sent, given),) = server.requests
    assert (first, sent["authorization"], sent["content-type"]) == (
        "POST /hook HTTP/1.1",
        "Bearer t0p",
        "application/json",
    )
    assert json.loads(given)["tool_input"] == WRITE
    assert (done.status, body.hooks[0].kind, body.hooks[0].exit) == (CallStatus.DENIED, "http", 200)


@pytest.mark.parametrize(
    ("status", "answer", "more", "failure"),
    [
        (500, "", {}, "status"),
        (302, "", {"headers": "Location: http://127.0.0.1:9/\r\n"}, "status"),
        (401, '{"decision": "approve"}', {}, "status"),
        (200, '{"decision":', {}, "bad_answer"),
        (200, '{"decision": "perhaps"}', {}, "bad_answer"),
        (200, "x" * 1_100_000, {}, "too_much"),
        pytest.param(200, "", {"delay": 5.0}, "timeout", marks=pytest.mark.journey),
    ],
)
async def test_a_guard_that_answers_badly_refuses(
    server: Server, tmp_path: Path, status: int, answer: str, more: dict[str, Any], failure: str
) -> None:
    server.will(status, answer, **more)
    stage = Stage(tmp_path, SessionSettings(hooks=(rule(server, timeout=0.5),)))
    done, body = await stage.run(use("Write", **WRITE))
    assert (done.status, body.hooks[0].failure) == (CallStatus.DENIED, failure)
    assert not (stage.workspace / "f").exists()
    assert "a guard that fails refuses" in text(body)
    assert len(server.requests) == 1


async def test_an_empty_answer_decides_nothing(server: Server, tmp_path: Path) -> None:
    server.will(204)
    _, body = await Stage(tmp_path, SessionSettings(hooks=(rule(server),))).run(use("Write", **WRITE))
    assert (body.status, body.hooks[0].decision) == (CallStatus.OK, "")


async def test_what_a_dead_attempt_posted_is_posted_again_under_the_same_key(server: Server, tmp_path: Path) -> None:
    server.will(200, delay=30.0)
    stage = Stage(tmp_path, SessionSettings(hooks=(rule(server),)))
    await stage.reply(use("Write", **WRITE))
    attempt = asyncio.ensure_future(stage.again())
    await eventually_async(lambda: server.requests)
    attempt.cancel()
    await asyncio.wait({attempt})
    server.will(200)
    _, body = await stage.after_a_crash().again()
    assert body.hooks[0].crash == "repeated"
    assert len({sent["idempotency-key"] for _, sent, _ in server.requests}) == 1
    assert len(server.requests) == 2


def header(value: str, *names: str) -> HookRule:
    headers = (HookHeader(name="A", value=value),)
    return HookRule(event="Stop", kind=HookKind.HTTP, url="http://h/", headers=headers, allowed_env=names)


def test_headers_take_only_variables_that_are_named_and_set() -> None:
    assert filled(header("Bearer $T-${U}", "T", "U"), {"T": "1", "U": "2"}) == {"A": "Bearer 1-2"}
    with pytest.raises(BadHeader, match="not in its allowedEnvVars"):
        filled(header("$T"), {"T": "1"})
    with pytest.raises(BadHeader, match="not set for hooks"):
        filled(header("$ANTHROPIC_API_KEY", "ANTHROPIC_API_KEY"), {})


def test_values_of_headers_stay_on_the_host_and_are_missed_when_they_are_gone(tmp_path: Path) -> None:
    stage = Stage(tmp_path)
    (fixed,) = frozen(stage.world.home, "s1", [header("Bearer s3cret")], SettingsFile())
    assert "s3cret" not in fixed.model_dump_json()
    kept = kept_headers(stage.world.home, "s1")
    assert filled(fixed, {}, kept) == {"A": "Bearer s3cret"}
    with pytest.raises(BadHeader, match="not on this host any more"):
        filled(fixed, {}, [])


async def test_an_address_that_settings_do_not_allow_refuses(server: Server, tmp_path: Path) -> None:
    server.will(200)
    allowed = SettingsFile(allowed_http_hook_urls=("https://hooks.example.com/*",), http_hook_allowed_env_vars=("A",))
    stage = Stage(tmp_path)
    fixed = frozen(stage.world.home, "s1", [rule(server, allowed_env=("A", "B"))], allowed)
    assert fixed[0].allowed_env == ("A",)
    stage.settings = SessionSettings(hooks=fixed)
    _, body = await stage.run(use("Write", **WRITE))
    assert (body.status, body.hooks[0].failure) == (CallStatus.DENIED, "not_allowed")
    assert server.requests == []
