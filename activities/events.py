"""The event feed: publish events to watchers, and follow them live or late."""

import asyncio
import fcntl
import heapq
import json
import os
import threading
import time
from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from activities.stores.files import (
    append_whole,
    explain_os_error,
    last_line_start,
    make_folder,
    repair_tail,
    sync_data,
    sync_folder,
    why_damaged,
    write_whole,
)
from activities.stores.tail import ChangeWatch, Tail

Event = dict[str, Any]  # Any: the kinds are workflows/contracts/events.py; the feed carries also those it does not know
SUFFIX = ".ndjson"
LOCK_SECONDS = 0.5
"""How long a writer waits for another one that may have been stopped in the middle."""


def feed_path(root: Path, session: str, host: str) -> Path:
    """The feed of one session as one host wrote it."""
    if not session or not host or set("./") & set(session + host):
        raise ValueError(f"neither session nor host of a feed may be empty or hold '.' or '/': {session!r}, {host!r}")
    return root / f"{session}.{host}{SUFFIX}"


def feed_paths(root: Path, session: str) -> list[Path]:
    """The feeds of one session from every host, by name."""
    try:
        return sorted(path for path in root.iterdir() if _is_feed_of(path.name, session))
    except FileNotFoundError:
        return []


def _is_feed_of(name: str, session: str) -> bool:
    return name.startswith(session + ".") and name.endswith(SUFFIX) and name.count(".") == 2


class EventLog:
    """One session's feed on this host; any number of processes may append to it."""

    def __init__(self, root: Path, session: str, host: str) -> None:
        self.root = root
        self.session = session
        self.host = host
        self.path = feed_path(root, session, host)
        self._guard = threading.Lock()
        self._descriptor: int | None = None
        self._size = -1
        self._seq = 0
        self._patience = LOCK_SECONDS

    def publish(self, events: Sequence[Mapping[str, Any]]) -> int:  # Any: see Event
        """Append events as whole lines, giving each `seq`, and `at` where it is missing; the last `seq` there is.

        Raises UserError when the disk takes no more; then none of them was appended.
        """
        with self._guard:
            try:
                return self._append(events)
            except OSError as error:
                raise explain_os_error(error, self.path) from error

    def sync(self) -> None:
        """Make what was published last through a power cut."""
        with self._guard:
            try:
                sync_data(self._open())
            except OSError as error:
                raise explain_os_error(error, self.path) from error

    def close(self) -> None:
        """Give the file back; publishing again opens it."""
        with self._guard:
            if self._descriptor is not None:
                os.close(self._descriptor)
                self._descriptor = None

    async def follow(self, from_seq: int = 0, stop: asyncio.Event | None = None) -> AsyncIterator[Event]:
        """Every event from that `seq` on as this host wrote them, then each as it comes, until `stop` is set."""
        async for event in _follow(self.root, lambda: [self.path], {self.host: from_seq}, 0, stop):
            yield event

    def _append(self, events: Sequence[Mapping[str, Any]]) -> int:  # Any: see Event
        descriptor = self._open()
        with self._locked(descriptor) as locked:
            size = os.fstat(descriptor).st_size
            if size != self._size:
                size = repair_tail(descriptor, self.path) if locked else size
                self._seq = max(self._seq, _last_seq(descriptor, size))
                self._size = size
            data = _as_lines(events, self._seq + 1)
            if locked:
                append_whole(descriptor, data, size)
            else:
                write_whole(descriptor, data)
            self._seq += len(events)
            self._size = size + len(data) if locked else -1
        return self._seq

    def _open(self) -> int:
        if self._descriptor is not None and os.fstat(self._descriptor).st_nlink > 0:
            return self._descriptor
        if self._descriptor is not None:
            os.close(self._descriptor)
            self._descriptor = None
        make_folder(self.root)
        is_new = not self.path.exists()
        flags = os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC
        self._descriptor = os.open(self.path, flags, 0o600)
        self._size = -1
        if is_new:
            sync_folder(self.root)
        return self._descriptor

    @contextmanager
    def _locked(self, descriptor: int) -> Iterator[bool]:
        """The file's lock; False where its holder stands still, for a feed must not stop a session."""
        locked = _lock_within(descriptor, self._patience)
        self._patience = LOCK_SECONDS if locked else 0
        try:
            yield locked
        finally:
            if locked:
                fcntl.flock(descriptor, fcntl.LOCK_UN)


def _lock_within(descriptor: int, seconds: float) -> bool:
    deadline = time.monotonic() + seconds
    while True:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if time.monotonic() >= deadline:
                return False
            time.sleep(0.0005)
        else:
            return True


def _as_lines(events: Iterable[Mapping[str, Any]], seq: int) -> bytes:  # Any: see Event
    # ASCII only: half a surrogate pair from a model stays valid, and no line separator hides in a line.
    now = datetime.now(UTC).isoformat(timespec="microseconds").replace("+00:00", "Z")
    lines = (
        json.dumps({**event, "seq": number, "at": event.get("at") or now}, separators=(",", ":"))
        for number, event in enumerate(events, seq)
    )
    return "".join(line + "\n" for line in lines).encode("ascii")


def _last_seq(descriptor: int, size: int) -> int:
    """The `seq` of the last line that tells one; 0 if none does."""
    while size > 0:
        start = last_line_start(descriptor, size - 1)
        line = os.pread(descriptor, size - start, start)
        if why_damaged(line) is None and isinstance(seq := json.loads(line).get("seq"), int):
            return seq
        size = start
    return 0


class _Feed:
    """One host's feed, read as events."""

    def __init__(self, path: Path, from_seq: int) -> None:
        self.tail = Tail(path)
        self.host = path.name.removesuffix(SUFFIX).split(".")[1]
        self.from_seq = from_seq
        self._seq = 0
        self._line = 0
        self._raw = b""

    def refresh(self) -> list[Event]:
        """Look whether another file stands there now; the damage to be told if so."""
        read_before = self._line > 0
        if not self.tail.refresh():
            return []
        self._line, self._raw = 0, b""
        return [self._damaged("was cut or replaced, and is read again from its beginning")] if read_before else []

    def read(self) -> list[Event] | None:
        """The events asked for among the next lines; None if there are no lines yet."""
        lines = self.tail.read()
        return self._events(lines) if lines else None

    def rest(self) -> list[Event]:
        """What a dead writer left at the end."""
        torn = self.tail.torn()
        if not torn:
            return []
        whole, _, piece = torn.rpartition(b"\n")
        events = self._events(whole.split(b"\n")) if whole else []
        if piece:
            events += self._events([piece])
        return events

    def _events(self, lines: Iterable[bytes]) -> list[Event]:
        found: list[Event] = []
        for raw in lines:
            self._line += 1
            # The same record twice in a row is a writer's repetition, not news.
            if raw and raw == self._raw:
                continue
            self._raw = raw
            event = self._event(raw)
            if event["seq"] >= self.from_seq:
                found.append(event)
        return found

    def _event(self, raw: bytes) -> Event:
        why = why_damaged(raw)
        if why is not None:
            return self._damaged(f"line {self._line}: {why}")
        event: Event = json.loads(raw)
        if not isinstance(event.get("seq"), int):
            event["seq"] = self._seq
        self._seq = event["seq"]
        event["host"] = self.host
        return event

    def _damaged(self, why: str) -> Event:
        return {
            "kind": "damaged",
            "seq": self._seq,
            "at": "",
            "host": self.host,
            "text": f"{self.tail.path.name} {why}",
        }


def read_events(root: Path, session: str, from_seq: int = 0) -> Iterator[Event]:
    """The events of a session that are there now, of every host, merged by time; each with its `host`."""
    return _merged([_all_of(_Feed(path, from_seq)) for path in feed_paths(root, session)])


def _all_of(feed: _Feed) -> Iterator[Event]:
    feed.refresh()
    try:
        while (events := feed.read()) is not None:
            yield from events
        yield from feed.rest()
    finally:
        feed.tail.close()


def _merged(sources: Sequence[Iterable[Event]]) -> Iterator[Event]:
    """Several feeds as one: each in its own order, between them by `at`."""
    if len(sources) == 1:
        return iter(sources[0])
    timed = (_timed(source, place) for place, source in enumerate(sources))
    return (event for _, _, event in heapq.merge(*timed, key=lambda each: each[:2]))


def _timed(events: Iterable[Event], place: int) -> Iterator[tuple[str, int, Event]]:
    latest = ""
    for event in events:
        latest = max(latest, str(event.get("at", "")))
        yield latest, place, event


async def follow_all(
    root: Path, session: str, from_seq: int | Mapping[str, int] = 0, stop: asyncio.Event | None = None
) -> AsyncIterator[Event]:
    """Every event of a session from every host whose feed is here or appears, until `stop` is set.

    `from_seq` is one number or one a host. What is there already comes merged by time, about 1 MB a feed at once.
    """
    starts, default = ({}, from_seq) if isinstance(from_seq, int) else (from_seq, 0)
    async for event in _follow(root, lambda: feed_paths(root, session), starts, default, stop):
        yield event


async def _follow(
    root: Path, paths: Callable[[], list[Path]], starts: Mapping[str, int], default: int, stop: asyncio.Event | None
) -> AsyncIterator[Event]:
    feeds: dict[Path, _Feed] = {}
    async with ChangeWatch(root, stop) as watch:
        try:
            while True:
                # Asked before reading, so that what was written before `stop` is told.
                is_stopped = stop is not None and stop.is_set()
                if watch.begin():
                    _find_new(feeds, paths(), starts, default)
                batches = [_batch(feed, watch) for feed in feeds.values()]
                for event in _merged([batch for batch in batches if batch]):
                    yield event
                if any(batch is not None for batch in batches):
                    await asyncio.sleep(0)
                elif is_stopped:
                    return
                else:
                    await watch.wait()
        finally:
            for feed in feeds.values():
                feed.tail.close()


def _find_new(feeds: dict[Path, _Feed], paths: list[Path], starts: Mapping[str, int], default: int) -> None:
    for path in paths:
        if path not in feeds:
            feeds[path] = feed = _Feed(path, default)
            feed.from_seq = starts.get(feed.host, default)


def _batch(feed: _Feed, watch: ChangeWatch) -> list[Event] | None:
    told = feed.refresh()
    if feed.tail.position == 0:
        # Before the first read: whatever is appended from now on wakes.
        watch.watch(feed.tail.path)
    events = feed.read()
    return told + events if events is not None else told or None
