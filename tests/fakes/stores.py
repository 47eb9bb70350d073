"""Object stores that are slow, stuck or full on purpose."""

import asyncio

from activities.stores.objects import ObjectStore
from workflows.contracts.errors import FailureKind, UserError


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


class GatedStore:
    """Another store that takes nothing while its gate is closed, and refuses all while it is full."""

    def __init__(self, inner: ObjectStore) -> None:
        self.inner = inner
        self.url = inner.url
        self.gate = asyncio.Event()
        self.gate.set()
        self.is_full = False
        self.put_digests: list[str] = []

    async def put(self, data: bytes) -> str:
        """Put once the gate is open. Raises UserError while the store is full."""
        await self.gate.wait()
        if self.is_full:
            raise UserError("the disk is full", reason=FailureKind.DISK_FULL)
        self.put_digests.append(await self.inner.put(data))
        return self.put_digests[-1]

    async def get(self, digest: str) -> bytes:
        """Get, whatever the gate."""
        return await self.inner.get(digest)

    async def store_id(self) -> str:
        """The other store's id."""
        return await self.inner.store_id()
