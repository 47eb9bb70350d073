"""A real language server answers where names are defined and used, and is kept and ended with the worker."""

import asyncio
import socket
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from activities.lsp.connection import Connection, ServerLeft
from activities.lsp.servers import command_for
from tests.activities.tool_calls.stage import Stage, text, use
from tests.fakes.held import missing
from workflows.contracts.permissions import Rules
from workflows.contracts.sandbox import SandboxSettings
from workflows.contracts.settings import SessionSettings
from workflows.contracts.tools import CallStatus
from workflows.contracts.transcript import OutcomeBody

CALLS = Path(__file__).parents[2] / "fakes" / "call_hierarchy.py"
PROGRAMS = str(Path(sys.executable).parent)
pytestmark = [pytest.mark.journey, pytest.mark.timeout(150)]

MODULE = "def greet(name: str) -> str:\n    '''Say hello.'''\n    return name\n"
USER = "from shop import greet\n\ngrüße = greet('x'); greet('y')\n"


@pytest.fixture
def stage(tmp_path: Path) -> Stage:
    made = Stage(tmp_path)
    made.world = replace(made.world, environment={"PATH": f"{PROGRAMS}:/usr/bin:/bin"})
    (made.workspace / "shop.py").write_text(MODULE)
    (made.workspace / "user.py").write_text(USER)
    return made


async def asked(stage: Stage, operation: str, file: str = "user.py", **given: Any) -> OutcomeBody:
    _done, body = await stage.run(use("LSP", operation=operation, file_path=file, **given))
    return body


async def test_definitions_references_symbols_and_hover_of_a_real_server(stage: Stage) -> None:
    try:
        body = await asked(stage, "goToDefinition", line=3, character=10)
        assert text(body) == "shop.py:1: def greet(name: str) -> str:"
        body = await asked(stage, "findReferences", "shop.py", line=1, character=5)
        assert text(body).splitlines() == [
            "shop.py:1: def greet(name: str) -> str:",
            "user.py:1: from shop import greet",
            "user.py:3: grüße = greet('x'); greet('y')",
        ]
        assert "Say hello." in text(await asked(stage, "hover", line=3, character=23))
        assert "function greet (line 1)" in text(await asked(stage, "documentSymbol", "shop.py"))
        assert "greet (shop.py:1)" in text(await asked(stage, "workspaceSymbol", query="greet"))
        outside = text(await asked(stage, "goToDefinition", "shop.py", line=1, character=18))
        assert outside.count("\n") == 0
        assert "class str" not in outside
        assert len(stage.world.languages._servers) == 1
        (stage.workspace / "shop.py").write_text("\n\n" + MODULE)
        assert text(await asked(stage, "goToDefinition", line=3, character=10)).startswith("shop.py:3: def greet")
        (server,) = stage.world.languages._servers.values()
        server.connection._process.kill()
        await server.connection._process.wait()
        assert (await asked(stage, "goToDefinition", line=3, character=10)).status == CallStatus.OK
        unknown = text(await asked(stage, "incomingCalls", "shop.py", line=1, character=5))
        assert unknown.startswith("The language server cannot answer this kind of question. Use Grep instead")
    finally:
        (server,) = stage.world.languages._servers.values()
        await stage.world.languages.close()
        assert server.connection._process.returncode is not None


async def test_places_in_files_that_a_rule_keeps_back_are_counted_and_not_shown(stage: Stage) -> None:
    stage.settings = SessionSettings(rules=Rules(deny=("Read(user.py)",)))
    try:
        found = text(await asked(stage, "findReferences", "shop.py", line=1, character=5))
    finally:
        await stage.world.languages.close()
    assert found.splitlines() == [
        "shop.py:1: def greet(name: str) -> str:",
        "[2 files were left out: deny rule Read(user.py)]",
    ]


async def test_who_calls_a_function_and_whom_it_calls(stage: Stage) -> None:
    (stage.workspace / "calls.x").write_text("def a(): b(); c()\ndef b(): c()\ndef c(): 1\n")
    script = stage.folder / "tools" / "calls"
    script.parent.mkdir()
    script.write_text(f"#!{sys.executable}\n{CALLS.read_text()}")
    script.chmod(0o755)
    stage.settings = SessionSettings(language_servers=(f".x={script}",))
    try:
        assert text(await asked(stage, "prepareCallHierarchy", "calls.x", line=2)) == "function b (calls.x:2)"
        assert text(await asked(stage, "incomingCalls", "calls.x", line=3)).splitlines() == [
            "function a (calls.x:1), calls it in line 1",
            "function b (calls.x:2), calls it in line 2",
        ]
        assert (
            text(await asked(stage, "outgoingCalls", "calls.x", line=2)) == "function c (calls.x:3), called in line 2"
        )
        assert text(await asked(stage, "incomingCalls", "calls.x")).startswith("Nothing was found for incomingCalls")
        stage.settings = stage.settings.model_copy(update={"rules": Rules(deny=("Read(calls.x)",))})
        assert "calls.x:1" not in text(await asked(stage, "incomingCalls", "calls.x", line=3))
    finally:
        await stage.world.languages.close()


async def test_a_server_in_the_full_sandbox_writes_nothing_and_reaches_nobody(stage: Stage) -> None:
    if missing(1):
        pytest.skip(f"no full sandbox here: {missing(1)}")
    planted, outside = stage.workspace / "planted", stage.folder / "outside"
    assert "OSError" in await said_by(stage, f"open({str(planted)!r}, 'w')")
    await said_by(stage, f"open({str(outside)!r}, 'w')")
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
        assert "OSError" in await said_by(stage, f"socket.create_connection(('127.0.0.1', {port}), 3)")
    assert await said_by(stage, "open('/tmp/mine', 'w')") == "done"
    assert not planted.exists()
    assert not outside.exists()
    off = SessionSettings(sandbox=SandboxSettings(enabled=False))
    assert await said_by(stage, f"open({str(planted)!r}, 'w')", off) == "done"


async def said_by(stage: Stage, act: str, settings: SessionSettings | None = None) -> str:
    """The answer of a server that tries this: done, or the error that it met."""
    script = stage.folder / "tools" / "server"
    script.parent.mkdir(exist_ok=True)
    script.write_text(f"#!{sys.executable}\nACT = {act!r}\n{SERVER}")
    script.chmod(0o755)
    stage.settings = (settings or SessionSettings()).model_copy(update={"language_servers": (f".py={script}",)})
    try:
        return text(await asked(stage, "hover", "shop.py"))
    finally:
        await stage.world.languages.close()


SERVER = r"""
import json, socket, sys
def take():
    size = 0
    while (line := sys.stdin.buffer.readline().strip()):
        size = int(line.split(b":")[1]) if line.lower().startswith(b"content-length") else size
    return json.loads(sys.stdin.buffer.read(size)) if size else sys.exit()
while True:
    asked = take()
    if "id" not in asked:
        continue
    result = None
    if asked["method"] == "textDocument/hover":
        try:
            eval(ACT)
            result = {"contents": "done"}
        except OSError as error:
            result = {"contents": f"OSError: {error}"}
    data = json.dumps({"jsonrpc": "2.0", "id": asked["id"], "result": result}).encode()
    sys.stdout.buffer.write(b"Content-Length: %d\r\n\r\n" % len(data) + data)
    sys.stdout.buffer.flush()
"""


async def test_what_cannot_be_asked_is_told_with_another_way(stage: Stage) -> None:
    (stage.workspace / "main.go").write_text("package main\n")
    body = await asked(stage, "hover", "main.go")
    assert body.status == CallStatus.ERROR
    assert '"languageServers": [".go=COMMAND"]' in text(body)
    assert "has 3 lines, not 9" in text(await asked(stage, "hover", "shop.py", line=9))
    assert "There is no file" in text(await asked(stage, "hover", "none.py"))


@pytest.mark.parametrize(
    ("program", "told"),
    [
        ("import sys; sys.exit(3)", "language server has ended"),
        ("print('hello', flush=True); input()", "language server"),
        (
            "import sys; sys.stdout.write('Content-Length: 99999999999\\r\\n\\r\\n'); sys.stdout.flush(); input()",
            "understood",
        ),
    ],
)
async def test_a_server_that_fails_is_told_and_leaves_nothing(stage: Stage, program: str, told: str) -> None:
    script = stage.folder / "server"
    script.write_text(f"#!{sys.executable}\n{program}\n")
    script.chmod(0o755)
    stage.settings = SessionSettings(language_servers=(f".py={script}",))
    body = await asked(stage, "hover", "shop.py")
    assert body.status == CallStatus.ERROR
    assert told in text(body)
    assert stage.world.languages._servers == {}


DEAF = r"""
import json, sys, time
size = 0
while (line := sys.stdin.buffer.readline().strip()):
    size = int(line.split(b":")[1])
asked = json.loads(sys.stdin.buffer.read(size))
data = json.dumps({"jsonrpc": "2.0", "id": asked["id"], "result": {}}).encode()
sys.stdout.buffer.write(b"Content-Length: %d\r\n\r\n" % len(data) + data)
sys.stdout.buffer.flush()
time.sleep(600)
"""


async def deaf_server(folder: Path) -> Connection:
    """A server that answers once and reads nothing after that."""
    connection = await Connection.start((sys.executable, "-c", DEAF), folder, {})
    connection.send_s = 0.5
    assert await connection.request("initialize", {}, 20) == {}
    return connection


async def test_a_server_that_reads_nothing_any_more_is_ended(tmp_path: Path) -> None:
    connection = await deaf_server(tmp_path)
    async with asyncio.timeout(20):
        with pytest.raises(ServerLeft, match="reads nothing any more"):
            await connection.notify("textDocument/didOpen", {"text": "x" * 1_000_000})
        await connection.close()
    assert not connection.is_alive


async def test_closing_does_not_wait_for_a_server_that_reads_nothing(tmp_path: Path) -> None:
    connection = await deaf_server(tmp_path)
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0.1):
            await connection.notify("textDocument/didOpen", {"text": "x" * 1_000_000})
    async with asyncio.timeout(20):
        await connection.close()
    assert not connection.is_alive


def test_a_program_in_the_workspace_is_no_server(tmp_path: Path) -> None:
    planted = tmp_path / "bin" / "jedi-language-server"
    planted.parent.mkdir()
    planted.write_text("#!/bin/sh\n")
    planted.chmod(0o755)
    file = tmp_path / "a.py"
    assert command_for(file, (), {"PATH": str(planted.parent)}, tmp_path) == ()
    assert command_for(file, (f".py={planted}",), {"PATH": ""}, tmp_path) == ()
    assert command_for(file, (), {"PATH": str(planted.parent)}, tmp_path / "elsewhere") == (str(planted),)
    assert command_for(file, (), {}, tmp_path / "elsewhere") == ()
