"""Server-sent events: bytes as they come -> the provider's JSON objects."""

import json
from typing import Any

Json = dict[str, Any]  # Any: the provider's JSON, read field by field in stream.py


class EventDecoder:
    """Cuts a byte stream into events, wherever its pieces end."""

    def __init__(self) -> None:
        self._rest = b""
        self._data: list[bytes] = []

    def feed(self, piece: bytes) -> list[Json]:
        """The events that this piece completes. Raises ValueError when one is no JSON object."""
        lines = (self._rest + piece).split(b"\n")
        self._rest = lines.pop()
        events: list[Json] = []
        for line in lines:
            field, _, value = line.rstrip(b"\r").partition(b":")
            if field == b"data":
                self._data.append(value.removeprefix(b" "))
            elif not field and not value and self._data:
                events += _parsed(b"\n".join(self._data))
                self._data = []
        return events


def _parsed(data: bytes) -> list[Json]:
    # Some servers end with this word, as another provider's API does.
    if data.strip() in {b"", b"[DONE]"}:
        return []
    match json.loads(data):
        case dict(event):
            return [event]
        case _:
            raise ValueError(f"an event is no JSON object: {data[:80]!r}")
