"""Read a chain as far as it can be read: whole and fast, else around what is damaged."""

from collections.abc import Sequence

from activities.stores.fetching import Fetching
from activities.stores.objects import ObjectStore
from activities.transcript import Transcript, parsed_entry, parsed_page
from workflows.contracts.audit import Line
from workflows.contracts.errors import ChainError, StoreError
from workflows.contracts.transcript import PAGE_EVERY, PAGE_SPAN, Entry


async def read_chain(store: ObjectStore, head: str, others: Sequence[str] = ()) -> list[Line]:
    """One line for each place up to `head`, oldest first.

    `others` are heads of the same chain that serve where what names an entry is damaged. Raises StoreError or
    ChainError when the head itself cannot be read.
    """
    try:
        return [Line(link.entry.n, link.digest, link.entry) async for link in Transcript(store).walk(head)]
    except (StoreError, ChainError):
        return await _Recovery(store).lines(head, others)


class _Recovery:
    """One reading from the head down, by parents, pages and other heads."""

    def __init__(self, store: ObjectStore) -> None:
        self._store = store
        self._names: dict[int, str] = {}
        self._pages: set[str] = set()

    async def lines(self, head: str, others: Sequence[str]) -> list[Line]:
        async with Fetching(self._store) as fetching:
            newest = parsed_entry(head, await fetching.take(head))
            await self._hint(fetching, others, newest.n)
            self._names[newest.n] = head
            found = [await self._line(fetching, n) for n in range(newest.n, -1, -1)]
        return _told_once(found[::-1])

    async def _hint(self, fetching: Fetching, others: Sequence[str], end: int) -> None:
        for head in others:
            try:
                entry = parsed_entry(head, await fetching.take(head))
            except (StoreError, ChainError):
                continue
            if entry.n < end:
                self._names.setdefault(entry.n, head)

    async def _line(self, fetching: Fetching, n: int) -> Line:
        digest = self._names.get(n, "")
        if not digest:
            return Line(n, "", None)
        try:
            entry = parsed_entry(digest, await fetching.take(digest))
        except (StoreError, ChainError) as error:
            return Line(n, digest, None, str(error))
        if entry.n != n:
            return Line(n, digest, None, f"object {digest} says that it is entry {entry.n}")
        if n:
            self._names[n - 1] = entry.parent
        await self._follow_pages(fetching, entry)
        return Line(n, digest, entry)

    async def _follow_pages(self, fetching: Fetching, entry: Entry) -> None:
        page, end = entry.page, entry.n - entry.n % PAGE_EVERY
        while page and page not in self._pages:
            self._pages.add(page)
            try:
                read = parsed_page(page, await fetching.take(page))
            except (StoreError, ChainError):
                return
            if read.first + len(read.digests) != end or len(read.digests) > PAGE_SPAN:
                return
            for n, digest in enumerate(read.digests, read.first):
                self._names.setdefault(n, digest)
            fetching.begin(read.digests)
            page, end = read.before, read.first


def _told_once(lines: list[Line]) -> list[Line]:
    """The same, where the first of several places in a row that nothing names says how many they are."""
    told = list(lines)
    start = None
    for place, line in enumerate([*lines, Line(-1, "end", None)]):
        if not line.digest and start is None:
            start = place
        elif line.digest and start is not None:
            several = f"entries {start} to {place - 1} cannot" if place - 1 > start else f"entry {start} cannot"
            told[start] = Line(start, "", None, f"{several} be found: what names them is damaged or missing")
            start = None
    return told
