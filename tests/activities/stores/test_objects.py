"""Tests of activities/stores/objects.py."""

import asyncio
import hashlib
import os
import random
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from activities.stores.objects import CachedStore, FolderStore, MemoryStore, get_many, open_store
from tests.fakes.stores import LatencyStore
from workflows.contracts.errors import DamagedObject, MissingObject, UserError

ABSENT = "0" * 64
ASK_ID = """
import asyncio, sys
from activities.stores.objects import open_store
print(asyncio.run(open_store(sys.argv[1]).store_id()))
"""

PUTTER = """
import asyncio, itertools, sys
from activities.stores.objects import open_store
async def put_on() -> None:
    store = open_store(sys.argv[1])
    print("ready", flush=True)
    for number in itertools.count():
        print(await store.put(b"%d" % number * 20_000), flush=True)
asyncio.run(put_on())
"""


@pytest.fixture
def tiny_disk(tmp_path: Path) -> Iterator[Path]:
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", tmp_path], check=False, timeout=10)
    if mounted.returncode != 0:
        pytest.skip("this user may not mount a small file system")
    yield tmp_path
    subprocess.run(["umount", tmp_path], check=True, timeout=10)


@pytest.mark.parametrize("data", [b"", b"text", b"\0" * 300_000])
async def test_what_is_put_is_got_by_its_sha256(tmp_path: Path, data: bytes) -> None:
    for store in (FolderStore(tmp_path / "objects"), MemoryStore(), CachedStore(MemoryStore(), 1000)):
        digest = await store.put(data)
        assert digest == hashlib.sha256(data).hexdigest()
        assert await store.get(digest) == data


async def test_an_object_is_a_file_of_its_owner_under_its_digest(tmp_path: Path) -> None:
    digest = await FolderStore(tmp_path / "objects").put(b"text")
    path = tmp_path / "objects" / digest[:2] / digest[2:]
    assert path.read_bytes() == b"text"
    assert path.stat().st_mode & 0o777 == 0o600
    assert path.parent.stat().st_mode & 0o777 == 0o700


async def test_the_same_bytes_are_written_once(tmp_path: Path) -> None:
    store = FolderStore(tmp_path)
    digest = await store.put(b"text")
    before = (tmp_path / digest[:2] / digest[2:]).stat().st_ino
    await asyncio.gather(*(store.put(b"text") for _ in range(5)))
    assert (tmp_path / digest[:2] / digest[2:]).stat().st_ino == before


@pytest.mark.parametrize("digest", [ABSENT, "", "../../etc/passwd", "A" * 64])
async def test_an_object_that_is_not_there_is_named(tmp_path: Path, digest: str) -> None:
    for store in (FolderStore(tmp_path), MemoryStore()):
        with pytest.raises(MissingObject) as caught:
            await store.get(digest)
        assert caught.value.digest == digest


@pytest.mark.parametrize("position", [0, 1, 3])
async def test_one_flipped_byte_is_found_and_healed_by_putting_again(tmp_path: Path, position: int) -> None:
    store = FolderStore(tmp_path)
    digest = await store.put(b"text")
    path = tmp_path / digest[:2] / digest[2:]
    flipped = bytearray(b"text")
    flipped[position] ^= 1
    path.write_bytes(flipped)
    with pytest.raises(DamagedObject, match=digest):
        await store.get(digest)
    await store.put(b"text")
    assert await store.get(digest) == b"text"


async def test_a_cut_object_and_a_folder_in_its_place_are_damage(tmp_path: Path) -> None:
    store = FolderStore(tmp_path)
    cut, replaced = await store.put(b"text"), await store.put(b"other")
    (tmp_path / cut[:2] / cut[2:]).write_bytes(b"")
    (tmp_path / replaced[:2] / replaced[2:]).unlink()
    (tmp_path / replaced[:2] / replaced[2:]).mkdir()
    for digest in (cut, replaced):
        with pytest.raises(DamagedObject):
            await store.get(digest)


@pytest.mark.journey
async def test_what_a_killed_writer_reported_is_there_and_no_name_stands_for_other_bytes(tmp_path: Path) -> None:
    store = FolderStore(tmp_path)
    for _ in range(5):
        process = subprocess.Popen([sys.executable, "-c", PUTTER, store.url], stdout=subprocess.PIPE, text=True)
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        time.sleep(random.uniform(0.01, 0.05))
        process.kill()
        reported = process.communicate(timeout=20)[0].split()
        await get_many(store, [digest for digest in reported if len(digest) == 64])
    for path in tmp_path.glob("??/*"):
        if path.suffix != ".tmp":
            await store.get(path.parent.name + path.name)


async def test_a_store_goes_on_when_its_folder_was_removed_under_it(tmp_path: Path) -> None:
    store = FolderStore(tmp_path / "objects")
    digest = await store.put(b"text")
    (tmp_path / "objects").rename(tmp_path / "moved")
    assert await store.put(b"text") == digest
    assert await store.get(digest) == b"text"


async def test_a_full_disk_is_told_in_one_line_and_keeps_what_was_there(tiny_disk: Path) -> None:
    store = FolderStore(tiny_disk / "objects")
    digest = await store.put(b"text")
    with pytest.raises(UserError, match="the disk is full") as caught:
        await store.put(os.urandom(200_000))
    assert caught.value.reason == "disk_full"
    assert await store.get(digest) == b"text"
    assert not list(tiny_disk.rglob("*.tmp"))


async def test_a_store_behind_a_file_is_told_in_one_line(tmp_path: Path) -> None:
    (tmp_path / "objects").touch()
    with pytest.raises(UserError, match="a file is where a folder belongs"):
        await FolderStore(tmp_path / "objects").put(b"text")


@pytest.mark.journey
def test_ten_processes_agree_on_the_id_of_a_new_store(tmp_path: Path) -> None:
    url = (tmp_path / "objects").as_uri()
    askers = [
        subprocess.Popen([sys.executable, "-c", ASK_ID, url], stdout=subprocess.PIPE, text=True) for _ in range(10)
    ]
    assert len({asker.communicate(timeout=60)[0] for asker in askers}) == 1


async def test_two_stores_have_two_ids(tmp_path: Path) -> None:
    ids = [await FolderStore(tmp_path / name).store_id() for name in ("a", "b", "a")]
    assert ids[0] == ids[2] != ids[1]


async def test_a_store_id_that_is_damaged_is_refused(tmp_path: Path) -> None:
    (tmp_path / "STORE_ID").write_bytes(b"\0\0")
    with pytest.raises(UserError, match="holds no store id"):
        await FolderStore(tmp_path).store_id()


async def test_many_objects_are_read_side_by_side_in_their_order() -> None:
    memory = MemoryStore()
    digests = [await memory.put(str(number).encode()) for number in range(200)]
    slow = LatencyStore(memory, 0.005)
    assert await get_many(slow, digests, at_once=50) == [str(number).encode() for number in range(200)]
    assert slow.most_at_once == 50


async def test_the_first_missing_object_ends_the_reading_of_many() -> None:
    memory = MemoryStore()
    digests = [await memory.put(str(number).encode()) for number in range(50)]
    slow = LatencyStore(memory, 0.005)
    with pytest.raises(MissingObject):
        await get_many(slow, [ABSENT, *digests], at_once=4)
    assert slow.reads < 50
    assert await get_many(memory, []) == []


async def test_a_cache_holds_no_more_bytes_than_it_may_and_forgets_the_oldest() -> None:
    inner = LatencyStore(MemoryStore(), 0)
    store = CachedStore(inner, 100)
    first, second, third = [await store.put(letter * 40) for letter in (b"a", b"b", b"c")]
    assert store.held_bytes == 80
    assert await store.get(third) == b"c" * 40
    assert await store.get(second) == b"b" * 40
    assert inner.reads == 0
    await store.get(first)
    assert inner.reads == 1
    await store.get(third)
    assert inner.reads == 2
    large = await store.put(b"d" * 101)
    assert store.held_bytes == 80
    assert await store.get(large) == b"d" * 101


async def test_a_url_opens_the_store_it_names(tmp_path: Path) -> None:
    folder = tmp_path / "with space"
    digest = await open_store(folder.as_uri()).put(b"text")
    assert await open_store(str(folder)).get(digest) == b"text"
    assert isinstance(open_store("memory://"), MemoryStore)
    assert open_store("s3://bucket/prefix").url == "s3://bucket/prefix"


@pytest.mark.parametrize("url", ["ftp://host/x", "file://elsewhere/x", "s3://"])
def test_a_url_that_names_no_store_is_refused_in_one_line(url: str) -> None:
    with pytest.raises(UserError, match="PERDURE_STORE names no store that perdure knows"):
        open_store(url)
