"""Tests of activities/events.py."""

import asyncio
import fcntl
import json
import random
import subprocess
import sys
import time
from collections.abc import AsyncIterator
from contextlib import aclosing
from pathlib import Path
from typing import Any

import pytest

from activities.events import EventLog, feed_path, follow_all, read_events
from workflows.contracts.errors import UserError

WRITER = """
import sys
from pathlib import Path
from activities.events import EventLog
log = EventLog(Path(sys.argv[1]), "s", "h")
number = 0
print("ready", flush=True)
while number != int(sys.argv[3]):
    log.publish([{"kind": "text", "by": sys.argv[2], "n": number, "text": "x" * 3000}] * 2)
    number += 1
"""
LIMITED = """
import resource, sys
from pathlib import Path
from activities.events import EventLog
from workflows.contracts.errors import UserError
resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))
log = EventLog(Path(sys.argv[1]), "s", "h")
log.publish([{"kind": "first"}])
try:
    log.publish([{"kind": "large", "text": "x" * 2000}])
except UserError as error:
    print(error.reason)
print(log.publish([{"kind": "second"}]))
"""


def writer(root: Path, name: str, count: int) -> subprocess.Popen[str]:
    command = [sys.executable, "-c", WRITER, str(root), name, str(count)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True)


async def take(events: AsyncIterator[dict[str, Any]], count: int) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = []
    async with asyncio.timeout(20):
        async with aclosing(events) as source:  # type: ignore[type-var]  # every iterator here is a generator
            async for event in source:
                found.append(event)
                if len(found) == count:
                    break
    return found


def test_events_get_seq_and_time_and_come_back_as_they_were(tmp_path: Path) -> None:
    log = EventLog(tmp_path / "events", "s", "h")
    text = 'half a pair \ud83d, a separator \u2028, "quotes"\n'
    assert log.publish([{"kind": "text", "text": text, "seq": 0, "at": ""}, {"kind": "b", "at": "then"}]) == 2
    log.sync()
    first, second = read_events(tmp_path / "events", "s")
    assert (first["seq"], first["text"], first["host"]) == (1, text, "h")
    assert first["at"].endswith("Z")
    assert (second["seq"], second["at"]) == (2, "then")
    assert log.path.stat().st_mode & 0o777 == 0o600


def test_a_second_log_of_the_same_feed_counts_on(tmp_path: Path) -> None:
    logs = [EventLog(tmp_path, "s", "h") for _ in range(2)]
    assert [log.publish([{"kind": "a"}]) for log in logs * 3] == [1, 2, 3, 4, 5, 6]
    assert logs[0].publish([]) == 6


def test_a_torn_last_line_is_set_aside_and_its_number_given_anew(tmp_path: Path) -> None:
    EventLog(tmp_path, "s", "h").publish([{"kind": "a"}, {"kind": "b"}])
    path = feed_path(tmp_path, "s", "h")
    path.write_bytes(path.read_bytes()[:-7])
    assert [event["kind"] for event in read_events(tmp_path, "s")] == ["a", "damaged"]
    assert EventLog(tmp_path, "s", "h").publish([{"kind": "c"}]) == 2
    assert [event["kind"] for event in read_events(tmp_path, "s")] == ["a", "c"]
    assert path.with_name(path.name + ".damaged").read_bytes().startswith(b'{"kind":"b"')


def test_a_damaged_line_in_the_middle_is_told_and_the_rest_is_read(tmp_path: Path) -> None:
    path = feed_path(tmp_path, "s", "h")
    whole = [b'{"kind":"a","seq":1}', b'{"kind":"a","seq":1}', b'{"kind":"old"}', b'{"kind":"b","seq":2}']
    path.write_bytes(whole[0] + b"\n" + whole[1] + b"\n\n\0\0\n" + whole[2] + b"\n" + whole[3] + b"\n\0\0\0\n")
    events = list(read_events(tmp_path, "s"))
    assert [event["kind"] for event in events] == ["a", "damaged", "damaged", "old", "b", "damaged"]
    assert [event["text"] for event in events if event["kind"] == "damaged"] == [
        "s.h.ndjson line 3: blank line",
        "s.h.ndjson line 4: 2 NUL bytes",
        "s.h.ndjson line 7: 3 NUL bytes",
    ]
    assert EventLog(tmp_path, "s", "h").publish([{"kind": "c"}]) == 3


@pytest.mark.parametrize("name", ["", "a.b", "../a", "a/b"])
def test_a_name_that_leads_elsewhere_is_refused(tmp_path: Path, name: str) -> None:
    with pytest.raises(ValueError, match="may be empty or hold"):
        EventLog(tmp_path, name, "h")


def test_two_processes_number_their_events_as_one(tmp_path: Path) -> None:
    writers = [writer(tmp_path, name, 150) for name in ("a", "b")]
    for each in writers:
        each.communicate(timeout=60)
    events = list(read_events(tmp_path, "s"))
    assert [event["seq"] for event in events] == list(range(1, 601))
    for name in ("a", "b"):
        assert [event["n"] for event in events if event["by"] == name] == [n for n in range(150) for _ in range(2)]


@pytest.mark.journey
def test_a_writer_killed_twenty_times_leaves_whole_lines_with_rising_seq(tmp_path: Path) -> None:
    for _ in range(20):
        process = writer(tmp_path, "k", -1)
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        time.sleep(random.uniform(0, 0.02))
        process.kill()
        process.communicate(timeout=20)
    last = EventLog(tmp_path, "s", "h").publish([{"kind": "end"}])
    lines = feed_path(tmp_path, "s", "h").read_bytes().splitlines()
    assert [json.loads(line)["seq"] for line in lines] == list(range(1, last + 1))


def test_a_disk_that_takes_no_more_is_told_and_the_next_event_counts_on(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", LIMITED, str(tmp_path)], capture_output=True, text=True, timeout=30, check=True
    )
    assert done.stdout.split() == ["disk_full", "2"]
    assert [event["kind"] for event in read_events(tmp_path, "s")] == ["first", "second"]


def test_a_file_where_the_folder_belongs_is_told(tmp_path: Path) -> None:
    (tmp_path / "events").touch()
    with pytest.raises(UserError, match="a file is where a folder belongs"):
        EventLog(tmp_path / "events", "s", "h").publish([{"kind": "a"}])


@pytest.mark.journey
def test_a_writer_that_stands_still_with_the_lock_stops_nobody(tmp_path: Path) -> None:
    log = EventLog(tmp_path, "s", "h")
    log.publish([{"kind": "a"}])
    with log.path.open("rb") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        assert [log.publish([{"kind": "b"}]) for _ in range(50)] == list(range(2, 52))
    assert log.publish([{"kind": "c"}]) == 52
    assert [event["seq"] for event in read_events(tmp_path, "s")] == list(range(1, 53))


def test_a_feed_removed_under_its_writer_begins_again_and_counts_on(tmp_path: Path) -> None:
    log = EventLog(tmp_path, "s", "h")
    log.publish([{"kind": "a"}])
    log.path.unlink()
    assert log.publish([{"kind": "b"}]) == 2
    assert [event["kind"] for event in read_events(tmp_path, "s")] == ["b"]


def test_one_event_costs_far_less_than_a_token_takes(tmp_path: Path) -> None:
    log = EventLog(tmp_path, "s", "h")
    log.publish([{"kind": "a"}])
    start = time.perf_counter()
    for _ in range(500):
        log.publish([{"kind": "text", "text": "token", "block": 1}])
    # Meant is below 0.3 ms each; the bound leaves room for a busy machine.
    assert (time.perf_counter() - start) / 500 < 0.003
    log.close()
    assert log.publish([{"kind": "b"}]) == 502


async def test_a_late_watcher_gets_all_from_its_seq_and_then_what_comes(tmp_path: Path) -> None:
    log = EventLog(tmp_path, "s", "h")
    log.publish([{"kind": "text", "n": number} for number in range(10)])
    following = asyncio.create_task(take(log.follow(from_seq=8), 5))
    await asyncio.sleep(0.05)
    log.publish([{"kind": "text"}])
    await asyncio.sleep(0.05)
    log.publish([{"kind": "text"}])
    assert [event["seq"] for event in await following] == [8, 9, 10, 11, 12]


@pytest.mark.parametrize("kernel_tells", [True, False])
async def test_a_watcher_may_come_before_folder_and_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kernel_tells: bool
) -> None:
    if not kernel_tells:
        # As on a machine where the library cannot be had.
        monkeypatch.setitem(sys.modules, "inotify_simple", None)
    following = asyncio.create_task(take(EventLog(tmp_path / "events", "s", "h").follow(), 2))
    await asyncio.sleep(0.05)
    (tmp_path / "events").mkdir()
    await asyncio.sleep(0.05)
    EventLog(tmp_path / "events", "s", "h").publish([{"kind": "a"}, {"kind": "b"}])
    assert [event["kind"] for event in await following] == ["a", "b"]


async def test_a_watcher_waits_until_a_line_is_whole(tmp_path: Path) -> None:
    path = feed_path(tmp_path, "s", "h")
    path.write_bytes(b'{"kind":"a","seq":1}\n{"kind":"b",')
    following = asyncio.create_task(take(follow_all(tmp_path, "s"), 2))
    await asyncio.sleep(0.1)
    with path.open("ab") as file:
        file.write(b'"seq":2}\n')
    assert [event["kind"] for event in await following] == ["a", "b"]


async def test_a_watcher_goes_on_after_a_torn_line_was_set_aside(tmp_path: Path) -> None:
    path = feed_path(tmp_path, "s", "h")
    path.write_bytes(b'{"kind":"a","seq":1}\n{"kind":"b","text":"a long one that dies')
    following = asyncio.create_task(take(follow_all(tmp_path, "s"), 2))
    await asyncio.sleep(0.1)
    EventLog(tmp_path, "s", "h").publish([{"kind": "c"}])
    assert [(event["kind"], event["seq"]) for event in await following] == [("a", 1), ("c", 2)]


async def test_a_watcher_is_told_when_the_feed_was_replaced(tmp_path: Path) -> None:
    path = feed_path(tmp_path, "s", "h")
    path.write_bytes(b'{"kind":"a","seq":1}\n')
    following = asyncio.create_task(take(follow_all(tmp_path, "s"), 3))
    await asyncio.sleep(0.1)
    (tmp_path / "new").write_bytes(b'{"kind":"b","seq":1}\n')
    (tmp_path / "new").replace(path)
    assert [event["kind"] for event in await following] == ["a", "damaged", "b"]


async def test_a_stopped_watcher_has_told_all_that_was_written_before(tmp_path: Path) -> None:
    log = EventLog(tmp_path, "s", "h")
    stop = asyncio.Event()
    following = asyncio.create_task(_until_end(log.follow(stop=stop)))
    await asyncio.sleep(0.05)
    for _ in range(3000):
        log.publish([{"kind": "text", "text": "x" * 1000}])
    stop.set()
    assert [event["seq"] for event in await following] == list(range(1, 3001))


async def _until_end(events: AsyncIterator[dict[str, Any]]) -> list[dict[str, Any]]:
    async with asyncio.timeout(20):
        return [event async for event in events]


async def test_feeds_of_several_hosts_come_as_one_also_those_that_appear_later(tmp_path: Path) -> None:
    first, second = EventLog(tmp_path, "s", "h1"), EventLog(tmp_path, "s", "h2")
    EventLog(tmp_path, "s-other", "h1").publish([{"kind": "not ours"}])
    first.publish([{"kind": "1", "at": "01"}, {"kind": "3", "at": "03"}])
    second.publish([{"kind": "2", "at": "02"}, {"kind": "4", "at": "04"}])
    following = asyncio.create_task(take(follow_all(tmp_path, "s", {"h1": 2}), 4))
    await asyncio.sleep(0.1)
    EventLog(tmp_path, "s", "h3").publish([{"kind": "5"}])
    assert [event["kind"] for event in await following] == ["2", "3", "4", "5"]
    assert [event["kind"] for event in read_events(tmp_path, "s")] == ["1", "2", "3", "4", "5"]
    assert [event["host"] for event in read_events(tmp_path, "s", 2)] == ["h1", "h2"]


async def test_a_long_feed_is_read_from_its_middle(tmp_path: Path) -> None:
    log = EventLog(tmp_path, "s", "h")
    log.publish([{"kind": "text", "text": "x" * 1000} for _ in range(5000)])
    assert [event["seq"] for event in read_events(tmp_path, "s", 4999)] == [4999, 5000]
    assert [event["seq"] for event in await take(log.follow(4999), 2)] == [4999, 5000]
    log.publish([{"kind": "text", "text": "x" * 3_000_000}])
    assert [len(event["text"]) for event in await take(log.follow(5001), 1)] == [3_000_000]


def test_a_session_without_a_feed_has_no_events(tmp_path: Path) -> None:
    assert list(read_events(tmp_path / "none", "s")) == []
