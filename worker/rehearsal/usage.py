"""How many tokens a request has, and which of them come from the prompt cache."""

import base64
import binascii
import hashlib
import json
from collections import OrderedDict
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

BYTES_A_TOKEN = 4
LOOK_BACK = 20
"""How many blocks before a marker the provider looks for an earlier entry, the marked one included."""

TOKENS_AN_IMAGE = 1_600
TOKENS_A_DOCUMENT = 3_000
CACHE_ENTRIES = 100_000

Json = dict[str, Any]  # Any: the provider's JSON, before anybody has checked it

_encode = json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode


@dataclass(frozen=True)
class Prefix:
    """Everything from the start of a request to the end of one block."""

    digest: bytes
    tokens: int


@dataclass(frozen=True)
class Marker:
    """A cache_control: at which prefix it stands, and for how long it asks."""

    place: int
    ttl: str


@dataclass(frozen=True)
class Measured:
    """A request's size: its prefixes, one a block over tools, system, messages, and its cache markers."""

    prefixes: tuple[Prefix, ...]
    markers: tuple[Marker, ...]

    @property
    def tokens(self) -> int:
        """The estimate for the whole input: bytes / 4, media apart."""
        return self.prefixes[-1].tokens if self.prefixes else 0


@dataclass(frozen=True)
class Usage:
    """Tokens in and out, as the provider reports them."""

    input_tokens: int = 0
    output_tokens: int = 0
    cache_read_input_tokens: int = 0
    ephemeral_5m: int = 0
    ephemeral_1h: int = 0
    cache_creation_input_tokens: int = 0
    searches: int = 0

    def as_json(self) -> Json:
        """The provider's form, with the split by time to live."""
        return {
            "input_tokens": self.input_tokens,
            "cache_creation_input_tokens": self.cache_creation_input_tokens,
            "cache_read_input_tokens": self.cache_read_input_tokens,
            "cache_creation": {
                "ephemeral_5m_input_tokens": self.ephemeral_5m,
                "ephemeral_1h_input_tokens": self.ephemeral_1h,
            },
            "output_tokens": self.output_tokens,
            "service_tier": "standard",
            **({"server_tool_use": {"web_search_requests": self.searches}} if self.searches else {}),
        }


def estimate(text: str) -> int:
    """Tokens of a text, at least 1."""
    return max(1, -(-len(text.encode("utf-8", "surrogatepass")) // BYTES_A_TOKEN))


def measure(body: Json) -> Measured:
    """Size every prefix of a request in one pass; cache markers themselves are no part of what is cached."""
    running = hashlib.sha256(str(body.get("model", "")).encode("utf-8", "surrogatepass"))
    size = media = 0
    prefixes: list[Prefix] = []
    markers: list[Marker] = []
    for kind, block in _blocks(body):
        ttl = _ttl(block.get("cache_control"))
        lean, extra = _without_media(_unmarked(block))
        data = _encode([kind, lean]).encode("utf-8", "surrogatepass")
        running.update(data)
        size += len(data)
        media += extra
        if ttl:
            markers.append(Marker(len(prefixes), ttl))
        prefixes.append(Prefix(running.digest(), -(-size // BYTES_A_TOKEN) + media))
    if (ttl := _ttl(body.get("cache_control"))) and prefixes:
        markers.append(Marker(len(prefixes) - 1, ttl))
    return Measured(tuple(prefixes), tuple(markers))


class PromptCache:
    """What earlier requests left in the cache. Entries do not grow old; the oldest go when there are too many."""

    def __init__(self) -> None:
        self._entries: OrderedDict[bytes, None] = OrderedDict()

    def use(self, measured: Measured) -> Usage:
        """The input side of a request's usage; what it marks is in the cache from now on."""
        hit = self._longest_hit(measured)
        read = measured.prefixes[hit].tokens if hit >= 0 else 0
        written = {"5m": 0, "1h": 0}
        before = read
        for marker in measured.markers:
            prefix = measured.prefixes[marker.place]
            if marker.place > hit:
                written[marker.ttl] += prefix.tokens - before
                before = prefix.tokens
            self._remember(prefix.digest)
        return Usage(
            input_tokens=measured.tokens - before,
            cache_read_input_tokens=read,
            cache_creation_input_tokens=sum(written.values()),
            ephemeral_5m=written["5m"],
            ephemeral_1h=written["1h"],
        )

    def _longest_hit(self, measured: Measured) -> int:
        hit = -1
        for marker in measured.markers:
            for place in range(marker.place, max(marker.place - LOOK_BACK, hit), -1):
                if measured.prefixes[place].digest in self._entries:
                    hit = place
                    break
        return hit

    def _remember(self, digest: bytes) -> None:
        self._entries[digest] = None
        self._entries.move_to_end(digest)
        if len(self._entries) > CACHE_ENTRIES:
            self._entries.popitem(last=False)


def _blocks(body: Json) -> Iterator[tuple[str, Json]]:
    """Every block in the order the provider caches them, each with where it stands."""
    for tool in _list(body.get("tools")):
        yield "tool", tool
    for block in _list(body.get("system")):
        yield "system", block
    for message in _list(body.get("messages")):
        role = str(message.get("role", ""))
        for block in _list(message.get("content")):
            yield role, block


def _list(content: object) -> list[Json]:
    if isinstance(content, str):
        return [{"type": "text", "text": content}]
    return [block for block in content if isinstance(block, dict)] if isinstance(content, list) else []


def _unmarked(block: Json) -> Json:
    if "cache_control" not in block:
        return block
    return {name: value for name, value in block.items() if name != "cache_control"}


def _without_media(block: Json) -> tuple[Json, int]:
    """A block whose pictures and documents are named by digest only, and what they count in tokens."""
    kind, content = block.get("type"), block.get("content")
    if kind == "tool_result" and isinstance(content, list):
        inner = [_without_media(_unmarked(part)) for part in content if isinstance(part, dict)]
        return {**block, "content": [part for part, _ in inner]}, sum(extra for _, extra in inner)
    source = block.get("source")
    if kind in {"image", "document"} and isinstance(source, dict) and isinstance(source.get("data"), str):
        data = source["data"].encode("utf-8", "surrogatepass")
        lean = {**block, "source": {**source, "data": hashlib.sha256(data).hexdigest()}}
        return lean, image_tokens(source["data"]) if kind == "image" else TOKENS_A_DOCUMENT
    return block, 0


def image_tokens(data: str) -> int:
    """What a picture counts: its area / 750 for a PNG that says its size, never more than 1,600."""
    try:
        head = base64.b64decode(data[:44])
    except (binascii.Error, ValueError):
        return TOKENS_AN_IMAGE
    if head[:8] != b"\x89PNG\r\n\x1a\n":
        return TOKENS_AN_IMAGE
    width, height = int.from_bytes(head[16:20]), int.from_bytes(head[20:24])
    return min(TOKENS_AN_IMAGE, max(1, width * height // 750))


def _ttl(marker: object) -> str:
    """How long a cache_control asks for; empty if it is none."""
    if not isinstance(marker, dict):
        return ""
    return "1h" if marker.get("ttl") == "1h" else "5m"
