"""Whether a request has the provider's form at all: which fields, of which types, may stand where."""

from collections.abc import Iterator

from worker.rehearsal.asked import Asked, Json
from worker.rehearsal.scenario import Limits

FIELDS: dict[str, frozenset[str]] = {
    "text": frozenset({"text", "citations", "cache_control"}),
    "image": frozenset({"source", "transformations", "cache_control"}),
    "document": frozenset({"source", "title", "context", "citations", "cache_control"}),
    "search_result": frozenset({"source", "title", "content", "citations", "cache_control"}),
    "tool_use": frozenset({"id", "name", "input", "caller", "toolset_name", "cache_control"}),
    "tool_result": frozenset({"tool_use_id", "content", "is_error", "toolset_name", "cache_control"}),
    "thinking": frozenset({"thinking", "signature"}),
    "redacted_thinking": frozenset({"data"}),
    "server_tool_use": frozenset({"id", "name", "input", "caller", "cache_control"}),
    "web_search_tool_result": frozenset({"tool_use_id", "content", "caller", "cache_control"}),
}
"""The blocks a message may hold, with the fields each may have."""

NEEDED: dict[str, dict[str, type]] = {
    "text": {"text": str},
    "image": {"source": dict},
    "document": {"source": dict},
    "tool_use": {"id": str, "name": str, "input": dict},
    "tool_result": {"tool_use_id": str},
    "thinking": {"thinking": str, "signature": str},
    "redacted_thinking": {"data": str},
    "server_tool_use": {"id": str, "name": str, "input": dict},
    "web_search_tool_result": {"tool_use_id": str},
}
"""The fields a block must have, with their types."""


def bad_form(asked: Asked, _: Limits) -> str | None:
    """The first field that is missing, unknown or of another type."""
    return next(_faults(asked.fields), None)


def _faults(body: Json) -> Iterator[str]:
    if not isinstance(body.get("model"), str):
        yield "model: Field required"
    if not isinstance(body.get("messages"), list):
        yield "messages: Field required"
        return
    for number, message in enumerate(body["messages"]):
        yield from _of_message(f"messages.{number}", message)
    if not isinstance(system := body.get("system", ""), str):
        yield from _of_blocks("system", system, only="text")
    tools = body.get("tools", [])
    if not isinstance(tools, list):
        yield "tools: Input should be a valid list"
        return
    for number, tool in enumerate(tools):
        yield from _of_tool(f"tools.{number}", tool)


def _of_message(place: str, message: object) -> Iterator[str]:
    if not isinstance(message, dict):
        yield f"{place}: Input should be a valid dictionary"
        return
    if message.get("role") not in {"user", "assistant", "system"}:
        yield f"{place}.role: Input should be 'user', 'assistant' or 'system'"
    if unknown := set(message) - {"role", "content"}:
        yield f"{place}.{min(unknown)}: Extra inputs are not permitted"
    content = message.get("content")
    if not isinstance(content, str):
        yield from _of_blocks(f"{place}.content", content, only="text" if message.get("role") == "system" else None)


def _of_blocks(place: str, blocks: object, only: str | None = None) -> Iterator[str]:
    if not isinstance(blocks, list):
        yield f"{place}: Input should be a valid list"
        return
    for number, block in enumerate(blocks):
        yield from _of_block(f"{place}.{number}", block, only)


def _of_block(place: str, block: object, only: str | None) -> Iterator[str]:
    kind = block.get("type") if isinstance(block, dict) else None
    if not isinstance(block, dict) or kind not in FIELDS or only not in {None, kind}:
        yield f"{place}: Input tag '{kind}' found using 'type' does not match any of the expected tags"
        return
    for name, wanted in NEEDED.get(kind, {}).items():
        if name not in block:
            yield f"{place}.{kind}.{name}: Field required"
        elif not isinstance(block[name], wanted):
            yield f"{place}.{kind}.{name}: Input should be a valid {'dictionary' if wanted is dict else 'string'}"
    if unknown := block.keys() - FIELDS[kind] - {"type"}:
        yield f"{place}.{kind}.{min(unknown)}: Extra inputs are not permitted"
    if kind == "tool_result" and not isinstance(content := block.get("content", ""), str):
        yield from _of_blocks(f"{place}.{kind}.content", content)


def _of_tool(place: str, tool: object) -> Iterator[str]:
    if not isinstance(tool, dict) or not isinstance(tool.get("name"), str):
        yield f"{place}.name: Field required"
    elif "type" not in tool and not isinstance(tool.get("input_schema"), dict):
        yield f"{place}.custom.input_schema: Field required"
