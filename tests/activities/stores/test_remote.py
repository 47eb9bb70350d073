"""Tests of activities/stores/remote.py."""

import asyncio

import obstore
import pytest
from obstore.store import MemoryStore as Bucket

from activities.stores.objects import open_store
from activities.stores.remote import RemoteStore
from workflows.contracts.errors import DamagedObject, MissingObject, UserError


async def test_a_bucket_gives_back_what_it_was_given() -> None:
    store = RemoteStore(Bucket(), "s3://bucket")
    for data in (b"", b"text", b"x" * 6_000_000):
        assert await store.get(await store.put(data)) == data


async def test_a_missing_and_a_damaged_object_of_a_bucket_are_named() -> None:
    bucket = Bucket()
    store = RemoteStore(bucket, "s3://bucket")
    digest = await store.put(b"text")
    await obstore.put_async(bucket, f"{digest[:2]}/{digest[2:]}", b"test")
    with pytest.raises(DamagedObject, match=digest):
        await store.get(digest)
    for name in ("0" * 64, "../x"):
        with pytest.raises(MissingObject):
            await store.get(name)


async def test_all_who_open_a_new_bucket_agree_on_its_id() -> None:
    bucket = Bucket()
    ids = await asyncio.gather(*(RemoteStore(bucket, "s3://bucket").store_id() for _ in range(10)))
    assert len(set(ids)) == 1


async def test_a_bucket_that_does_not_answer_is_told_in_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in {
        "AWS_ENDPOINT_URL": "http://127.0.0.1:9",
        "AWS_ALLOW_HTTP": "true",
        "AWS_ACCESS_KEY_ID": "a",
        "AWS_SECRET_ACCESS_KEY": "b",
        "AWS_REGION": "us-east-1",
    }.items():
        monkeypatch.setenv(name, value)
    with pytest.raises(UserError, match="the object store s3://bucket/x does not answer") as caught:
        await open_store("s3://bucket/x").get("0" * 64)
    assert "\n" not in str(caught.value)
