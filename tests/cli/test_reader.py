"""Feeds and store as the command line reads them, from real files."""

import asyncio
import json
from pathlib import Path

import pytest

from activities.events import EventLog, feed_path
from activities.stores.home import Home
from activities.stores.index import index_path, note_head
from cli.display.stream import StreamJson
from cli.reader import Reader
from tests.fakes.feed import ended, opened, reply
from workflows.contracts.errors import MissingObject
from workflows.contracts.events import Event
from workflows.contracts.messages import Role, Text
from workflows.contracts.model import StopReason, Usage
from workflows.contracts.transcript import MessageBody, NoticeBody

AT = "2026-01-01T00:00:00Z"


@pytest.fixture
def reader(home: Path) -> Reader:
    made = Reader(Home(home))
    made.home.ensure()
    return made


def publish(reader: Reader, events: list[Event], host: str = "a") -> None:
    log = EventLog(reader.home.events, "s1", host)
    log.publish([event.model_dump(mode="json", exclude={"seq", "at"}) for event in events])
    log.close()


TURN: list[Event] = [*opened(), *reply(1, "hello"), ended(1)]


def test_the_events_of_a_session_come_as_they_were_told(reader: Reader) -> None:
    assert not reader.has_feed("s1")
    publish(reader, TURN)
    assert [event.kind for event in reader.events("s1")] == [event.kind for event in TURN]
    assert reader.has_feed("s1")


def test_a_damaged_line_and_a_missing_one_are_told_among_them(reader: Reader) -> None:
    publish(reader, TURN)
    path = feed_path(reader.home.events, "s1", "a")
    lines = path.read_bytes().split(b"\n")
    path.write_bytes(b"\n".join([lines[0], b"{broken", *lines[2:4], *lines[5:]]))
    told = [event for event in reader.events("s1") if event.kind == "damaged"]
    assert ["line 2" in told[0].text, "1 events before number 6" in told[1].text, len(told)] == [True, True, 2]


def test_a_kind_that_is_newer_than_this_program_is_said_once(reader: Reader) -> None:
    log = EventLog(reader.home.events, "s1", "a")
    log.publish([{"kind": "from_the_future"}, {"kind": "from_the_future"}, {"kind": "text", "block": 0}])
    log.close()
    assert [event.kind for event in reader.events("s1")] == ["notice", "damaged"]


async def test_following_sees_what_is_there_and_what_comes_from_every_host(reader: Reader) -> None:
    publish(reader, TURN[:3])
    stop = asyncio.Event()
    seen: list[Event] = []
    async with asyncio.timeout(20):
        async for event in reader.follow("s1", stop=stop):
            seen.append(event)
            if len(seen) == 3:
                publish(reader, TURN[3:5], host="b")
            if len(seen) == 5:
                publish(reader, TURN[5:])
            if event.kind == "turn_ended":
                stop.set()
    assert [event.kind for event in seen] == [event.kind for event in TURN]


async def chain(reader: Reader) -> str:
    prompt = MessageBody(role=Role.USER, blocks=(Text(text="hi"),), turn=1, exchange=1)
    answer = MessageBody(
        role=Role.ASSISTANT, blocks=(Text(text="hello"),), turn=1, exchange=1, model="m", stop=StopReason.END_TURN,
        usage=Usage(input=3),
    )  # fmt: skip
    return await reader._transcript.append("", AT, [NoticeBody(what="session_opened"), prompt, answer])


async def test_entries_and_texts_come_from_the_store(reader: Reader) -> None:
    head = await chain(reader)
    assert [entry.n for entry in await reader.entries(head)] == [0, 1, 2]
    assert [entry.n for entry in await reader.entries(head, known=2)] == [2]
    assert [link.digest for link in await reader.links(head)][-1] == head
    assert (await reader.entry(head)).n == 2
    assert await reader.text_of(await reader.store.put(b"a\xff")) == "a\ufffd"
    assert await reader.entries("") == []
    with pytest.raises(MissingObject):
        await reader.text_of("0" * 64)


async def test_a_session_without_a_feed_is_rebuilt_from_its_chain(reader: Reader) -> None:
    kinds = [event.kind async for event in reader.events_from_chain(await chain(reader))]
    assert kinds == [
        "notice", "notice", "turn_started", "exchange_started", "text", "block_ended", "exchange_ended",
    ]  # fmt: skip


def test_the_newest_head_is_the_last_good_line_of_the_index(reader: Reader) -> None:
    assert reader.last_head("s1") == ""
    note_head(reader.home, "s1", "aa", AT, "turn_ended")
    note_head(reader.home, "s1", "bb", AT, "closed")
    with index_path(reader.home, "s1").open("ab") as file:
        file.write(b'{"no": "head"}\n{"head": "cc')
    assert reader.last_head("s1") == "bb"


async def test_stream_json_tells_init_and_each_message_once_as_the_chain_holds_it(reader: Reader) -> None:
    head = await chain(reader)
    events = [event.model_copy(update={"head": head}) if hasattr(event, "head") else event for event in TURN]
    publish(reader, events)
    for is_partial in (False, True):
        stream = StreamJson("s1", reader.entries, partial=is_partial)
        lines = [
            json.loads(line)
            async for line in stream.lines(reader.follow("s1"), lambda event: event.kind == "turn_ended")
        ]
        kinds = [(line["type"], line.get("subtype")) for line in lines]
        partial = [("stream_event", None)] if is_partial else []
        assert kinds == [("system", "init"), *partial, ("user", None), ("assistant", None)]
        assert lines[-1]["message"]["content"] == [{"type": "text", "text": "hello"}]
        assert lines[-1]["message"]["usage"]["input_tokens"] == 3
        assert {line["session_id"] for line in lines} == {"s1"}
