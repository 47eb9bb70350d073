"""Append and read the chain of entries; appending twice is harmless."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass

from pydantic import ValidationError

from activities.stores.objects import ObjectStore
from workflows.contracts.errors import ChainError
from workflows.contracts.transcript import PAGE_EVERY, PAGE_SPAN, Body, Entry, Page

_READS_AT_ONCE = 128


@dataclass(frozen=True)
class Link:
    """An entry and its name."""

    digest: str
    entry: Entry


@dataclass(frozen=True)
class Tail:
    """Digests of the entries since the last full page, which an append needs to make the next page."""

    head: str
    n: int
    """Entries in the chain."""
    page: str
    """Newest page object."""
    full: str
    """Newest full page object."""
    digests: tuple[str, ...]
    """Since the last full page."""


class Transcript:
    """The chains in one object store. The same values give the same bytes under the same name."""

    def __init__(self, store: ObjectStore) -> None:
        self._store = store
        self._tails: dict[str, Tail] = {}

    async def append(self, head: str, at: str, bodies: Sequence[Body]) -> str:
        """Write one entry for each body behind `head`; the new head."""
        tail = await self._tail(head)
        for body in bodies:
            entry = Entry(n=tail.n, parent=tail.head, page=tail.page, at=at, body=body)
            tail = await self._grown(tail, await self._store.put(entry.encoded()))
        self._remember(tail)
        return tail.head

    async def entry(self, digest: str) -> Entry:
        """One entry. Raises StoreError or ChainError."""
        return _parsed(digest, await self._store.get(digest))

    async def digests(self, head: str) -> list[str]:
        """Names of all entries up to `head`, oldest first."""
        names, _page = await self._recent(head)
        return [*await self._paged(_page), *names]

    async def read(self, head: str) -> list[Link]:
        """All entries up to `head`, oldest first, each checked to fit where the chain names it."""
        return [link async for link in self.walk(head)]

    async def walk(self, head: str, after: int = -1) -> AsyncIterator[Link]:
        """Entries up to `head` with `n` > `after`, oldest first, fetched side by side."""
        digests = await self.digests(head)
        wanted = digests[after + 1 :]
        for start in range(0, len(wanted), _READS_AT_ONCE):
            batch = wanted[start : start + _READS_AT_ONCE]
            entries = await asyncio.gather(*(self.entry(digest) for digest in batch))
            for offset, (digest, entry) in enumerate(zip(batch, entries, strict=True)):
                n = after + 1 + start + offset
                _check_place(digest, entry, n, digests[n - 1] if n else "")
                yield Link(digest, entry)

    async def since(self, head: str, known: int, known_digest: str) -> list[Link] | None:
        """Entries behind the one at place `known`, oldest first; None when `head` does not continue it closely."""
        links: list[Link] = []
        digest = head
        while digest and digest != known_digest:
            entry = await self.entry(digest)
            if entry.n <= known or len(links) > PAGE_SPAN:
                return None
            links.append(Link(digest, entry))
            digest = entry.parent
        return links[::-1] if digest == known_digest else None

    async def _recent(self, head: str) -> tuple[list[str], str]:
        """Names since the newest page before `head`, oldest first, and that page."""
        names: list[str] = []
        digest, page = head, ""
        while digest:
            entry = await self.entry(digest)
            if not names:
                page = entry.page
            names.append(digest)
            if entry.n % PAGE_EVERY == 0:
                break
            digest = entry.parent
        return names[::-1], page

    async def _paged(self, page: str) -> list[str]:
        stretches: list[tuple[str, ...]] = []
        while page:
            read = await self._page(page)
            stretches.append(read.digests)
            page = read.before
        return [digest for stretch in reversed(stretches) for digest in stretch]

    async def _page(self, digest: str) -> Page:
        try:
            return Page.model_validate_json(await self._store.get(digest))
        except ValidationError as error:
            raise ChainError(f"object {digest} is no page of a transcript: {error.errors()[0]['msg']}") from error

    async def _tail(self, head: str) -> Tail:
        if not head:
            return Tail(head="", n=0, page="", full="", digests=())
        if found := self._tails.get(head):
            return found
        names, page = await self._recent(head)
        since = list(names)
        full, digests = "", ()
        if page:
            read = await self._page(page)
            is_full = len(read.digests) == PAGE_SPAN
            full = page if is_full else read.before
            digests = () if is_full else read.digests
        last = await self.entry(head)
        tail = Tail(head=head, n=last.n + 1, page=page, full=full, digests=(*digests, *since))
        return await self._paged_tail(tail)

    async def _grown(self, tail: Tail, digest: str) -> Tail:
        grown = Tail(digest, tail.n + 1, tail.page, tail.full, (*tail.digests, digest))
        return await self._paged_tail(grown)

    async def _paged_tail(self, tail: Tail) -> Tail:
        if tail.n % PAGE_EVERY:
            return tail
        page = await self._store.put(
            Page(first=tail.n - len(tail.digests), before=tail.full, digests=tail.digests).encoded()
        )
        if len(tail.digests) < PAGE_SPAN:
            return Tail(tail.head, tail.n, page, tail.full, tail.digests)
        return Tail(tail.head, tail.n, page, page, ())

    def _remember(self, tail: Tail) -> None:
        self._tails.pop(tail.head, None)
        self._tails[tail.head] = tail
        while len(self._tails) > 256:
            self._tails.pop(next(iter(self._tails)))


def _parsed(digest: str, data: bytes) -> Entry:
    try:
        return Entry.model_validate_json(data)
    except ValidationError as error:
        problem = error.errors()[0]
        raise ChainError(f"object {digest} is no entry of a transcript: {problem['loc']}: {problem['msg']}") from error


def _check_place(digest: str, entry: Entry, n: int, parent: str) -> None:
    if entry.n != n or entry.parent != parent:
        raise ChainError(
            f"entry {digest} says it is number {entry.n} after {entry.parent or 'nothing'}, not {n} after {parent}"
        )
