"""The effect journal: intent, outcome, what a repeat may do."""

from __future__ import annotations

import asyncio
import fcntl
import hashlib
import json
import logging
import os
import re
import shutil
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager, suppress
from pathlib import Path

from activities.stores.files import make_folder, sync_folder, write_atomic

Record = dict[str, object]

TAG = "PERDURE_CALL"
"""The variable that marks every process of a call."""

INTENT, OUTCOME, PASS, PLAN, QUESTION = "intent", "outcome", "pass", "plan", "question"

SESSION = re.compile(r"[A-Za-z0-9_-][A-Za-z0-9._-]{0,199}")
KEY = re.compile(r"[0-9a-f]{64}")

log = logging.getLogger(__name__)


def effect_key(session: str, exchange: int, place: int | str, tool: str, input_json: str) -> str:
    """The name of a call: 64 hex digits. The model's own call id has no part in it, since models repeat theirs."""
    what = _digest_of_parts([tool, _one_spelling(input_json)])
    return _digest_of_parts([session, exchange, place, what])


def _one_spelling(text: str) -> str:
    """One spelling of a JSON text: sorted names, no blanks, ASCII; a text that is no JSON stays as it is."""
    try:
        return json.dumps(json.loads(text), sort_keys=True, separators=(",", ":"))
    except (ValueError, RecursionError):
        return text


def _digest_of_parts(parts: list[object]) -> str:
    """SHA-256 of a list's JSON, so that no two lists look alike when put together."""
    return hashlib.sha256(json.dumps(parts, separators=(",", ":")).encode("ascii")).hexdigest()


class Journal:
    """All calls of this host that may have had an effect: <root>/<session>/<key>/."""

    def __init__(self, root: Path) -> None:
        self.root = root

    def call(self, session: str, key: str) -> CallRecord:
        """The records of one call; nothing is made on disk until one is written. ValueError for an odd name."""
        if not SESSION.fullmatch(session) or not KEY.fullmatch(key):
            raise ValueError(f"no place in the journal for session {session!r}, key {key!r}")
        return CallRecord(self.root / session / key)

    def sessions(self) -> list[str]:
        """Sessions that have calls here, in order of their names."""
        return [name for name in sorted_names(self.root) if SESSION.fullmatch(name)]

    def calls(self, session: str) -> list[CallRecord]:
        """All calls of a session, in order of their keys."""
        if not SESSION.fullmatch(session):
            raise ValueError(f"no place in the journal for session {session!r}")
        folder = self.root / session
        return [CallRecord(folder / name) for name in sorted_names(folder) if KEY.fullmatch(name)]

    def forget(self, session: str) -> None:
        """Remove all of a session: only when nothing of it can be asked for any more. OSError for what stays."""
        if not SESSION.fullmatch(session):
            raise ValueError(f"no place in the journal for session {session!r}")
        shutil.rmtree(self.root / session)


class CallRecord:
    """One call's records. A damaged one is kept as `<name>.damaged-<n>`, reported, never read as if it were whole."""

    def __init__(self, path: Path) -> None:
        self.path = path

    @property
    def key(self) -> str:
        """The call's key."""
        return self.path.name

    @property
    def folder(self) -> Path:
        """Where the call's runner keeps its files."""
        return self.path / "command"

    def read_intent(self) -> Record | None:
        """What was about to be done; `{"damaged": name}` when that cannot be read, since it may have been done."""
        if (record := self._read(INTENT)) is not None:
            return record
        damaged = self._damaged(INTENT)
        return {"damaged": damaged[-1]} if damaged else None

    def write_intent(self, record: Mapping[str, object]) -> None:
        """Say what is about to be done; on disk, with its folder, when this returns."""
        self._write(INTENT, record)

    def read_outcome(self) -> Record | None:
        """What came of it; None when nobody knows yet, or the record is damaged."""
        return self._read(OUTCOME)

    def is_open(self) -> bool:
        """Whether it was begun and has no outcome; also when its records are damaged."""
        return self.read_intent() is not None and self.read_outcome() is None

    def write_outcome(self, record: Mapping[str, object]) -> None:
        """Say what came of it; on disk when this returns."""
        self._write(OUTCOME, record)

    def read_pass(self) -> Record | None:
        """What the first pass of a call that had to ask found."""
        return self._read(PASS)

    def write_pass(self, record: Mapping[str, object]) -> None:
        """Keep what the first pass found, for the second."""
        self._write(PASS, record)

    def read_question(self) -> Record | None:
        """What a person is asked about a call that has ended, and what it gave."""
        return self._read(QUESTION)

    def write_question(self, record: Mapping[str, object]) -> None:
        """Keep both; on disk when this returns: nothing of the call is done again for the answer."""
        self._write(QUESTION, record)

    def read_plan(self) -> Record | None:
        """How a file was, and how it was to become, when the call set about changing it."""
        return self._read(PLAN)

    def write_plan(self, record: Mapping[str, object]) -> None:
        """Say how the file is and how it will be; on disk when this returns, before the file is touched."""
        self._write(PLAN, record)

    def drop_output(self) -> None:
        """Remove what a command printed, once the store has it; what cannot be removed goes with the session."""
        for name in ("output", "tail"):
            with suppress(OSError):
                (self.folder / name).unlink()
        self.drop_environment()

    def drop_environment(self) -> None:
        """Remove the environment that a command was started with, but for the tag that finds its processes."""
        path = self.folder / "command.json"
        with suppress(OSError, ValueError, KeyError, AttributeError):
            asked = json.loads(path.read_bytes())
            tag = {name: value for name, value in asked["environment"].items() if name == TAG}
            if tag != asked["environment"]:
                write_atomic(path, json.dumps({**asked, "environment": tag}).encode("ascii"))

    def damages(self) -> list[str]:
        """Names of the damaged records that were put aside, oldest first."""
        return [name for record in (INTENT, OUTCOME, PASS, PLAN, QUESTION) for name in self._damaged(record)]

    @asynccontextmanager
    async def lock(self, poll: float = 0.02) -> AsyncIterator[None]:
        """Hold the call: one attempt of this host at a time. Waits, looking every `poll` seconds; ends with a death."""
        while True:
            with self.try_lock() as is_ours:
                if is_ours:
                    yield
                    return
            await asyncio.sleep(poll)

    @contextmanager
    def try_lock(self) -> Iterator[bool]:
        """Hold the call if nobody else does; gives whether it is held."""
        make_folder(self.path)
        descriptor = os.open(self.path / "lock", os.O_RDWR | os.O_CREAT, 0o600)
        try:
            yield _is_locked(descriptor)
        finally:
            os.close(descriptor)

    def _read(self, name: str) -> Record | None:
        path = self.path / name
        try:
            data = path.read_bytes()
        except FileNotFoundError:
            return None
        try:
            return unseal(data)
        except ValueError as error:
            return self._put_aside(path, error)

    def _write(self, name: str, record: Mapping[str, object]) -> None:
        make_folder(self.path)
        write_atomic(self.path / name, seal(record))

    def _damaged(self, name: str) -> list[str]:
        names = [each for each in sorted_names(self.path) if each.startswith(f"{name}.damaged-")]
        return sorted(names, key=lambda each: (len(each), each))

    def _put_aside(self, path: Path, error: ValueError) -> Record | None:
        """Rename a damaged record; gives the whole one that a writer put in its place meanwhile, if one did."""
        aside = free_name(path)
        try:
            path.rename(aside)
            record = unseal(aside.read_bytes())
        except FileNotFoundError:
            return None  # another reader was quicker
        except ValueError:
            sync_folder(path.parent)
            log.warning("journal record %s is damaged (%s); kept as %s", path, error, aside.name)
            return None
        with suppress(FileExistsError):
            os.link(aside, path)
        aside.unlink()
        return record


def _is_locked(descriptor: int) -> bool:
    """Lock an open file unless somebody has."""
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def free_name(path: Path) -> Path:
    """The first name for a damaged record that nothing has."""
    number = 1
    while (aside := path.with_name(f"{path.name}.damaged-{number}")).exists():
        number += 1
    return aside


def seal(record: Mapping[str, object]) -> bytes:
    """A record as one line: SHA-256 of its JSON, a blank, the JSON."""
    text = json.dumps(record, separators=(",", ":")).encode("ascii")
    return hashlib.sha256(text).hexdigest().encode("ascii") + b" " + text + b"\n"


def unseal(data: bytes) -> Record:
    """The record of a line; ValueError when it is not whole."""
    digest, _, text = data.removesuffix(b"\n").partition(b" ")
    if hashlib.sha256(text).hexdigest().encode("ascii") != digest:
        raise ValueError(f"{len(data)} bytes that do not fit their digest")
    record = json.loads(text)
    if not isinstance(record, dict):
        raise ValueError("no object")  # noqa: TRY004  # damage, not a caller's mistake
    return record


def sorted_names(folder: Path) -> list[str]:
    """Names in a folder; none when it is absent."""
    try:
        return sorted(os.listdir(folder))
    except (FileNotFoundError, NotADirectoryError):
        return []
