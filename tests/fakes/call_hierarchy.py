"""A language server, made with a library of its own, that knows who calls whom in files like `def a(): b()`."""

import re

from lsprotocol import types
from pygls.lsp.server import LanguageServer

SERVER = LanguageServer("calls", "1")
DEFINED = re.compile(r"def (\w+)\(\): (.*)")


def _item(uri: str, line: int, name: str) -> types.CallHierarchyItem:
    span = types.Range(types.Position(line, 4), types.Position(line, 4 + len(name)))
    return types.CallHierarchyItem(name=name, kind=types.SymbolKind.Function, uri=uri, range=span, selection_range=span)


def _functions(uri: str) -> list[tuple[types.CallHierarchyItem, str]]:
    lines = SERVER.workspace.get_text_document(uri).lines
    found = ((number, DEFINED.match(line)) for number, line in enumerate(lines))
    return [(_item(uri, number, match[1]), match[2]) for number, match in found if match]


@SERVER.feature(types.TEXT_DOCUMENT_PREPARE_CALL_HIERARCHY)
def prepare(given: types.CallHierarchyPrepareParams) -> list[types.CallHierarchyItem]:
    """The function of that line."""
    functions = _functions(given.text_document.uri)
    return [item for item, _body in functions if item.range.start.line == given.position.line]


@SERVER.feature(types.CALL_HIERARCHY_INCOMING_CALLS)
def incoming(given: types.CallHierarchyIncomingCallsParams) -> list[types.CallHierarchyIncomingCall]:
    """Who calls it."""
    called = f"{given.item.name}()"
    functions = _functions(given.item.uri)
    return [types.CallHierarchyIncomingCall(item, [item.range]) for item, body in functions if called in body]


@SERVER.feature(types.CALL_HIERARCHY_OUTGOING_CALLS)
def outgoing(given: types.CallHierarchyOutgoingCallsParams) -> list[types.CallHierarchyOutgoingCall]:
    """Whom it calls."""
    functions = _functions(given.item.uri)
    body = next(text for item, text in functions if item.name == given.item.name)
    called = [item for item, _text in functions if f"{item.name}()" in body]
    return [types.CallHierarchyOutgoingCall(item, [given.item.range]) for item in called]


if __name__ == "__main__":
    SERVER.start_io()
