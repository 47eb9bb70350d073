"""What came in: every request to the rehearsal model, kept in memory and, if asked, as files."""

import json
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from worker.rehearsal.asked import Asked, Json

KEPT_BYTES = 256 * 1024 * 1024
"""How many bytes of bodies stay in memory; older ones are read from the record, if there is one."""

SECRET_HEADERS = frozenset({"x-api-key", "authorization", "proxy-authorization", "cookie"})


@dataclass
class Recorded:
    """One request as it came, and what it was answered."""

    number: int
    """From 1, going on behind what a record's folder holds already."""

    at: float
    """Arrival, seconds since the epoch."""

    path: str
    headers: Mapping[str, str]
    """Names in lower case; keys are masked."""

    size: int
    answer: str = ""
    """`replies[3]`, `replies[3].faults[0]`, `refused:too_long`, `unanswered`, `counted`; empty while undecided."""

    ended: bool = False
    """Whether the whole answer was sent; false too when the client left or a fault broke the connection."""

    raw: bytes | None = None
    file: Path | None = None

    @property
    def body_bytes(self) -> bytes:
        """The body, byte for byte; LookupError if it was let go and no record was asked for."""
        if self.raw is not None:
            return self.raw
        if self.file is None:
            raise LookupError(f"the body of request {self.number} was let go; rehearse with record=FOLDER to keep all")
        return self.file.read_bytes()

    @property
    def body(self) -> Json:
        """The body as JSON; empty if it is none."""
        return Asked(self.body_bytes).fields


class Record:
    """All requests in order of arrival; with a folder, each body is written before it is answered."""

    def __init__(self, folder: Path | None, kept_bytes: int = KEPT_BYTES) -> None:
        self.requests: list[Recorded] = []
        self._folder = folder
        self._kept_bytes = kept_bytes
        self._held = 0
        self._oldest_held = 0
        self._next = 1
        if folder is not None:
            folder.mkdir(parents=True, exist_ok=True)
            self._next += max((int(file.stem) for file in folder.glob("*.json") if file.stem.isdigit()), default=0)

    def add(self, path: str, asked: Asked) -> Recorded:
        """Keep a request that has just come."""
        shown = {name: "***" if name in SECRET_HEADERS else value for name, value in asked.headers.items()}
        recorded = Recorded(self._next, time.time(), path, shown, len(asked.raw), raw=asked.raw)
        self._next += 1
        self.requests.append(recorded)
        if self._folder is not None:
            recorded.file = self._folder / f"{recorded.number:05d}.json"
            recorded.file.write_bytes(asked.raw)
        self._held += recorded.size
        self._let_go()
        return recorded

    def decide(self, recorded: Recorded, answer: str) -> None:
        """Note what a request is answered, before it is."""
        recorded.answer = answer
        if self._folder is None or recorded.file is None:
            return
        line = {
            "number": recorded.number,
            "at": recorded.at,
            "path": recorded.path,
            "headers": recorded.headers,
            "bytes": recorded.size,
            "file": recorded.file.name,
            "answer": answer,
        }
        with (self._folder / "index.ndjson").open("a", encoding="utf-8") as index:
            index.write(json.dumps(line) + "\n")

    def _let_go(self) -> None:
        while self._held > self._kept_bytes and self._oldest_held < len(self.requests):
            oldest = self.requests[self._oldest_held]
            oldest.raw = None
            self._held -= oldest.size
            self._oldest_held += 1
