"""The language servers that a worker keeps: one a workspace and command, ended with the worker."""

import asyncio
import os
import shlex
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from pydantic import JsonValue

from activities.lsp.connection import Connection, Held, ServerLeft

KEPT = 4
MOST_ITEMS = 10
"""Items of an answer that are asked about further."""
START_S, ANSWER_S = 60.0, 60.0

DEFAULT = ((".py", "jedi-language-server"), (".pyi", "jedi-language-server"))
"""What is used where the settings name nothing and it is installed: it only reads. Servers that run what a workspace
says (build scripts, plugins, its own compiler) are a person's choice."""

LANGUAGES = {".py": "python", ".pyi": "python", ".rs": "rust", ".ts": "typescript", ".tsx": "typescriptreact",
             ".js": "javascript"}  # fmt: skip


@dataclass(frozen=True)
class Asked:
    """One question about a file."""

    workspace: Path
    file: Path
    text: str
    """What the file holds now."""
    method: str
    params: dict[str, JsonValue]
    held: Held | None = None
    """The sandbox that its server runs in."""
    then: str = ""
    """What is asked next about each `item` of the answer; the answers to that are the answer."""


@dataclass
class _Server:
    connection: Connection
    lock: asyncio.Lock = field(default_factory=asyncio.Lock)


class LanguageServers:
    """Started when they are first asked, the one asked last kept longest."""

    def __init__(self) -> None:
        self._servers: dict[tuple[str, tuple[str, ...], Held | None], _Server] = {}
        self._starting = asyncio.Lock()

    async def ask(self, command: tuple[str, ...], environment: Mapping[str, str], asked: Asked) -> JsonValue:
        """Its answer; one that died since it was last asked is started again. Raises ServerLeft."""
        server = await self._server(command, environment, asked)
        uri = asked.file.as_uri()
        opened: JsonValue = {
            "uri": uri,
            "languageId": LANGUAGES.get(asked.file.suffix, asked.file.suffix.removeprefix(".") or "plaintext"),
            "version": 1,
            "text": asked.text,
        }
        async with server.lock:
            await server.connection.notify("textDocument/didOpen", {"textDocument": opened})
            try:
                answer = await server.connection.request(asked.method, asked.params, ANSWER_S)
                return await _followed(server.connection, asked.then, answer) if asked.then else answer
            finally:
                if server.connection.is_alive:
                    await server.connection.notify("textDocument/didClose", {"textDocument": {"uri": uri}})

    async def close(self) -> None:
        """End them all."""
        servers, self._servers = list(self._servers.values()), {}
        await asyncio.gather(*(server.connection.close() for server in servers))

    async def _server(self, command: tuple[str, ...], environment: Mapping[str, str], asked: Asked) -> _Server:
        key = (str(asked.workspace), command, asked.held)
        async with self._starting:
            server = self._servers.pop(key, None)
            if server is not None and not server.connection.is_alive:
                await server.connection.close()
                server = None
            if server is None:
                server = _Server(await _started(command, environment, asked))
            self._servers[key] = server
            old = [self._servers.pop(name) for name in list(self._servers)[:-KEPT]]
        await asyncio.gather(*(each.connection.close() for each in old))
        return server


async def _followed(connection: Connection, method: str, answer: JsonValue) -> JsonValue:
    found: list[JsonValue] = []
    for item in answer[:MOST_ITEMS] if isinstance(answer, list) else ():
        more = await connection.request(method, {"item": item}, ANSWER_S)
        found += more if isinstance(more, list) else []
    return found


async def _started(command: tuple[str, ...], environment: Mapping[str, str], asked: Asked) -> Connection:
    workspace = asked.workspace
    connection = await Connection.start(command, workspace, environment, asked.held)
    uri = workspace.as_uri()
    given: JsonValue = {
        # In its own process namespace it would take us for dead.
        "processId": None if asked.held else os.getpid(),
        "rootUri": uri,
        "workspaceFolders": [{"uri": uri, "name": workspace.name}],
        "capabilities": {
            "textDocument": {
                "hover": {"contentFormat": ["plaintext", "markdown"]},
                "documentSymbol": {"hierarchicalDocumentSymbolSupport": True},
                "callHierarchy": {},
            },
            "workspace": {"workspaceFolders": True, "configuration": True},
        },
    }
    try:
        await connection.request("initialize", given, START_S)
        await connection.notify("initialized", {})
    except ServerLeft:
        await connection.close()
        raise
    return connection


def command_for(
    file: Path, configured: Sequence[str], environment: Mapping[str, str], workspace: Path
) -> tuple[str, ...]:
    """The server for a file: as the settings say (`.go=gopls serve`), else an installed one; empty for none.

    A program that lies in the workspace is none: an agent could have put it there.
    """
    named = [(ending.strip(), command) for ending, _, command in (entry.partition("=") for entry in configured)]
    for ending, command in (*named, *DEFAULT):
        words = tuple(shlex.split(command)) if ending and file.name.endswith(ending) else ()
        found = shutil.which(words[0], path=environment.get("PATH", "")) if words else None
        if found and Path(found).is_absolute() and not Path(found).resolve().is_relative_to(workspace.resolve()):
            return (found, *words[1:])
    return ()


def server_environment(environment: Mapping[str, str], *, is_held: bool = False) -> dict[str, str]:
    """What a server finds: no virtual environment is named, since servers run the interpreter in it."""
    names = ("PATH", "HOME", "LANG", "LC_ALL", "TMPDIR")
    found = {"HOME": str(Path.home())} | {name: environment[name] for name in names if name in environment}
    return {**found, "TMPDIR": "/tmp"} if is_held else found  # noqa: S108 - its own, seen from inside
