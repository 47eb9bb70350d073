"""The JSONL export of a session that hooks are told of as `transcript_path`, kept current when hooks run."""

import fcntl
import json
import os
from collections.abc import Iterator, Sequence
from pathlib import Path

from pydantic import JsonValue

from activities.stores.files import last_line_start, write_atomic
from activities.stores.home import Home
from activities.transcript import Link
from activities.world import World
from workflows.contracts.messages import (
    Block,
    Document,
    Image,
    RedactedThinking,
    ServerBlock,
    Text,
    Thinking,
    ToolResult,
    ToolUse,
)
from workflows.contracts.transcript import EditBody, MessageBody, NoticeBody


def session_file(home: Home, session: str) -> Path:
    """Where it is: on this host alone, like everything that hooks are given."""
    return home.sessions / f"{session}.transcript.jsonl"


async def keep_current(world: World, session: str, head: str) -> Path:
    """Append what the chain up to `head` has beyond the file; a file of another chain begins anew."""
    path = session_file(world.home, session)
    known = _last(path)
    after, digest = known.get("n"), known.get("uuid")
    newer = await world.transcript.since(head, after, str(digest)) if isinstance(after, int) else None
    if newer is None:
        write_atomic(path, _lines(session, await world.transcript.read(head)))
    elif newer:
        _extend(path, str(digest), _lines(session, newer))
    return path


def _extend(path: Path, last: str, data: bytes) -> None:
    """Append, unless calls that run side by side have done so since we looked."""
    with path.open("ab") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        if _last(path).get("uuid") == last:
            file.write(data)


def _lines(session: str, links: Sequence[Link]) -> bytes:
    written = (json.dumps(_line(session, link), ensure_ascii=False) for link in links)
    return "".join(f"{line}\n" for line in written).encode("utf-8", "replace")


def _last(path: Path) -> dict[str, JsonValue]:
    """The newest line; empty when there is none that can be read."""
    try:
        with path.open("rb") as file:
            size = file.seek(0, os.SEEK_END)
            start = last_line_start(file.fileno(), max(size - 1, 0))
            line = json.loads(os.pread(file.fileno(), size - start, start))
    except (OSError, ValueError):
        return {}
    return line if isinstance(line, dict) else {}


def _line(session: str, link: Link) -> JsonValue:
    entry = link.entry
    common: dict[str, JsonValue] = {
        "n": entry.n,
        "uuid": link.digest,
        "parentUuid": entry.parent or None,
        "sessionId": session,
        "timestamp": entry.at,
    }
    match entry.body:
        case MessageBody() as body:
            message: JsonValue = {"role": body.role.value, "content": [*_blocks(body)]}
            return {**common, "type": body.role.value, "message": message}
        case NoticeBody() as body:
            return {**common, "type": "system", "subtype": body.what, "content": body.text}
        case EditBody() as body:
            return {**common, "type": "system", "subtype": body.what, "content": body.text}
        case body:
            return {**common, "type": "outcome", "tool": body.tool, "status": body.status.value}


def _blocks(body: MessageBody) -> Iterator[JsonValue]:
    for block in body.blocks:
        if (written := _block(block)) is not None:
            yield written


def _block(block: Block) -> JsonValue:
    match block:
        case Text(text=text):
            return {"type": "text", "text": text}
        case Thinking(text=text):
            return {"type": "thinking", "thinking": text}
        case ToolUse(id=name, name=tool, input=given):
            return {"type": "tool_use", "id": name, "name": tool, "input": given}
        case ToolResult(id=name, content=content, is_error=is_error):
            return {
                "type": "tool_result",
                "tool_use_id": name,
                "content": [written for each in content if (written := _block(each)) is not None],
                "is_error": is_error,
            }
        case Image(media_type=kind, digest=digest) | Document(media_type=kind, digest=digest):
            return {"type": block.kind, "source": {"type": "object", "media_type": kind, "digest": digest}}
        case ServerBlock():
            return block.data
        case RedactedThinking():
            return None
