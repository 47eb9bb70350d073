"""Which reply a request gets, and that reply made ready to be sent."""

import hashlib
import re
import secrets
from bisect import bisect_right
from collections import Counter
from dataclasses import dataclass, replace
from math import inf

from pydantic import JsonValue

from worker.rehearsal.asked import Asked, blocks_of, text_of
from worker.rehearsal.faults import CutFault, StatusFault, TooLongFault, due
from worker.rehearsal.scenario import (
    CallBlock,
    FoundBlock,
    Pacing,
    PageFound,
    Reply,
    Scenario,
    SearchBlock,
    StopReason,
    TextBlock,
    ThinkingBlock,
    UsageGiven,
)
from worker.rehearsal.usage import BYTES_A_TOKEN, Usage, estimate
from worker.rehearsal.wire import Block, Call, Found, Played, Search, Text, Thinking, compact, sign

Given = TextBlock | ThinkingBlock | CallBlock | SearchBlock | FoundBlock


@dataclass(frozen=True)
class Choice:
    """The reply chosen for a request, and the fault that comes instead of it or inside it."""

    place: str
    """Where in the scenario it stands, as in `replies[3]`."""

    reply: Reply
    pacing: Pacing
    nth: int = 0
    """Which exchange this is of those the reply stands for, from 0."""

    fault_at: int | None = None
    """Place of the fault among the reply's faults."""

    @property
    def fault(self) -> StatusFault | TooLongFault | CutFault | None:
        """The fault to play."""
        return None if self.fault_at is None else self.reply.faults[self.fault_at]

    @property
    def told(self) -> str:
        """The choice in one word, for the record."""
        return self.place if self.fault_at is None else f"{self.place}.faults[{self.fault_at}]"


class Script:
    """A scenario being played: what it holds, and how often each of its replies was given."""

    def __init__(self, scenario: Scenario) -> None:
        self._scenario = scenario
        self._given: Counter[tuple[str, int]] = Counter()
        self._starts: list[float] = []
        self._given_in_order = 0
        start: float = 0
        for alternatives in scenario.replies:
            self._starts.append(start)
            start += inf if alternatives[0].repeat == "always" else alternatives[0].repeat
        self._end = start

    def choose(self, asked: Asked) -> Choice | None:
        """The reply for a request: the first fitting rule, else the reply of its exchange, else the fallback."""
        return self._from_rules(asked) or self._from_replies(asked) or self._from_fallback()

    def play(self, choice: Choice, asked: Asked, usage: Usage) -> Played:
        """The chosen reply with its words filled in, its ids made, and its tokens counted."""
        reply = choice.reply
        words = self._words(choice, asked)
        identity = self._identity(choice, asked)
        made = (_made(block, words, f"{identity}/{n}", asked) for n, block in enumerate(reply.content))
        blocks = tuple(block for some in made for block in some)
        stop_reason = reply.stop_reason or _stop_reason(reply)
        obeys = self._scenario.obey_max_tokens if reply.obey_max_tokens is None else reply.obey_max_tokens
        if obeys and asked.max_tokens and _tokens(blocks) > asked.max_tokens:
            blocks, stop_reason = _cut(blocks, asked.max_tokens * BYTES_A_TOKEN), "max_tokens"
        searches = sum(isinstance(block, Search) for block in blocks)
        usage = replace(usage, output_tokens=max(1, _tokens(blocks)), searches=searches)
        return Played(
            id=_id("msg", identity),
            model=asked.model,
            blocks=blocks,
            stop_reason=stop_reason,
            usage=_overridden(usage, reply.usage) if reply.usage else usage,
        )

    def _from_rules(self, asked: Asked) -> Choice | None:
        for number, rule in enumerate(self._scenario.rules):
            if choice := self._taken(f"rules[{number}]", rule, asked, scope=-1):
                return choice
        return None

    def _from_replies(self, asked: Asked) -> Choice | None:
        in_order = self._scenario.order == "arrival"
        exchange = self._given_in_order if in_order else asked.exchange
        if exchange >= self._end:
            return None
        number = bisect_right(self._starts, exchange) - 1
        alternatives = self._scenario.replies[number]
        for place, reply in enumerate(alternatives):
            name = f"replies[{number}]" + (f"[{place}]" if len(alternatives) > 1 else "")
            if choice := self._taken(name, reply, asked, scope=exchange):
                self._given_in_order += choice.fault is None
                return replace(choice, nth=exchange - int(self._starts[number]))
        return None

    def _from_fallback(self) -> Choice | None:
        fallback = self._scenario.fallback
        return None if fallback is None else self._counted("fallback", fallback, scope=-1)

    def _taken(self, place: str, reply: Reply, asked: Asked, scope: int) -> Choice | None:
        spent = reply.times is not None and self._given[place, scope] >= reply.times
        if spent or (reply.when is not None and not reply.when.holds(asked)):
            return None
        return self._counted(place, reply, scope)

    def _counted(self, place: str, reply: Reply, scope: int) -> Choice:
        arrival = self._given[place, scope]
        self._given[place, scope] += 1
        pacing = reply.pacing or self._scenario.pacing
        return Choice(place, reply, pacing, fault_at=due(reply.faults, arrival))

    def _words(self, choice: Choice, asked: Asked) -> dict[str, str]:
        words = {**self._scenario.vars, "n": str(asked.exchange), "i": str(choice.nth)}
        for name, pattern in self._scenario.capture.items():
            first = text_of(asked.messages[0]) if asked.messages else ""
            for text in (asked.last_text, asked.system_text, first):
                if found := re.search(pattern, text):
                    words[name] = found[1] if found.re.groups else found[0]
                    break
        return words

    def _identity(self, choice: Choice, asked: Asked) -> str:
        if self._scenario.ids == "random":
            return secrets.token_hex(12)
        # Nothing of the conversation's text is in it: two runs of one scenario shall make the same transcript.
        return f"{choice.place}/{asked.exchange}"


def _made(block: Given, words: dict[str, str], identity: str, asked: Asked) -> tuple[Block, ...]:
    match block:
        case TextBlock(text=text, cites=cites):
            return (Text(_filled(text, words), cites),)
        case ThinkingBlock(thinking=text, signature=signature):
            thinking = _filled(text, words)
            return (Thinking(thinking, sign(thinking) if signature is None else signature),)
        case SearchBlock():
            search = Search(_id("srvtoolu", identity), _filled(block.search, words))
            found = Found(search.id, _pages(block.found), block.error)
            return (search,) if block.open else (search, found)
        case FoundBlock():
            return (Found(_open_search(asked), _pages(block.found)),)
        case CallBlock():
            whole = compact(_filled_in(block.input, words))
            given = whole if block.input_json is None else _filled(block.input_json, words)
            call = _id("toolu", identity) if block.id is None else _filled(block.id, words)
            return (Call(call, block.tool, given[: block.cut_at]),)


def _pages(found: tuple[PageFound, ...]) -> tuple[tuple[str, str], ...]:
    return tuple((page.url, page.title) for page in found)


def _open_search(asked: Asked) -> str:
    """Id of the search that the conversation ends with."""
    last = asked.messages[-1] if asked.messages else {}
    uses = [str(block.get("id")) for block in blocks_of(last, "server_tool_use")]
    return uses[-1] if uses else ""


def _filled(text: str, words: dict[str, str]) -> str:
    # Not str.format: shell commands and JSON are full of braces that mean something else.
    for name, value in words.items():
        text = text.replace(f"{{{name}}}", value)
    return text


def _filled_in(value: JsonValue, words: dict[str, str]) -> JsonValue:
    match value:
        case str():
            return _filled(value, words)
        case list():
            return [_filled_in(item, words) for item in value]
        case dict():
            return {key: _filled_in(item, words) for key, item in value.items()}
        case _:
            return value


def _stop_reason(reply: Reply) -> StopReason:
    calls = [block for block in reply.content if isinstance(block, CallBlock)]
    if any(call.cut_at is not None for call in calls):
        return "max_tokens"
    if any(isinstance(block, SearchBlock) and block.open for block in reply.content):
        return "pause_turn"
    return "tool_use" if calls else "end_turn"


def _written(block: Block) -> str:
    match block:
        case Call(input_json=text) | Search(query=text):
            return text
        case Found():
            return ""
        case Text() | Thinking():
            return block.text


def _tokens(blocks: tuple[Block, ...]) -> int:
    return sum(estimate(_written(block)) for block in blocks)


def _cut(blocks: tuple[Block, ...], room: int) -> tuple[Block, ...]:
    """The blocks that fit into so many bytes; the last one ends where the room does."""
    kept: list[Block] = []
    for block in blocks:
        text = _written(block).encode("utf-8", "surrogatepass")[:room].decode("utf-8", "ignore")
        room -= len(text.encode("utf-8"))
        kept.append(_shortened(block, text))
        if text != _written(block) or room <= 0:
            break
    return tuple(kept)


def _shortened(block: Block, text: str) -> Block:
    match block:
        case Text():
            return Text(text)
        case Thinking():
            return Thinking(text, sign(text))
        case Call():
            return replace(block, input_json=text)
        case Search() | Found():
            return block


def _id(kind: str, identity: str) -> str:
    return f"{kind}_01{hashlib.sha256(identity.encode()).hexdigest()[:22]}"


def _overridden(usage: Usage, given: UsageGiven) -> Usage:
    """The computed numbers, replaced where the scenario gives others."""
    numbers = given.model_dump(exclude_none=True, exclude={"cache_creation"})
    if (split := given.cache_creation) is not None:
        five, hour = split.ephemeral_5m_input_tokens, split.ephemeral_1h_input_tokens
        numbers = {"cache_creation_input_tokens": five + hour, "ephemeral_5m": five, "ephemeral_1h": hour, **numbers}
    elif given.cache_creation_input_tokens is not None:
        numbers |= {"ephemeral_5m": given.cache_creation_input_tokens, "ephemeral_1h": 0}
    return replace(usage, **numbers)
