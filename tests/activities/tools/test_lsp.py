"""A real language server answers where names are defined and used, and is kept and ended with the worker."""

import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from activities.lsp.servers import command_for
from tests.activities.tool_calls.stage import Stage, text, use
from workflows.contracts.settings import SessionSettings
from workflows.contracts.tools import CallStatus
from workflows.contracts.transcript import OutcomeBody

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
    finally:
        (server,) = stage.world.languages._servers.values()
        await stage.world.languages.close()
        assert server.connection._process.returncode is not None


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
