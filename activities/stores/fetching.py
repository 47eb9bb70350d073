"""Objects asked for early and taken later: reads overlap with whatever is still being found out."""

import asyncio
from collections.abc import Iterable
from types import TracebackType
from typing import Self

from activities.stores.objects import ObjectStore

_AT_ONCE = 128
_HELD_BYTES = 64 * 1024 * 1024
"""Bytes that may lie here untaken before no more is asked for early."""


class Fetching:
    """Reads of one store under way, by digest; what is left over at the end is dropped."""

    def __init__(self, store: ObjectStore, most_held: int = _HELD_BYTES) -> None:
        self._store = store
        self._most_held = most_held
        self._slots = asyncio.Semaphore(_AT_ONCE)
        self._reads: dict[str, asyncio.Task[bytes]] = {}
        self._held = 0

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        reads = list(self._reads.values())
        for read in reads:
            read.cancel()
        await asyncio.gather(*reads, return_exceptions=True)

    def begin(self, digests: Iterable[str]) -> None:
        """Start reading these, unless much is held already."""
        for digest in digests:
            if self._held > self._most_held:
                return
            if digest not in self._reads:
                self._reads[digest] = asyncio.ensure_future(self._read(digest))

    async def take(self, digest: str) -> bytes:
        """The bytes of that digest, verified; raises what the store raises."""
        self.begin((digest,))
        read = self._reads.pop(digest, None)
        if read is None:
            return await self._store.get(digest)
        data = await read
        self._held -= len(data)
        return data

    async def _read(self, digest: str) -> bytes:
        async with self._slots:
            data = await self._store.get(digest)
        self._held += len(data)
        return data
