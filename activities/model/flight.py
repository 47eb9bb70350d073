"""Single flight: one model call a session and exchange, told in a locked file for other workers of the host."""

import asyncio
import fcntl
import json
import os
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from contextvars import Context, copy_context
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Self

from pydantic import JsonValue, ValidationError

from activities.stores.files import explain_os_error, make_folder
from activities.world import Beat
from workflows.contracts.contract import Contract
from workflows.contracts.model import CallRef, ModelReply, ModelRequest, StopReason, Usage
from workflows.contracts.transcript import canonical, digest_of

FIRST_LOOK = 0.02
LONGEST_LOOK = 0.25
"""Seconds between two looks whether the lock is free."""


class Whole(Contract):
    """A reply that counts: with this its entry can be written again, byte for byte."""

    blocks: tuple[str, ...]
    """Digests, in order."""
    stop: StopReason
    usage: Usage
    is_counted: bool
    """The provider told its usage."""
    calls: tuple[CallRef, ...]
    unknown: int
    attempt: int
    started: str
    ended: str


@dataclass(frozen=True)
class Past:
    """What earlier attempts of this exchange left."""

    is_told: bool = False
    """Something of this exchange was shown to watchers on this host."""
    billed: int = 0
    """Attempts that the provider began to answer and whose usage no reply has told."""
    kept: tuple[str, ...] = ()
    """Digests of complete blocks of the last attempt."""
    usage: Usage = field(default_factory=Usage)
    """What that attempt's first event told."""
    started: str = ""
    whole: Whole | None = None
    blocks: Mapping[str, bytes] = field(default_factory=dict)
    """Complete blocks that this host's file holds, by digest; others are in the store."""
    overloads: int = 0
    """Attempts at this very request for which the model was too busy, as far as this host knows."""

    @property
    def lost(self) -> int:
        """Attempts that were billed for nothing when not even the whole reply can be had any more."""
        return self.billed + (self.whole.unknown + self.whole.is_counted if self.whole else 0)

    @classmethod
    def of_details(cls, details: tuple[str, ...]) -> Self:
        """The same as far as the last heartbeat of an attempt on another host tells it."""
        if not details or not details[0].isdigit():
            return cls()
        return cls(billed=int(details[0]), kept=details[1:])


class Flight:
    """A model call under way in this worker, and the attempts that wait for it."""

    def __init__(self, name: str, run: "Callable[[Flight], Coroutine[None, None, ModelReply]]") -> None:
        self.name = name
        self.is_unwanted = False
        """The workflow asked for its end."""
        self.is_landing = False
        """The reply is there and only has to be written: too late to end it."""
        self._beats: list[tuple[Beat, Context]] = []
        self._told: tuple[str, ...] = ()
        self.task = asyncio.create_task(run(self))
        # An attempt that was superseded never asks how its flight ended.
        self.task.add_done_callback(lambda task: task.cancelled() or task.exception())

    def join(self, beat: Beat) -> None:
        """Another attempt waits for it; it learns what was told so far."""
        # A beat belongs to the attempt in whose context it is told, not to the flight's.
        self._beats.append((beat, copy_context()))
        if self._told:
            beat.say(*self._told)

    def leave(self, beat: Beat) -> None:
        """The attempt waits no longer; the flight goes on."""
        self._beats = [joined for joined in self._beats if joined[0] is not beat]

    def say(self, billed: int, kept: Sequence[str]) -> None:
        """Tell the engine how far the reply is, through every attempt that waits."""
        self._told = (str(billed), *kept)
        for beat, context in self._beats:
            context.run(beat.say, *self._told)

    def end(self) -> None:
        """The workflow wants no reply any more: what is there is kept."""
        self.is_unwanted = True
        if not self.is_landing:
            self.task.cancel()


def flight_name(request: ModelRequest) -> str:
    """Names what is asked: a retry with another cap, model or hidden message is another flight."""
    asked = request.model_dump(mode="json", exclude={"at"})
    return digest_of(canonical(asked))[:16]


def flight_path(folder: Path, session: str, exchange: int) -> Path:
    """The file of one exchange under the host's journal."""
    return folder / session / f"model-{exchange}.ndjson"


class FlightFile:
    """Lines about one exchange's flights, appended by whoever holds the lock.

    They survive the process, perhaps not a power cut: a lost line costs another request, never a wrong reply.
    """

    def __init__(self, descriptor: int, path: Path, name: str) -> None:
        self.descriptor = descriptor
        self.path = path
        self.name = name
        self._held = set[str]()

    def asked(self) -> None:
        """The request is about to be sent."""
        self._note(asked=True)

    def overloaded(self) -> None:
        """The model was too busy to answer."""
        self._note(overloaded=True)

    def started(self, usage: Usage, at: str) -> None:
        """The provider has begun to answer: from here on it bills."""
        self._note(started=usage.model_dump(mode="json"), at=at)

    def kept(self, digest: str, data: bytes) -> None:
        """A block is complete."""
        self._hold(digest, data)
        self._note(kept=digest)

    def whole(self, whole: Whole, blocks: Sequence[bytes]) -> None:
        """The reply is complete, or will not become more complete."""
        for digest, data in zip(whole.blocks, blocks, strict=True):
            self._hold(digest, data)
        self._note(whole=whole.model_dump(mode="json"))

    def past(self) -> Past:
        """What the lines tell about this flight; lines of others only count as told and billed."""
        is_told, billed, overloads, kept, usage, started = False, 0, 0, list[str](), Usage(), ""
        whole: Whole | None = None
        blocks: dict[str, bytes] = {}
        for line in self._lines():
            is_ours = line.get("flight") == self.name
            if "block" in line:
                data = str(line["block"]).encode("utf-8", "replace")
                blocks[digest_of(data)] = data
            elif "asked" in line:
                is_told, kept, usage, started = True, [], Usage(), ""
            elif "overloaded" in line:
                overloads += is_ours
            elif "started" in line:
                billed += 1
                usage, started = Usage.model_validate(line["started"]), str(line.get("at", ""))
            elif "kept" in line and is_ours:
                kept.append(str(line["kept"]))
            elif "whole" in line:
                billed = 0
                whole = Whole.model_validate(line["whole"]) if is_ours else None
        self._held.update(blocks)
        return Past(is_told, billed, tuple(kept), usage, started, whole, blocks, overloads=overloads)

    def _hold(self, digest: str, data: bytes) -> None:
        # With its bytes: the worker may die before they are in the store, and this file outlives it.
        if digest not in self._held:
            self._held.add(digest)
            self._note(block=data.decode("utf-8"))

    def _note(self, **what: JsonValue) -> None:
        # The newline in front parts it from a line that a killed writer left torn.
        data = f"\n{json.dumps({'flight': self.name, **what}, separators=(',', ':'))}\n".encode("ascii")
        try:
            os.write(self.descriptor, data)
        except OSError as error:
            raise explain_os_error(error, self.path) from error

    def _lines(self) -> Iterator[dict[str, Any]]:  # Any: the fields of one line
        size = os.fstat(self.descriptor).st_size
        for piece in os.pread(self.descriptor, size, 0).split(b"\n"):
            # A writer that was killed may have left a torn line.
            with suppress(ValueError, ValidationError):
                line = json.loads(piece)
                if isinstance(line, dict):
                    yield line


@asynccontextmanager
async def locked(path: Path, name: str) -> AsyncIterator[FlightFile]:
    """The exchange's file, once no other worker of this host holds it; waits as long as that one lives."""
    descriptor = await _locked(path)
    try:
        yield FlightFile(descriptor, path, name)
    finally:
        os.close(descriptor)


def forget(path: Path) -> None:
    """Remove the file of an exchange whose reply history has."""
    with suppress(OSError):
        path.unlink()


async def _locked(path: Path) -> int:
    make_folder(path.parent)
    pause = FIRST_LOOK
    while True:
        descriptor = _opened(path)
        try:
            if _has_lock(descriptor) and _is_still_there(descriptor, path):
                return descriptor
        except BaseException:
            os.close(descriptor)
            raise
        os.close(descriptor)
        await asyncio.sleep(pause)
        pause = min(LONGEST_LOOK, pause * 2)


def _opened(path: Path) -> int:
    try:
        return os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)
    except OSError as error:
        raise explain_os_error(error, path) from error


def _has_lock(descriptor: int) -> bool:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:
        # A file system without locks: one worker a host is then the person's own care.
        return True
    return True


def _is_still_there(descriptor: int, path: Path) -> bool:
    held = os.fstat(descriptor)
    with suppress(FileNotFoundError):
        named = path.stat()
        return (held.st_dev, held.st_ino) == (named.st_dev, named.st_ino)
    return False
