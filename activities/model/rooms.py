"""How much fits into a model's window: what its refusals told, and the output cap that follows from it."""

import re
from collections import OrderedDict
from dataclasses import dataclass, replace

from activities.model.request import Asking

LEAST_OUTPUT = 1_024
"""Fewer output tokens than this are not worth a reply: the conversation is too long then."""
KNOWN = 200
"""Endpoints and models that are remembered."""

_BYTES_A_TOKEN = 4
_CLOSE = 1.02
"""A prompt that grew may have more tokens a byte than the one that was counted."""
_TOGETHER = re.compile(r"exceeds? context limit: (\d+) \+ (\d+) > (\d+)")
_MOST = re.compile(r"max_tokens: (\d+) > (\d+)")


@dataclass(frozen=True)
class Room:
    """One model's window."""

    window: int
    """Tokens of input and output together."""
    most: int = 0
    """Most output tokens; 0 when not known."""
    scale: float = 1.0
    """Tokens counted by the provider, to one in four bytes."""


class Rooms:
    """The windows of the models that this worker asks; each begins as the session's settings say."""

    def __init__(self) -> None:
        self._known: OrderedDict[tuple[str, str], Room] = OrderedDict()

    def fitted(self, asking: Asking, endpoint: str, window: int, size: int) -> Asking:
        """The same with an output cap that fits beside an input of so many bytes; unchanged where none does."""
        room = self._known.get((endpoint, asking.model), Room(window))
        tokens = round(size / _BYTES_A_TOKEN * room.scale)
        cap = min(asking.max_tokens, room.window - tokens, room.most or asking.max_tokens)
        if cap == asking.max_tokens or cap < LEAST_OUTPUT:
            return asking
        return replace(asking, max_tokens=cap, thinking=asking.thinking if asking.thinking < cap else 0)

    def learn(self, asking: Asking, endpoint: str, window: int, size: int, refusal: str) -> bool:
        """Take what a refusal tells of the window; whether a lower cap can help."""
        room = self._known.get((endpoint, asking.model), Room(window))
        if found := _TOGETHER.search(refusal):
            tokens, _, whole = map(int, found.groups())
            scale = tokens / max(1, size / _BYTES_A_TOKEN)
            room = replace(room, window=whole, scale=max(0.1, scale * _CLOSE))
        elif found := _MOST.search(refusal):
            room = replace(room, most=int(found[2]))
        else:
            return False
        self._known[endpoint, asking.model] = room
        while len(self._known) > KNOWN:
            self._known.popitem(last=False)
        return self.fitted(asking, endpoint, window, size).max_tokens < asking.max_tokens
