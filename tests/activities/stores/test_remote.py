"""Tests of activities/stores/remote.py, over real HTTP."""

import asyncio
from collections.abc import Iterator

import pytest

from activities.stores.objects import get_many, open_store
from tests.fakes.s3 import Bucket, serving
from workflows.contracts.errors import DamagedObject, MissingObject, UserError

URL = "s3://bucket/some/prefix"


@pytest.fixture
def bucket(monkeypatch: pytest.MonkeyPatch) -> Iterator[Bucket]:
    with serving() as server:
        point_at(server.url, monkeypatch)
        yield server


def point_at(endpoint: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in {
        "AWS_ENDPOINT_URL": endpoint,
        "AWS_ALLOW_HTTP": "true",
        "AWS_ACCESS_KEY_ID": "known",
        "AWS_SECRET_ACCESS_KEY": "secret",
        "AWS_REGION": "us-east-1",
    }.items():
        monkeypatch.setenv(name, value)


async def test_a_bucket_gives_back_what_it_was_given(bucket: Bucket) -> None:
    store = open_store(URL)
    for data in (b"", b"text", b"x" * 1_000_000):
        digest = await store.put(data)
        assert await store.get(digest) == data
        assert bucket.objects[f"/bucket/some/prefix/{digest[:2]}/{digest[2:]}"] == data


@pytest.mark.journey
async def test_many_objects_of_a_bucket_are_read_side_by_side(bucket: Bucket) -> None:
    store = open_store(URL)
    wanted = [str(number).encode() for number in range(50)]
    digests = [await store.put(data) for data in wanted]
    assert await get_many(store, digests, at_once=10) == wanted


async def test_a_missing_and_a_damaged_object_of_a_bucket_are_named(bucket: Bucket) -> None:
    store = open_store(URL)
    digest = await store.put(b"text")
    bucket.objects[f"/bucket/some/prefix/{digest[:2]}/{digest[2:]}"] = b"test"
    with pytest.raises(DamagedObject, match=digest):
        await store.get(digest)
    for name in ("0" * 64, "../x"):
        with pytest.raises(MissingObject):
            await store.get(name)
    await store.put(b"text")
    assert await store.get(digest) == b"text"


@pytest.mark.journey
async def test_all_who_open_a_new_bucket_agree_on_its_id(bucket: Bucket) -> None:
    ids = await asyncio.gather(*(open_store(URL).store_id() for _ in range(10)))
    assert len(set(ids)) == 1
    assert await open_store(URL).store_id() == ids[0]


async def test_a_bucket_that_refuses_is_told_in_one_line_without_the_secret(bucket: Bucket) -> None:
    bucket.refuse_with = 403
    for deed in (open_store(URL).get("0" * 64), open_store(URL).put(b"text"), open_store(URL).store_id()):
        with pytest.raises(UserError, match=f"the object store {URL} does not answer as it should") as caught:
            await deed
        assert "\n" not in str(caught.value)
        assert "secret" not in str(caught.value)


@pytest.mark.journey
async def test_a_bucket_that_is_not_there_is_told_in_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    point_at("http://127.0.0.1:9", monkeypatch)
    with pytest.raises(UserError, match=f"the object store {URL} does not answer") as caught:
        await open_store(URL).get("0" * 64)
    assert "\n" not in str(caught.value)
