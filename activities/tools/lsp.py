"""LSP: ask a language server where things are defined and used."""

import asyncio
import os
from collections.abc import Iterator
from enum import StrEnum
from pathlib import Path
from urllib.parse import unquote, urlsplit

from pydantic import Field, JsonValue

from activities.lsp.connection import ServerLeft
from activities.lsp.servers import Asked, command_for, server_environment
from activities.safety.environment import command_environment
from activities.safety.paths import is_inside, located, named, own_findings, real
from activities.safety.sandbox.readers import held_reader
from activities.settings.left_out import LeftOut, left_out
from activities.stores.regular_files import read_version, shown
from activities.stores.text_files import decode
from activities.tool import Call, Tool, ToolInput
from workflows.contracts.errors import ToolError
from workflows.contracts.messages import Text
from workflows.contracts.permissions import Finding
from workflows.contracts.tools import Repeat, ToolOutcome

MOST = 200
"""Places in one answer."""
LINE = 160


class Operation(StrEnum):
    DEFINITION = "goToDefinition"
    REFERENCES = "findReferences"
    HOVER = "hover"
    DOCUMENT_SYMBOLS = "documentSymbol"
    WORKSPACE_SYMBOLS = "workspaceSymbol"
    IMPLEMENTATION = "goToImplementation"
    CALL_HIERARCHY = "prepareCallHierarchy"
    INCOMING_CALLS = "incomingCalls"
    OUTGOING_CALLS = "outgoingCalls"


_METHODS = {
    Operation.DEFINITION: "textDocument/definition",
    Operation.REFERENCES: "textDocument/references",
    Operation.HOVER: "textDocument/hover",
    Operation.DOCUMENT_SYMBOLS: "textDocument/documentSymbol",
    Operation.WORKSPACE_SYMBOLS: "workspace/symbol",
    Operation.IMPLEMENTATION: "textDocument/implementation",
    Operation.CALL_HIERARCHY: "textDocument/prepareCallHierarchy",
    Operation.INCOMING_CALLS: "textDocument/prepareCallHierarchy",
    Operation.OUTGOING_CALLS: "textDocument/prepareCallHierarchy",
}
_THEN = {
    Operation.INCOMING_CALLS: ("callHierarchy/incomingCalls", "from"),
    Operation.OUTGOING_CALLS: ("callHierarchy/outgoingCalls", "to"),
}
"""What is asked about each function found, and which end of a call is then told."""
_KINDS = ("", "file", "module", "namespace", "package", "class", "method", "property", "field", "constructor", "enum",
          "interface", "function", "variable", "constant", "string", "number", "boolean", "array", "object", "key",
          "null", "enum member", "struct", "event", "operator", "type parameter")  # fmt: skip


class Input(ToolInput):
    operation: Operation = Field(description="What to ask.")
    file_path: str = Field(description="The file that is asked about, absolute or relative to the workspace.")
    line: int = Field(default=1, ge=1, description="Line of the name, from 1, as Read shows it.")
    character: int = Field(default=1, ge=1, description="Column of the name in its line, from 1.")
    query: str = Field(default="", max_length=200, description="For workspaceSymbol: what the names must contain.")


class LSP(Tool[Input]):
    """Ask the language server of a file's kind: where a name is defined (goToDefinition), used (findReferences) or
    implemented (goToImplementation), what it is (hover), which names a file (documentSymbol) or the whole workspace
    (workspaceSymbol) defines, what calls a function (incomingCalls) and what it calls (outgoingCalls).

    - More exact than a search for text: other names that look alike are left out. Python works where
      jedi-language-server is installed; others need a server in the settings (`languageServers`).
    """

    name = "LSP"
    input = Input
    is_read_only = True
    may_run_beside_others = True
    repeat = Repeat.SAFE
    timeout = 180

    def summary(self, given: Input) -> str:
        place = f":{given.line}:{given.character}" if given.operation in _AT_A_PLACE else ""
        return f"{given.operation} {shown(given.file_path)}{place}"

    def paths(self, call: Call, given: Input) -> tuple[Path, ...]:
        return (named(call, given.file_path),)

    def findings(self, call: Call, given: Input) -> tuple[Finding, ...]:
        return own_findings(call, self.paths(call, given))

    async def run(self, call: Call, given: Input) -> ToolOutcome:
        path = await asyncio.to_thread(located, call, given.file_path)
        version = await asyncio.to_thread(read_version, path)
        if version is None:
            raise ToolError(f"There is no file {shown(path)}.")
        text = decode(version.data)[0]
        environment = command_environment(call)
        command = command_for(path, call.settings.language_servers, environment, call.workspace)
        if not command:
            raise ToolError(
                f"There is no language server for {path.suffix or path.name} files here. Use Grep; the person can name "
                f'one in their settings: "languageServers": ["{path.suffix}=COMMAND"].'
            )
        held = await held_reader(call, command[0])
        then = _THEN.get(given.operation, ("", ""))[0]
        asked = Asked(call.workspace, path, text, _METHODS[given.operation], _params(given, path, text), held, then)
        try:
            found_there = server_environment(environment, is_held=held is not None)
            answer = await call.world.languages.ask(command, found_there, asked)
        except ServerLeft as error:
            raise ToolError(f"{str(error)[:1].upper()}{str(error)[1:]}. Use Grep instead, or try once more.") from error
        kept = await asyncio.to_thread(left_out, call, self.name, [path])
        lines = await asyncio.to_thread(lambda: list(_told(given.operation, answer, call.workspace, kept)))
        more = [f"[and {len(lines) - MOST} more]"] if len(lines) > MOST else []
        found = "\n".join([*lines[:MOST], *more, *kept.lines()]) or f"Nothing was found for {self.summary(given)}."
        return ToolOutcome(content=(Text(text=found),), data={"found": len(lines), "server": Path(command[0]).name})


_AT_A_PLACE = set(Operation) - {Operation.DOCUMENT_SYMBOLS, Operation.WORKSPACE_SYMBOLS}


def _params(given: Input, path: Path, text: str) -> dict[str, JsonValue]:
    if given.operation == Operation.WORKSPACE_SYMBOLS:
        return {"query": given.query}
    params: dict[str, JsonValue] = {"textDocument": {"uri": path.as_uri()}}
    if given.operation in _AT_A_PLACE:
        lines = text.splitlines()
        if given.line > max(1, len(lines)):
            raise ToolError(f"{shown(path)} has {len(lines)} lines, not {given.line}.")
        line = lines[given.line - 1] if lines else ""
        # The protocol counts UTF-16 units.
        units = len(line[: given.character - 1].encode("utf-16-le")) // 2
        params["position"] = {"line": given.line - 1, "character": units}
    if given.operation == Operation.REFERENCES:
        params["context"] = {"includeDeclaration": True}
    return params


def _told(operation: Operation, answer: JsonValue, workspace: Path, kept: LeftOut) -> Iterator[str]:
    """The answer as lines, without the files that a rule keeps from being read."""
    if operation == Operation.HOVER:
        yield from filter(None, [_hover(answer.get("contents") if isinstance(answer, dict) else None)])
        return
    items = answer if isinstance(answer, list) else [answer] if isinstance(answer, dict) else []
    if operation in {Operation.DOCUMENT_SYMBOLS, Operation.WORKSPACE_SYMBOLS}:
        for item in items:
            place = _place(item.get("location")) if isinstance(item, dict) else None
            if place is None or not kept.count(place[0]):
                yield from _symbol(item, workspace, "")
        return
    if operation in {Operation.CALL_HIERARCHY, *_THEN}:
        for item in items:
            yield from _called(item, _THEN.get(operation, ("", ""))[1], workspace, kept)
        return
    for place in sorted({found for item in items if (found := _place(item)) is not None}):
        if kept.count(place[0], os.path.realpath(place[0])):
            continue
        # Outside the workspace a file is named and not shown: reading there is another permission.
        line = _line_of(place[0], place[1]) if is_inside(Path(place[0]), workspace) else ""
        yield f"{_relative(place[0], workspace)}:{place[1]}" + (f": {line}" if line else "")


def _called(call: JsonValue, end: str, workspace: Path, kept: LeftOut) -> Iterator[str]:
    """A function, and in which lines it calls or is called."""
    item = call.get(end) if end and isinstance(call, dict) else call
    place = _place(item)
    if not isinstance(item, dict) or place is None or kept.count(place[0], os.path.realpath(place[0])):
        return
    where = {"uri": item["uri"], "range": item.get("selectionRange") or item.get("range")}
    (told,) = _symbol({**item, "location": where, "children": []}, workspace, "")
    spans = call.get("fromRanges") if isinstance(call, dict) else None
    lines = sorted({_line(span) for span in spans}) if isinstance(spans, list) else []
    how = "calls it" if end == "from" else "called"
    yield told + (f", {how} in line {', '.join(map(str, lines))}" if lines else "")


def _hover(contents: JsonValue) -> str:
    if isinstance(contents, list):
        return "\n".join(filter(None, map(_hover, contents)))
    value = contents.get("value") if isinstance(contents, dict) else contents
    return value.strip() if isinstance(value, str) else ""


def _symbol(item: JsonValue, workspace: Path, indent: str) -> Iterator[str]:
    if not isinstance(item, dict):
        return
    kind, location = item.get("kind"), item.get("location")
    what = _KINDS[kind] if isinstance(kind, int) and 0 < kind < len(_KINDS) else "name"
    place = _place(location) if location else None
    where = f"{_relative(place[0], workspace)}:{place[1]}" if place else f"line {_line(item.get('selectionRange'))}"
    yield f"{indent}{what} {item.get('name')} ({where})"
    children = item.get("children")
    for child in children if isinstance(children, list) else ():
        yield from _symbol(child, workspace, f"{indent}  ")


def _place(item: JsonValue) -> tuple[str, int] | None:
    """File and line of a location or a link to one."""
    if not isinstance(item, dict):
        return None
    uri = item.get("uri") or item.get("targetUri")
    if not isinstance(uri, str) or not uri.startswith("file:"):
        return None
    return unquote(urlsplit(uri).path), _line(item.get("range") or item.get("targetSelectionRange"))


def _line(span: JsonValue) -> int:
    start = span.get("start") if isinstance(span, dict) else None
    line = start.get("line") if isinstance(start, dict) else None
    return line + 1 if isinstance(line, int) else 0


def _relative(file: str, workspace: Path) -> str:
    path = Path(file)
    return str(path.relative_to(workspace)) if path.is_relative_to(workspace) else file


def _line_of(file: str, line: int) -> str:
    """The text of that line; empty where it cannot be read."""
    try:
        version = read_version(real(Path(file)))
    except ToolError:
        return ""
    lines = decode(version.data)[0].splitlines() if version else []
    return lines[line - 1].strip()[:LINE] if 0 < line <= len(lines) else ""
