"""A reply in the provider's form: the events of a stream in their exact order, or one JSON object."""

import hashlib
import hmac
import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from worker.rehearsal.usage import Usage

_SIGNING_KEY = b"rehearsal: the same in every process, so that a later one can verify an earlier one's thinking"

Json = dict[str, Any]  # Any: the provider's JSON


@dataclass(frozen=True)
class Event:
    """One server-sent event."""

    name: str
    data: Json

    @property
    def is_delta(self) -> bool:
        """Whether it carries a piece of content, which pacing delays."""
        return self.name == "content_block_delta"

    def encode(self) -> bytes:
        """The bytes on the wire, text as UTF-8."""
        data = json.dumps({"type": self.name, **self.data}, ensure_ascii=False, separators=(",", ":"))
        return f"event: {self.name}\ndata: {data}\n\n".encode("utf-8", "surrogatepass")


@dataclass(frozen=True)
class Text:
    """Text of a reply."""

    text: str
    cites: tuple[str, ...] = ()
    """Addresses of search results that it is taken from."""


@dataclass(frozen=True)
class Thinking:
    """Thinking, with the signature that comes back with it."""

    text: str
    signature: str


@dataclass(frozen=True)
class Call:
    """A tool use; its input is JSON text, perhaps cut off."""

    id: str
    name: str
    input_json: str


@dataclass(frozen=True)
class Search:
    """A search that the provider makes itself."""

    id: str
    query: str


@dataclass(frozen=True)
class Found:
    """What such a search found, or why it failed."""

    search: str
    """Id of the search."""
    pages: tuple[tuple[str, str], ...] = ()
    """Address and title."""
    error: str = ""


Block = Text | Thinking | Call | Search | Found


@dataclass(frozen=True)
class Played:
    """A reply, ready to be sent."""

    id: str
    model: str
    blocks: tuple[Block, ...]
    stop_reason: str
    usage: Usage

    def as_json(self) -> Json:
        """The reply to a request without streaming."""
        return self._message([_whole(block) for block in self.blocks], self.stop_reason, self.usage.as_json())

    def events(self, chunk: int, ping_every: int) -> Iterator[Event]:
        """The reply as a stream: pieces of `chunk` characters, a ping after every so many of them (0: only one)."""
        yield Event("message_start", {"message": self._message([], None, {**self.usage.as_json(), "output_tokens": 1})})
        pieces = 0
        for index, block in enumerate(self.blocks):
            yield Event("content_block_start", {"index": index, "content_block": _empty(block)})
            if index == 0:
                yield Event("ping", {})
            for delta in _deltas(block, chunk):
                yield Event("content_block_delta", {"index": index, "delta": delta})
                pieces += 1
                if ping_every and pieces % ping_every == 0:
                    yield Event("ping", {})
            yield Event("content_block_stop", {"index": index})
        usage = {
            key: value for key, value in self.usage.as_json().items() if key not in {"cache_creation", "service_tier"}
        }
        yield Event(
            "message_delta", {"delta": {"stop_reason": self.stop_reason, "stop_sequence": None}, "usage": usage}
        )
        yield Event("message_stop", {})

    def _message(self, content: list[Json], stop_reason: str | None, usage: Json) -> Json:
        return {
            "id": self.id,
            "type": "message",
            "role": "assistant",
            "model": self.model,
            "content": content,
            "stop_reason": stop_reason,
            "stop_sequence": None,
            "stop_details": None,
            "usage": usage,
        }


def sign(thinking: str) -> str:
    """The signature of a thinking text; the same text has the same one in every process."""
    return hmac.new(_SIGNING_KEY, thinking.encode("utf-8", "surrogatepass"), hashlib.sha256).hexdigest()


def compact(value: object) -> str:
    """JSON in ASCII without spaces: what is outside ASCII becomes an escape, which a stream may cut in two."""
    return json.dumps(value, separators=(",", ":"))


def _empty(block: Block) -> Json:
    match block:
        case Text():
            return {"type": "text", "text": "", **({"citations": []} if block.cites else {})}
        case Search(id=search):
            return {"type": "server_tool_use", "id": search, "name": "web_search", "input": {}}
        case Found():
            return _whole(block)
        case Thinking():
            return {"type": "thinking", "thinking": "", "signature": ""}
        case Call(id=call, name=name):
            return {"type": "tool_use", "id": call, "name": name, "input": {}}


def _whole(block: Block) -> Json:
    match block:
        case Text(text=text, cites=cites):
            return {"type": "text", "text": text, **({"citations": [_citation(url) for url in cites]} if cites else {})}
        case Search(id=search, query=query):
            return {"type": "server_tool_use", "id": search, "name": "web_search", "input": {"query": query}}
        case Found():
            return {"type": "web_search_tool_result", "tool_use_id": block.search, "content": _found(block)}
        case Thinking(text=text, signature=signature):
            return {"type": "thinking", "thinking": text, "signature": signature}
        case Call(id=call, name=name, input_json=text):
            return {"type": "tool_use", "id": call, "name": name, "input": _parsed(text)}


def _found(found: Found) -> object:
    if found.error:
        return {"type": "web_search_tool_result_error", "error_code": found.error}
    return [
        {"type": "web_search_result", "url": url, "title": title, "encrypted_content": sign(url), "page_age": None}
        for url, title in found.pages
    ]


def _citation(url: str) -> Json:
    return {
        "type": "web_search_result_location",
        "url": url,
        "title": None,
        "cited_text": "…",
        "encrypted_index": sign(url),
    }


def _parsed(text: str) -> object:
    """The input of a call; an empty one if its JSON is cut off."""
    try:
        return json.loads(text)
    except ValueError:
        return {}


def _deltas(block: Block, chunk: int) -> Iterator[Json]:
    match block:
        case Text(text=text, cites=cites):
            for url in cites:
                yield {"type": "citations_delta", "citation": _citation(url)}
            for piece in _pieces(text, chunk):
                yield {"type": "text_delta", "text": piece}
        case Search(query=query):
            for piece in _pieces(compact({"query": query}), chunk):
                yield {"type": "input_json_delta", "partial_json": piece}
        case Found():
            return
        case Thinking(text=text, signature=signature):
            for piece in _pieces(text, chunk):
                yield {"type": "thinking_delta", "thinking": piece}
            yield {"type": "signature_delta", "signature": signature}
        case Call(input_json=text):
            yield {"type": "input_json_delta", "partial_json": ""}
            for piece in _pieces(text, chunk):
                yield {"type": "input_json_delta", "partial_json": piece}


def _pieces(text: str, size: int) -> Iterator[str]:
    return (text[start : start + size] for start in range(0, len(text), size))
