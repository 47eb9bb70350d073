"""The only file of the command line that reads event feed and object store."""

import asyncio
import json
from collections.abc import AsyncIterator, Iterator, Mapping
from typing import Any

from pydantic import ValidationError

from activities.events import feed_paths, follow_all, read_events
from activities.stores.files import read_lines
from activities.stores.home import Home
from activities.stores.index import index_path
from activities.stores.objects import ObjectStore, open_store
from activities.transcript import Link, Transcript
from cli.watch import Continuity, events_from_chain
from workflows.contracts.events import EVENT, Damaged, Event, Notice
from workflows.contracts.permissions import Approval
from workflows.contracts.tools import Pass
from workflows.contracts.transcript import Entry

Line = dict[str, Any]  # Any: a line of the feed, of a kind that may be newer than this program


class Reader:
    """One home's feeds and the store that its sessions are in."""

    def __init__(self, home: Home | None = None, store: ObjectStore | None = None) -> None:
        self.home = home or Home.from_environment()
        self.store = store or open_store(self.home.store_url())
        self._transcript = Transcript(self.store)

    def has_feed(self, session: str) -> bool:
        """Whether any host's feed of that session is here."""
        return bool(feed_paths(self.home.events, session))

    def events(self, session: str, from_seq: int = 0) -> Iterator[Event]:
        """The events that are there now, of every host, with what is missing or damaged told among them."""
        told = _Told(from_seq)
        for line in read_events(self.home.events, session, from_seq):
            yield from told.events(line)

    async def follow(
        self, session: str, from_seq: int | Mapping[str, int] = 0, stop: asyncio.Event | None = None
    ) -> AsyncIterator[Event]:
        """The same, then each event as it comes, until `stop` is set; a number for each host or one for all."""
        told = _Told(from_seq)
        async for line in follow_all(self.home.events, session, from_seq, stop):
            for event in told.events(line):
                yield event

    async def entry(self, digest: str) -> Entry:
        """One entry. Raises StoreError or ChainError."""
        return await self._transcript.entry(digest)

    async def links(self, head: str) -> list[Link]:
        """All entries up to `head` with their names, oldest first. Raises StoreError or ChainError."""
        return await self._transcript.read(head) if head else []

    async def entries(self, head: str, known: int = 0) -> list[Entry]:
        """Entries up to `head`, oldest first, without the first `known`."""
        if not head:
            return []
        return [link.entry async for link in self._transcript.walk(head, after=known - 1)]

    async def events_from_chain(self, head: str) -> AsyncIterator[Event]:
        """What counts of a session whose feed is lost, as events."""
        for event in events_from_chain(await self.entries(head)):
            yield event

    async def text_of(self, digest: str) -> str:
        """An object as text; what is no UTF-8 is replaced visibly. Raises StoreError."""
        return (await self.store.get(digest)).decode("utf-8", "replace")

    async def offered(self, approval: Approval) -> tuple[str, ...]:
        """The rules that *always* saves for this question. Raises StoreError."""
        return Pass.model_validate_json(await self.text_of(approval.found)).suggestions

    def last_head(self, session: str) -> str:
        """The newest head that this host noted for the session; empty for none."""
        lines, _damage = read_lines(index_path(self.home, session))
        for line in reversed(lines):
            head = json.loads(line).get("head")
            if isinstance(head, str) and head:
                return head
        return ""


class _Told:
    """Turns lines of the feed into events and tells what is wrong with them."""

    def __init__(self, from_seq: int | Mapping[str, int]) -> None:
        self._continuity = Continuity(from_seq)
        self._unknown: set[str] = set()

    def events(self, line: Line) -> Iterator[Event]:
        """None for a repeated line, else the event, behind a word about lines that are missing before it."""
        host, seq, at = str(line.get("host", "")), int(line.get("seq", 0)), str(line.get("at", ""))
        if line.get("kind") == "damaged":
            self._continuity.forgive(host)
            yield Damaged(seq=seq, at=at, text=str(line.get("text", "")))
            return
        missing = self._continuity.missing(host, seq, at)
        if missing is None:
            return
        if missing:
            yield Damaged(seq=seq, at=at, text=f"{missing} events before number {seq} of host {host} are missing")
        yield from self._event(line, seq, at)

    def _event(self, line: Line, seq: int, at: str) -> Iterator[Event]:
        try:
            yield EVENT.validate_python(line)
        except ValidationError as error:
            kind, problem = str(line.get("kind")), error.errors()[0]
            if problem["type"] != "union_tag_invalid":
                yield Damaged(seq=seq, at=at, text=f"event {seq} of kind {kind}: {problem['loc']}: {problem['msg']}")
            elif kind not in self._unknown:
                self._unknown.add(kind)
                yield Notice(seq=seq, at=at, what="unknown", text=f"this program is too old to show {kind!r} events")
