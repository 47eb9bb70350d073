"""Tests of activities/transcript.py."""

import re
import time
from collections.abc import Sequence
from pathlib import Path

import pytest

from activities.stores.objects import FolderStore, MemoryStore, ObjectStore
from activities.transcript import Transcript
from tests.fakes.stores import LatencyStore
from workflows.contracts.errors import ChainError, DamagedObject, MissingObject
from workflows.contracts.messages import Role, Text
from workflows.contracts.transcript import PAGE_EVERY, PAGE_SPAN, Body, Entry, MessageBody, NoticeBody, Page, digest_of

AT = "2026-01-01T00:00:00.000Z"
FORMAT = Path(__file__).parents[2] / "docs" / "format.md"


def _bodies(count: int, first: int = 0) -> list[Body]:
    return [NoticeBody(what="test", text=f"entry {number}") for number in range(first, first + count)]


async def _chain(store: ObjectStore, bodies: Sequence[Body], at_once: int = 1000) -> str:
    head = ""
    for start in range(0, len(bodies), at_once):
        # A transcript of its own for each append, as after a crash: nothing is remembered.
        head = await Transcript(store).append(head, AT, bodies[start : start + at_once])
    return head


class DyingStore(MemoryStore):
    """A store that dies after so many puts."""

    def __init__(self, puts: int) -> None:
        super().__init__()
        self.left = puts

    async def put(self, data: bytes) -> str:
        """Put, or die."""
        if self.left == 0:
            raise MissingObject(digest_of(data), "the store is gone")
        self.left -= 1
        return await super().put(data)


@pytest.mark.parametrize("count", [1, 15, 16, 17, 127, 128, 129, 143, 144, 145, 256, 300])
async def test_what_is_appended_is_read_in_order(count: int) -> None:
    store = MemoryStore()
    head = await _chain(store, _bodies(count))
    links = await Transcript(store).read(head)
    assert [link.entry.body for link in links] == _bodies(count)
    assert [link.entry.n for link in links] == list(range(count))
    assert await Transcript(store).digests(head) == [link.digest for link in links]
    assert links[-1].digest == head


async def test_an_empty_head_is_an_empty_transcript() -> None:
    assert await Transcript(MemoryStore()).read("") == []
    assert await Transcript(MemoryStore()).append("", AT, []) == ""


@pytest.mark.parametrize("at_once", [1, 3, 16, 50])
async def test_a_chain_is_the_same_however_it_was_appended(at_once: int) -> None:
    together, piecewise = MemoryStore(), MemoryStore()
    assert await _chain(together, _bodies(300)) == await _chain(piecewise, _bodies(300), at_once)
    assert together.objects == piecewise.objects


async def test_appending_twice_writes_the_same_objects() -> None:
    store = MemoryStore()
    before = await _chain(store, _bodies(20))
    head = await Transcript(store).append(before, AT, _bodies(20, 20))
    objects = dict(store.objects)
    assert await Transcript(store).append(before, AT, _bodies(20, 20)) == head
    assert store.objects == objects


async def test_pages_come_every_16_entries_and_a_full_one_lists_128() -> None:
    store = MemoryStore()
    head = await _chain(store, _bodies(300))
    links = await Transcript(store).read(head)
    names = [link.digest for link in links]
    assert all(link.entry.page == "" for link in links[:PAGE_EVERY])
    for link in links[PAGE_EVERY:]:
        page = await Transcript(store).page(link.entry.page)
        end = link.entry.n - link.entry.n % PAGE_EVERY
        first = (end - 1) // PAGE_SPAN * PAGE_SPAN
        assert (page.first, page.digests) == (first, tuple(names[first:end]))
        assert page.before == (links[first].entry.page if first else "")


@pytest.mark.parametrize("puts", range(5))
async def test_a_writer_that_dies_anywhere_leaves_what_its_repeat_completes(puts: int) -> None:
    dying, whole = DyingStore(1000), MemoryStore()
    before = await _chain(dying, _bodies(14))
    dying.left = puts
    with pytest.raises(MissingObject):
        await Transcript(dying).append(before, AT, _bodies(5, 14))
    dying.left = 1000
    head = await Transcript(dying).append(before, AT, _bodies(5, 14))
    assert head == await _chain(whole, _bodies(19))
    assert dying.objects == whole.objects


async def test_a_page_whose_writer_died_is_written_by_the_next_append() -> None:
    store = MemoryStore()
    head = await _chain(store, _bodies(16))
    page = next(digest for digest, data in store.objects.items() if b'"digests"' in data)
    del store.objects[page]
    head = await Transcript(store).append(head, AT, _bodies(1, 16))
    assert len(await Transcript(store).read(head)) == 17


async def test_two_forks_share_what_is_before_them() -> None:
    store = MemoryStore()
    before = await _chain(store, _bodies(40))
    left = await Transcript(store).append(before, AT, _bodies(3, 100))
    right = await Transcript(store).append(before, AT, _bodies(3, 200))
    names = [await Transcript(store).digests(head) for head in (left, right)]
    assert names[0][:40] == names[1][:40]
    assert set(names[0][40:]).isdisjoint(names[1][40:])


@pytest.mark.parametrize("after", [-1, 0, 14, 15, 16, 127, 128, 200, 298, 299])
async def test_a_walk_begins_behind_the_place_it_is_given(after: int) -> None:
    store = MemoryStore()
    head = await _chain(store, _bodies(300))
    walked = [link.entry.n async for link in Transcript(store).walk(head, after)]
    assert walked == list(range(after + 1, 300))


async def test_a_walk_of_the_newest_entries_reads_no_old_page() -> None:
    store = LatencyStore(MemoryStore(), 0)
    head = await _chain(store, _bodies(5000))
    store.reads = 0
    assert len([link async for link in Transcript(store).walk(head, 4990)]) == 9
    assert store.reads < 30


async def test_since_gives_what_is_behind_a_known_entry_or_nothing() -> None:
    store = MemoryStore()
    transcript = Transcript(store)
    known = await _chain(store, _bodies(20))
    head = await transcript.append(known, AT, _bodies(3, 20))
    links = await transcript.since(head, 19, known)
    assert links is not None
    assert [link.entry.n for link in links] == [20, 21, 22]
    assert await transcript.since(known, 19, known) == []
    assert await transcript.since(head, 19, "f" * 64) is None


@pytest.mark.parametrize("n", [0, 7, 16, 40, 49])
async def test_a_flipped_byte_of_an_entry_ends_the_reading_with_its_digest(tmp_path: Path, n: int) -> None:
    store = FolderStore(tmp_path)
    head = await _chain(store, _bodies(50))
    digest = (await Transcript(store).digests(head))[n]
    path = tmp_path / digest[:2] / digest[2:]
    path.write_bytes(path.read_bytes().replace(b"entry", b"Entry"))
    with pytest.raises(DamagedObject, match=digest):
        await Transcript(store).read(head)


async def test_an_object_that_is_no_entry_is_told() -> None:
    store = MemoryStore()
    digest = await store.put(b'{"n":0}')
    with pytest.raises(ChainError, match=f"object {digest} is no entry"):
        await Transcript(store).read(digest)


async def test_an_entry_that_does_not_continue_the_one_before_is_told() -> None:
    store = MemoryStore()
    first = await _chain(store, _bodies(1))
    wrong = Entry(n=2, parent=first, page="", at=AT, body=_bodies(1)[0])
    with pytest.raises(ChainError, match="says it is number 0"):
        await Transcript(store).read(await store.put(wrong.encoded()))


async def test_a_page_that_lists_other_places_is_told() -> None:
    store = MemoryStore()
    head = await _chain(store, _bodies(16))
    page = await store.put(Page(first=1, before="", digests=tuple(await Transcript(store).digests(head))).encoded())
    wrong = Entry(n=16, parent=head, page=page, at=AT, body=_bodies(1)[0])
    with pytest.raises(ChainError, match="does not list the entries before number 16"):
        await Transcript(store).read(await store.put(wrong.encoded()))


async def test_a_page_that_lists_another_chain_s_entries_is_told() -> None:
    store = MemoryStore()
    head, other = await _chain(store, _bodies(16)), await _chain(store, _bodies(16, 100))
    page = await store.put(Page(first=0, before="", digests=tuple(await Transcript(store).digests(other))).encoded())
    wrong = Entry(n=16, parent=head, page=page, at=AT, body=_bodies(1)[0])
    with pytest.raises(ChainError, match="says it is number 16 after"):
        await Transcript(store).read(await store.put(wrong.encoded()))


async def test_nothing_that_may_be_left_out_changes_a_name() -> None:
    body = MessageBody(role=Role.USER, blocks=(Text(text="hä"),), model="", stop=None, hidden=False)
    data = Entry(n=0, parent="", page="", at=AT, body=body).encoded()
    assert (
        data
        == (
            '{"at":"2026-01-01T00:00:00.000Z","body":{"blocks":[{"kind":"text","text":"hä"}],"kind":"message",'
            '"role":"user"},"n":0,"page":"","parent":""}'
        ).encode()
    )
    assert Entry.model_validate_json(data).encoded() == data


async def test_the_examples_of_the_format_page_are_what_is_written() -> None:
    text = FORMAT.read_text(encoding="utf-8")
    examples = re.findall(r"^    ([0-9a-f]{64})\n    (\{.*\})$", text, re.MULTILINE)
    assert len(examples) >= 4
    for digest, shown in examples:
        data = shown.encode()
        assert digest_of(data) == digest
        read = Page.model_validate_json(data) if '"digests"' in shown else Entry.model_validate_json(data)
        assert read.encoded() == data


@pytest.mark.journey
async def test_a_cold_read_of_5000_entries_from_a_slow_store_takes_no_more_than_two_seconds() -> None:
    store = LatencyStore(MemoryStore(), 0)
    head = await _chain(store, [NoticeBody(what="test", text=f"{n} " + "x" * 1000) for n in range(5000)])
    store.seconds = 0.02
    # The machine may be busy: the best of three counts.
    seconds = []
    for _ in range(3):
        started = time.perf_counter()
        assert len(await Transcript(store).read(head)) == 5000
        seconds.append(time.perf_counter() - started)
        if seconds[-1] <= 2:
            break
    assert min(seconds) <= 2


async def test_what_is_made_before_it_is_written_is_what_a_reader_finds_then() -> None:
    store = MemoryStore()
    transcript = Transcript(store)
    head = await transcript.append("", AT, _bodies(20))
    before = dict(store.objects)
    growth = await transcript.grown(head, AT, _bodies(200, first=20))
    behind = await transcript.grown(growth.head, AT, _bodies(1, first=220))
    assert store.objects == before
    await transcript.write(behind)
    await transcript.write(growth)
    links = await Transcript(store).read(behind.head)
    assert links[20:] == [*growth.links(), *behind.links()]
    assert [link.entry.body for link in links] == _bodies(221)
