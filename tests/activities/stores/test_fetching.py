"""Tests of activities/stores/fetching.py."""

import asyncio

import pytest

from activities.stores.fetching import Fetching
from activities.stores.objects import MemoryStore
from tests.fakes.stores import LatencyStore
from workflows.contracts.errors import MissingObject

ABSENT = "0" * 64


async def _filled(count: int) -> tuple[LatencyStore, list[str]]:
    memory = MemoryStore()
    digests = [await memory.put(str(number).encode()) for number in range(count)]
    return LatencyStore(memory, 0.005), digests


async def test_what_was_begun_is_read_once_and_side_by_side() -> None:
    store, digests = await _filled(50)
    async with Fetching(store) as reads:
        reads.begin(digests)
        assert [await reads.take(digest) for digest in digests] == [str(number).encode() for number in range(50)]
    assert store.reads == 50
    assert store.most_at_once == 50


async def test_what_was_never_begun_is_read_when_it_is_taken() -> None:
    store, digests = await _filled(1)
    async with Fetching(store) as reads:
        assert await reads.take(digests[0]) == b"0"


async def test_a_missing_object_is_told_to_whoever_takes_it_and_to_nobody_else() -> None:
    store, digests = await _filled(2)
    async with Fetching(store) as reads:
        reads.begin([ABSENT, *digests])
        assert await reads.take(digests[1]) == b"1"
        with pytest.raises(MissingObject):
            await reads.take(ABSENT)


async def test_reads_that_nobody_takes_end_with_the_block() -> None:
    store, digests = await _filled(300)
    async with Fetching(store) as reads:
        reads.begin([ABSENT, *digests])
        await asyncio.sleep(0.001)
    before = store.reads
    await asyncio.sleep(0.02)
    assert store.reads == before < 300


async def test_no_more_is_asked_for_early_than_may_be_held() -> None:
    store, digests = await _filled(20)
    async with Fetching(store, most_held=3) as reads:
        reads.begin(digests[:10])
        await asyncio.sleep(0.05)
        reads.begin(digests[10:])
        await asyncio.sleep(0.05)
        assert store.reads == 10
        assert [await reads.take(digest) for digest in digests] == [str(number).encode() for number in range(20)]
