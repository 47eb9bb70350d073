"""Object stores that are slow on purpose."""

import asyncio

from activities.stores.objects import ObjectStore


class LatencyStore:
    """Another store, each of whose answers takes that many seconds longer."""

    def __init__(self, inner: ObjectStore, seconds: float) -> None:
        self.inner = inner
        self.seconds = seconds
        self.url = inner.url
        self.reads = 0
        self.most_at_once = 0
        self._now = 0

    async def put(self, data: bytes) -> str:
        """Put after the delay."""
        await asyncio.sleep(self.seconds)
        return await self.inner.put(data)

    async def get(self, digest: str) -> bytes:
        """Get after the delay."""
        self.reads += 1
        self._now += 1
        self.most_at_once = max(self.most_at_once, self._now)
        try:
            await asyncio.sleep(self.seconds)
            return await self.inner.get(digest)
        finally:
            self._now -= 1

    async def store_id(self) -> str:
        """The other store's id."""
        return await self.inner.store_id()
