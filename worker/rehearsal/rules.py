"""What the server refuses as the real provider does: a table of rules, each with its reason."""

import json
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import chain
from typing import Literal

from worker.rehearsal import form, pairing
from worker.rehearsal.asked import Asked, Json
from worker.rehearsal.faults import ERROR_TYPES, too_long_message
from worker.rehearsal.media import (
    image_too_large,
    image_too_wide,
    image_unreadable,
    pdf_encrypted,
    pdf_too_long,
    pdf_unreadable,
)
from worker.rehearsal.scenario import Limits
from worker.rehearsal.searching import search_changed, search_domains, search_unpaired
from worker.rehearsal.wire import sign

MOST_CACHE_MARKERS = 4

_ESCAPED_SURROGATE = re.compile(rb"\\u[dD][89a-fA-F]")
_TOOL_NAME = re.compile(r"[a-zA-Z0-9_-]{1,128}")


@dataclass(frozen=True)
class Rule:
    """One thing the provider refuses."""

    name: str
    why: str
    check: Callable[[Asked, Limits], str | None]
    """The provider's message if the request breaks the rule."""

    status: int = 400
    stage: Literal["wire", "form", "sense"] = "sense"
    """wire: about bytes and headers; form: about fields and types; sense: the rest. A later stage is only looked at
    when the earlier ones found nothing."""

    counting_too: bool = True
    """Whether count_tokens refuses it as well."""

    @property
    def error(self) -> str:
        """The provider's name for the error."""
        return ERROR_TYPES[self.status]


def body_too_large(asked: Asked, limits: Limits) -> str | None:
    """A body of more bytes than the provider takes."""
    return "Request exceeds the maximum size" if len(asked.raw) > limits.body else None


def no_key(asked: Asked, _: Limits) -> str | None:
    """No key in either header."""
    return None if key_of(asked) else "x-api-key header is required"


def not_json(asked: Asked, _: Limits) -> str | None:
    """Bytes that are not UTF-8, or not one JSON object."""
    return "The request body is not valid JSON: expected one object in UTF-8" if asked.body is None else None


def lone_surrogate(asked: Asked, _: Limits) -> str | None:
    """An escape of half a surrogate pair without its other half: JSON by the letter, but no text."""
    if asked.body is None or not _ESCAPED_SURROGATE.search(asked.raw):
        return None
    try:
        json.dumps(asked.body, ensure_ascii=False).encode("utf-8")
    except UnicodeEncodeError as error:
        return f"The request body is not valid JSON: no low surrogate in string ({error.reason})"
    return None


def no_max_tokens(asked: Asked, _: Limits) -> str | None:
    """No output limit."""
    limit = asked.fields.get("max_tokens")
    if limit is None:
        return "max_tokens: Field required"
    return None if isinstance(limit, int) and limit >= 1 else "max_tokens: Input should be greater than or equal to 1"


def no_messages(asked: Asked, _: Limits) -> str | None:
    """An empty conversation."""
    return None if asked.messages else "messages: at least one message is required"


def first_not_user(asked: Asked, _: Limits) -> str | None:
    """A conversation that the model begins."""
    if asked.messages and asked.messages[0]["role"] != "user":
        return 'messages: first message must use the "user" role'
    return None


def no_content(asked: Asked, _: Limits) -> str | None:
    """A message without any block, unless it is the last and the assistant's."""
    for number, message in enumerate(asked.messages):
        is_open_end = number == len(asked.messages) - 1 and message["role"] == "assistant"
        if not message["content"] and not is_open_end:
            return (
                f"messages.{number}: all messages must have non-empty content except for the optional final assistant "
                "message"
            )
    return None


def empty_text(asked: Asked, _: Limits) -> str | None:
    """A text block that says nothing."""
    for place, text in _texts(asked):
        if not text:
            return f"{place}: text content blocks must be non-empty"
        if text.isspace():
            return f"{place}: text content blocks must contain non-whitespace text"
    return None


def prefill_whitespace(asked: Asked, _: Limits) -> str | None:
    """A last assistant message that ends in a space."""
    if not asked.messages or asked.messages[-1]["role"] != "assistant":
        return None
    last = (asked.turns[-1] or [{}])[-1]
    text = str(last.get("text", ""))
    if text != text.rstrip() and not text.isspace():
        return "messages: final assistant content cannot end with trailing whitespace"
    return None


def thinking_changed(asked: Asked, _: Limits) -> str | None:
    """A thinking block that is not, to the byte, what the model sent."""
    for number, blocks in enumerate(asked.turns):
        for place, block in enumerate(blocks):
            if block["type"] == "thinking" and block["signature"] != sign(block["thinking"]):
                return f"messages.{number}.content.{place}: Invalid `signature` in `thinking` block"
    return None


def too_many_markers(asked: Asked, _: Limits) -> str | None:
    """More cache_control than the provider takes."""
    found = len(list(_markers(asked)))
    if found > MOST_CACHE_MARKERS:
        return f"A maximum of {MOST_CACHE_MARKERS} blocks with cache_control may be provided. Found {found}."
    return None


def longer_after_shorter(asked: Asked, _: Limits) -> str | None:
    """A cache_control of an hour behind one of five minutes."""
    hours = [marker.ttl == "1h" for marker in asked.measured.markers]
    if hours != sorted(hours, reverse=True):
        return "a ttl='1h' cache_control block must not come after a ttl='5m' cache_control block"
    return None


def tool_names(asked: Asked, _: Limits) -> str | None:
    """Two tools of one name, or a name the provider does not take."""
    names = [tool["name"] for tool in asked.fields.get("tools", [])]
    for number, name in enumerate(names):
        if not _TOOL_NAME.fullmatch(name):
            return f"tools.{number}.custom.name: String should match pattern '^[a-zA-Z0-9_-]{{1,128}}$'"
    return None if len(set(names)) == len(names) else "tools: Tool names must be unique."


def too_long(asked: Asked, limits: Limits) -> str | None:
    """More input than the window holds."""
    tokens = asked.measured.tokens
    return too_long_message(tokens, limits.window) if tokens > limits.window else None


def no_room(asked: Asked, limits: Limits) -> str | None:
    """Input that fits, but not together with the output limit."""
    tokens = asked.measured.tokens
    if tokens <= limits.window < tokens + asked.max_tokens:
        return (
            f"input length and `max_tokens` exceed context limit: {tokens} + {asked.max_tokens} > {limits.window}, "
            "decrease input length or `max_tokens` and try again"
        )
    return None


RULES = (
    Rule("body_too_large", "one request is 32 MiB at most", body_too_large, status=413, stage="wire"),
    Rule("no_key", "somebody must pay", no_key, status=401, stage="wire"),
    Rule("not_json", "the body is one JSON object in UTF-8", not_json, stage="wire"),
    Rule("lone_surrogate", "half a surrogate pair is no character", lone_surrogate, stage="wire"),
    Rule("bad_form", "fields are checked by name and type, unknown ones too", form.bad_form, stage="form"),
    Rule("no_max_tokens", "the output limit has no default", no_max_tokens, counting_too=False),
    Rule("no_messages", "there must be something to answer", no_messages),
    Rule("first_not_user", "a conversation begins with the user", first_not_user),
    Rule("no_content", "a message says something", no_content),
    Rule("empty_text", "a text block says something", empty_text),
    Rule("prefill_whitespace", "the model cannot go on behind a space", prefill_whitespace),
    Rule("call_without_result", "each call is answered in the next message", pairing.call_without_result),
    Rule("result_without_call", "each result answers a call of the message before", pairing.result_without_call),
    Rule("call_id_twice", "ids tell the calls of one message apart", pairing.call_id_twice),
    Rule("result_twice", "one call, one result", pairing.result_twice),
    Rule("results_not_first", "results stand before anything else the user says", pairing.results_not_first),
    Rule("image_too_large", "a picture is 5 MiB of base64 at most", image_too_large),
    Rule("image_too_wide", "a picture's sides are 8,000 pixels at most", image_too_wide),
    Rule("image_unreadable", "a picture can be decoded as what it says it is", image_unreadable),
    Rule("pdf_too_long", "a PDF has 100 pages at most", pdf_too_long),
    Rule("pdf_unreadable", "a PDF is one", pdf_unreadable),
    Rule("pdf_encrypted", "a PDF opens without a password", pdf_encrypted),
    Rule("search_domains", "domains are allowed or blocked, not both", search_domains),
    Rule("search_unpaired", "a search that is over has its result", search_unpaired),
    Rule("search_changed", "what a search found comes back as it was sent", search_changed),
    Rule("thinking_changed", "signed thinking comes back as it was sent", thinking_changed),
    Rule("too_many_markers", "four cache markers at most", too_many_markers),
    Rule("longer_after_shorter", "what is kept longer comes first", longer_after_shorter),
    Rule("tool_names", "tools have different, plain names", tool_names),
    Rule("too_long", "the input fits into the window", too_long, counting_too=False),
    Rule("no_room", "input and output limit together fit into the window", no_room, counting_too=False),
)


@dataclass(frozen=True)
class Refusal:
    """A rule, and what the provider says to who broke it."""

    rule: Rule
    message: str


def refusals(asked: Asked, limits: Limits) -> Iterator[Refusal]:
    """Every rule that a request breaks, in the order of the table; of the first stage that finds anything."""
    for stage in ("wire", "form", "sense"):
        found = False
        for rule in RULES:
            if rule.stage != stage or (asked.counting and not rule.counting_too):
                continue
            if (message := rule.check(asked, limits)) is not None:
                found = True
                yield Refusal(rule, message)
        if found:
            return


def key_of(asked: Asked) -> str:
    """The key a request brought; empty if none."""
    bearer = asked.headers.get("authorization", "").removeprefix("Bearer ").strip()
    return asked.headers.get("x-api-key", "").strip() or bearer


def _texts(asked: Asked) -> Iterator[tuple[str, str]]:
    """The text blocks of system prompt and messages, those inside tool results too, each with its place."""
    system = asked.fields.get("system", "")
    for place, block in enumerate([] if isinstance(system, str) else system):
        yield f"system.{place}", block["text"]
    for number, blocks in enumerate(asked.turns):
        # A string that is empty is no block: the rule about messages without content tells of it.
        if asked.messages[number]["content"] != "":
            yield from _texts_in(f"messages.{number}", blocks)


def _texts_in(place: str, blocks: list[Json]) -> Iterator[tuple[str, str]]:
    for number, block in enumerate(blocks):
        if block["type"] == "text":
            yield f"{place}.content.{number}", block["text"]
        elif block["type"] == "tool_result" and isinstance(content := block.get("content"), list):
            yield from _texts_in(f"{place}.content.{number}.tool_result", content)


def _markers(asked: Asked) -> Iterator[object]:
    """Every cache_control, those inside tool results too."""
    if asked.fields.get("cache_control"):
        yield asked.fields["cache_control"]
    system = asked.fields.get("system", "")
    for block in chain(asked.fields.get("tools", []), [] if isinstance(system, str) else system, *asked.turns):
        if block.get("cache_control"):
            yield block["cache_control"]
        if block.get("type") == "tool_result" and isinstance(content := block.get("content"), list):
            yield from (inner["cache_control"] for inner in content if inner.get("cache_control"))
