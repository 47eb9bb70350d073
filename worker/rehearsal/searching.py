"""What the provider refuses of its own searches: how they are declared, and how they come back."""

from worker.rehearsal.asked import Asked, Json, blocks_of
from worker.rehearsal.scenario import Limits
from worker.rehearsal.wire import sign


def search_domains(asked: Asked, _: Limits) -> str | None:
    """A search that is limited to domains and kept from others at once."""
    for number, tool in enumerate(asked.fields.get("tools", [])):
        is_search = str(tool.get("type", "")).startswith("web_search_")
        if is_search and tool.get("allowed_domains") and tool.get("blocked_domains"):
            return f"tools.{number}.web_search: cannot specify both allowed_domains and blocked_domains"
    return None


def search_unpaired(asked: Asked, _: Limits) -> str | None:
    """A search of a reply that is over without its result, or a result without its search."""
    for number, message in enumerate(asked.messages):
        uses = [block.get("id") for block in blocks_of(message, "server_tool_use")]
        results = [block.get("tool_use_id") for block in blocks_of(message, "web_search_tool_result")]
        is_paused = number == len(asked.messages) - 1 and message.get("role") == "assistant"
        if stray := [name for name in results if name not in uses]:
            return f"messages.{number}: unexpected `tool_use_id` found in `web_search_tool_result` blocks: {stray[0]}"
        if not is_paused and (open_uses := [name for name in uses if name not in results]):
            return (
                f"messages.{number}: `web_search` tool use with id `{open_uses[0]}` was found without a corresponding "
                "`web_search_tool_result` block"
            )
    return None


def search_changed(asked: Asked, _: Limits) -> str | None:
    """A result, or a citation of one, that is not what the provider sent."""
    for number, blocks in enumerate(asked.turns):
        for place, block in enumerate(blocks):
            if any(not _is_ours(item) for item in _signed(block)):
                return f"messages.{number}.content.{place}: Invalid `encrypted_content` in search result"
    return None


def _signed(block: Json) -> list[Json]:
    """What of a block carries a signature: results, and citations of them."""
    if block["type"] == "web_search_tool_result" and isinstance(content := block.get("content"), list):
        return [item for item in content if isinstance(item, dict)]
    return [item for item in block.get("citations") or () if isinstance(item, dict)] if block["type"] == "text" else []


def _is_ours(item: Json) -> bool:
    url = str(item.get("url", ""))
    if item.get("type") == "web_search_result":
        return bool(item.get("encrypted_content") == sign(url))
    return item.get("type") != "web_search_result_location" or item.get("encrypted_index") == sign(url)
