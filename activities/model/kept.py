"""The complete blocks of a reply that still comes: in the flight's file at once, in the store if the reply goes on."""

import asyncio
from collections.abc import Callable, Sequence

from pydantic import TypeAdapter, ValidationError

from activities.model.flight import FlightFile, Past
from activities.stores.objects import ObjectStore, get_many
from workflows.contracts.errors import StoreError, UserError
from workflows.contracts.messages import Block, Text, ToolUse
from workflows.contracts.transcript import canonical, digest_of

KEEP_AFTER = 0.05
"""Seconds that a reply may take to end before its complete blocks go to the store one by one.

Until then a block outlives the worker, in the flight's file, but no power cut and no loss of the host; a reply that
ends sooner is written as its entry anyway, and no beat would have named the block: the first one comes later.
"""

_BLOCK: TypeAdapter[Block] = TypeAdapter(Block)


class Kept:
    """The complete blocks of one reply; `say` is told the digests that the store has, in order."""

    def __init__(self, store: ObjectStore, file: FlightFile, say: Callable[[Sequence[str]], None]) -> None:
        self.blocks: list[Block] = []
        self.started = ""
        """When the provider began to answer; empty while it has not."""
        self.cap = 0
        """Output cap that was sent."""
        self._store = store
        self._file = file
        self._say = say
        self._data: list[bytes] = []
        self._stored: list[str] = []
        self._storing: asyncio.Task[None] | None = None

    def add(self, block: Block) -> None:
        """A block is complete."""
        data = written(block)
        self._file.kept(digest_of(data), data)
        self.blocks.append(block)
        self._data.append(data)
        if self._storing is None or self._storing.done():
            self._storing = asyncio.ensure_future(self._store_later())

    async def flush(self) -> None:
        """Put what is not in the store yet, once stopped. Raises UserError when the store takes no more."""
        await self.stop()
        await self._flush()

    async def _flush(self) -> None:
        while len(self._stored) < len(self._data):
            self._stored.append(await self._store.put(self._data[len(self._stored)]))
            self._say(self._stored)

    async def stop(self) -> None:
        """The reply is over: what was not put yet stays in the flight's file only."""
        if self._storing is not None:
            self._storing.cancel()
            await asyncio.wait({self._storing})
            if not self._storing.cancelled():
                self._storing.result()

    async def _store_later(self) -> None:
        while len(self._stored) < len(self._data):
            await asyncio.sleep(KEEP_AFTER)
            try:
                await self._flush()
            except UserError:
                # The reply may still be written whole once it ends; if not, its own entry tells why.
                return


def written(block: Block) -> bytes:
    """A block as the store and the flight's file have it."""
    return canonical(block.model_dump(mode="json"))


def is_worth(blocks: Sequence[Block]) -> bool:
    """A text or a call is among them: the request is not made again."""
    return any(isinstance(block, ToolUse) or is_text(block) for block in blocks)


def is_text(block: Block) -> bool:
    """A text that says something."""
    return isinstance(block, Text) and bool(block.text.strip())


async def recalled(store: ObjectStore, past: Past, digests: Sequence[str]) -> list[Block] | None:
    """Blocks that an earlier attempt kept; None when one of them is nowhere: without it the model is asked again."""
    try:
        stored = await get_many(store, [digest for digest in digests if digest not in past.blocks])
    except StoreError:
        # Named by another host, or by a file whose lines a power cut has torn.
        return None
    rest = iter(stored)
    try:
        return [_BLOCK.validate_json(past.blocks.get(digest) or next(rest)) for digest in digests]
    except ValidationError:
        return None
