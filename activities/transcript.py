"""Append and read the chain of entries; appending twice is harmless."""

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import dataclass

from pydantic import ValidationError

from activities.stores.fetching import Fetching
from activities.stores.objects import ObjectStore
from workflows.contracts.errors import ChainError
from workflows.contracts.transcript import PAGE_EVERY, PAGE_SPAN, Body, Entry, Page, digest_of

_AHEAD = 256
"""Entries that are asked for before they are reached."""
_TAILS = 256


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


@dataclass(frozen=True)
class Growth:
    """What one append adds to a chain, made but perhaps not written yet."""

    head: str
    """The new head."""
    entries: tuple[bytes, ...] = ()
    """Oldest first."""
    pages: tuple[bytes, ...] = ()
    """Those that are due after them."""

    def links(self) -> tuple[Link, ...]:
        """The entries as a reader of the store finds them."""
        named = ((digest_of(data), data) for data in self.entries)
        return tuple(Link(digest, parsed_entry(digest, data)) for digest, data in named)


class Transcript:
    """The chains in one object store. The same values give the same bytes under the same name."""

    def __init__(self, store: ObjectStore) -> None:
        self._store = store
        self._tails: dict[str, Tail] = {}

    async def append(self, head: str, at: str, bodies: Sequence[Body]) -> str:
        """Write one entry for each body behind `head`; the new head, once everything before it is kept."""
        return await self.write(await self.grown(head, at, bodies))

    async def grown(self, head: str, at: str, bodies: Sequence[Body]) -> Growth:
        """What `append` writes; its head may be told to nobody before `write` has ended."""
        tail = await self._tail(head)
        entries: list[bytes] = []
        pages: list[bytes] = []
        for body in bodies:
            entries.append(Entry(n=tail.n, parent=tail.head, page=tail.page, at=at, body=body).encoded())
            tail = _grown(tail, digest_of(entries[-1]), pages)
        # Only names: whoever appends behind this head writes these objects first, or beside its own.
        self._remember(tail)
        return Growth(tail.head, tuple(entries), tuple(pages))

    async def write(self, growth: Growth) -> str:
        """Keep what was made, side by side; the new head."""
        await asyncio.gather(*(self._store.put(data) for data in (*growth.entries, *growth.pages)))
        return growth.head

    async def entry(self, digest: str) -> Entry:
        """One entry. Raises StoreError or ChainError."""
        return parsed_entry(digest, await self._store.get(digest))

    async def digests(self, head: str) -> list[str]:
        """Names of all entries up to `head`, oldest first."""
        names = await self._names(head, 0, lambda _names: None)
        return [names[n] for n in range(len(names))]

    async def read(self, head: str) -> list[Link]:
        """All entries up to `head`, oldest first, each checked to fit where the chain names it."""
        return [link async for link in self.walk(head)]

    async def walk(self, head: str, after: int = -1) -> AsyncIterator[Link]:
        """Entries up to `head` with `n` > `after`, oldest first; their reads overlap with the search for names."""
        async with Fetching(self._store) as fetching:
            names = await self._names(head, after, fetching.begin)
            first, end = max(after + 1, 0), max(names, default=-1) + 1
            for n in range(first, end):
                if n == first or n % _AHEAD == 0:
                    fetching.begin(names[ahead] for ahead in range(n, min(n + 2 * _AHEAD, end)))
                entry = parsed_entry(names[n], await fetching.take(names[n]))
                _check_place(names[n], entry, n, names[n - 1] if n else "")
                yield Link(names[n], entry)

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

    async def _names(self, head: str, lowest: int, found: Callable[[list[str]], None]) -> dict[int, str]:
        """Names up to `head` by place, down to `lowest` at least; each stretch is told as soon as it is found."""
        if not head:
            return {}
        last = await self.entry(head)
        paged = asyncio.ensure_future(self._paged(last.page, last.n - last.n % PAGE_EVERY, lowest, found))
        try:
            names = await self._recent(head, last)
            found(list(names.values()))
            return names | await paged
        finally:
            paged.cancel()
            await asyncio.gather(paged, return_exceptions=True)

    async def _recent(self, head: str, last: Entry) -> dict[int, str]:
        """Names behind the newest page before `head`: only their parents tell them."""
        names = {last.n: head}
        entry = last
        while entry.n % PAGE_EVERY:
            names[entry.n - 1] = entry.parent
            below = await self.entry(entry.parent)
            _check_place(entry.parent, below, entry.n - 1, below.parent)
            entry = below
        return names

    async def _paged(self, page: str, end: int, lowest: int, found: Callable[[list[str]], None]) -> dict[int, str]:
        """Names that the page and those before it list, from `end` down to `lowest` at least."""
        names: dict[int, str] = {}
        while end > max(lowest, 0):
            read = await self.page(page)
            if read.first + len(read.digests) != end or read.first >= end:
                raise ChainError(f"page {page or 'without a name'} does not list the entries before number {end}")
            names |= dict(enumerate(read.digests, read.first))
            found([digest for n, digest in enumerate(read.digests, read.first) if n >= lowest])
            page, end = read.before, read.first
        return names

    async def page(self, digest: str) -> Page:
        """One page. Raises StoreError or ChainError."""
        return parsed_page(digest, await self._store.get(digest))

    async def _tail(self, head: str) -> Tail:
        if not head:
            return Tail(head="", n=0, page="", full="", digests=())
        if known := self._tails.get(head):
            return known
        last = await self.entry(head)
        recent = await self._recent(head, last)
        full, digests = "", tuple(recent[n] for n in sorted(recent))
        if last.page:
            read = await self.page(last.page)
            is_full = len(read.digests) == PAGE_SPAN
            full = last.page if is_full else read.before
            digests = digests if is_full else (*read.digests, *digests)
        objects: list[bytes] = []
        tail = _paged_tail(Tail(head, last.n + 1, last.page, full, digests), objects)
        # Whoever wrote this head may have died before its page was written.
        await asyncio.gather(*(self._store.put(data) for data in objects))
        return tail

    def _remember(self, tail: Tail) -> None:
        self._tails.pop(tail.head, None)
        self._tails[tail.head] = tail
        while len(self._tails) > _TAILS:
            self._tails.pop(next(iter(self._tails)))


def parsed_entry(digest: str, data: bytes) -> Entry:
    """The entry that these bytes are; ChainError when they are none."""
    try:
        return Entry.model_validate_json(data)
    except ValidationError as error:
        problem = error.errors()[0]
        raise ChainError(f"object {digest} is no entry of a transcript: {problem['loc']}: {problem['msg']}") from error


def parsed_page(digest: str, data: bytes) -> Page:
    """The page that these bytes are; ChainError when they are none."""
    try:
        return Page.model_validate_json(data)
    except ValidationError as error:
        raise ChainError(f"object {digest} is no page of a transcript: {error.errors()[0]['msg']}") from error


def _grown(tail: Tail, digest: str, objects: list[bytes]) -> Tail:
    return _paged_tail(Tail(digest, tail.n + 1, tail.page, tail.full, (*tail.digests, digest)), objects)


def _paged_tail(tail: Tail, objects: list[bytes]) -> Tail:
    """The same tail with the page that is due after it, whose bytes are added to `objects`."""
    if tail.n % PAGE_EVERY:
        return tail
    objects.append(Page(first=tail.n - len(tail.digests), before=tail.full, digests=tail.digests).encoded())
    page = digest_of(objects[-1])
    if len(tail.digests) < PAGE_SPAN:
        return Tail(tail.head, tail.n, page, tail.full, tail.digests)
    return Tail(tail.head, tail.n, page, page, ())


def _check_place(digest: str, entry: Entry, n: int, parent: str) -> None:
    if entry.n != n or entry.parent != parent:
        raise ChainError(
            f"entry {digest} says it is number {entry.n} after {entry.parent or 'nothing'}, "
            f"not {n} after {parent or 'nothing'}"
        )
