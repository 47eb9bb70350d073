"""Put files back as they were: checked all first, journalled, each written whole, finished after a crash."""

import fcntl
import json
import os
import secrets
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass
from pathlib import Path

from activities.stores.digests import digest_of
from activities.stores.files import append_line, make_folder, read_lines, sync_folder, write_atomic
from activities.stores.home import Home
from activities.stores.journal import seal, unseal
from activities.stores.objects import ObjectStore
from activities.stores.regular_files import (
    digest_of_file,
    find_shown,
    read_version,
    remove_leftover,
    replace_content,
    shown,
)
from activities.stores.vault import Vault, is_locked
from workflows.contracts.errors import StoreError, ToolError, UserError
from workflows.core.rewind import FileChange, FilePlan, FileStep


@dataclass(frozen=True)
class Version:
    """What a file shall hold: nothing when it shall not be there."""

    digest: str
    data: bytes


@dataclass(frozen=True)
class Restoration:
    """One file, as it is and as it will be."""

    path: Path
    now: Version
    then: Version
    folders: int = 0
    """How many of the folders right above it go with it, as far as they are empty."""


@dataclass(frozen=True)
class Rewound:
    """What is known of a rewind that was done."""

    id: str
    at: str
    by: str
    n: int
    """Newest entry of the chain when it was done."""
    to: int
    """Newest entry that stayed."""
    files: tuple[FileChange, ...]


class Changed(UserError):
    """Somebody else changed what was to be restored."""


async def prepared(home: Home, store: ObjectStore, plan: FilePlan) -> list[Restoration]:
    """All that is to be written. UserError that names every file in the way; nothing is changed."""
    found: list[Restoration] = []
    obstacles = list(plan.obstacles)
    for step in plan.steps:
        try:
            found.append(await _prepared(home, store, step))
        except (ToolError, UserError, StoreError) as error:
            obstacles.append(str(error).rstrip("."))
    if obstacles:
        raise Changed(f"Nothing was changed: {'; '.join(obstacles)}. Settle that, then rewind again.", reason="changed")
    return found


async def _prepared(home: Home, store: ObjectStore, step: FileStep) -> Restoration:
    path = find_shown(Path(step.path))
    if os.path.realpath(path) != str(path):
        raise UserError(f"{shown(path)} is reached by a symbolic link that was not there")
    now = read_version(path)
    if (now.digest if now else "") != step.now:
        how = "is gone" if now is None else "was changed by somebody else since" if step.now else "was made by somebody"
        raise UserError(f"{shown(path)} {how}")
    data = b""
    if step.then:
        kept = await store.get(step.then_object)
        data = Vault(home).unlock(kept) if is_locked(kept) else kept
        if digest_of(data) != step.then:
            raise UserError(f"the old version of {shown(path)} is not the one that the transcript names")
    folders = 0 if step.then else step.folders
    return Restoration(path, Version(step.now, now.data if now else b""), Version(step.then, data), folders)


@dataclass(frozen=True)
class _Row:
    """One file in the journal of a rewind."""

    path: str
    now: str
    now_object: str
    then: str
    then_object: str
    folders: int = 0


class Rewinder:
    """Restores files of one session; a rewind that died half-way is finished, or taken back, by the next one."""

    def __init__(self, home: Home, store: ObjectStore, session: str) -> None:
        self._home = home
        self._store = store
        self._session = session
        self._plan = home.sessions / f"{session}.rewinding"
        self._done = home.sessions / f"{session}.rewinds"

    def rewinds(self) -> list[Rewound]:
        """Those that were done, oldest first."""
        lines, _damage = read_lines(self._done)
        rows = [json.loads(line) for line in lines]
        return [Rewound(**{**row, "files": tuple(FileChange(**each) for each in row["files"])}) for row in rows]

    def changes(self) -> list[FileChange]:
        """What they changed, oldest first."""
        return [change for rewound in self.rewinds() for change in rewound.files]

    @contextmanager
    def alone(self) -> Iterator[None]:
        """Nobody else rewinds this session meanwhile. UserError when somebody does."""
        make_folder(self._home.sessions)
        descriptor = os.open(self._home.sessions / f"{self._session}.rewind-lock", os.O_RDWR | os.O_CREAT, 0o600)
        try:
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                why = f"Another rewind of session {self._session} runs now: wait for it."
                raise UserError(why, reason="busy") from None
            yield
        finally:
            os.close(descriptor)

    async def restore(self, files: Sequence[Restoration], *, at: str, by: str, n: int, to: int) -> list[Path]:
        """Do it; the folders that went with their last file.

        UserError when a file was changed at the last moment: what was done is taken back then.
        """
        rows = [await self._row(each) for each in files]
        facts = {"id": secrets.token_hex(8), "at": at, "by": by, "n": n, "to": to}
        write_atomic(self._plan, seal({**facts, "files": [asdict(row) for row in rows]}))
        contents = {each.then.digest: each.then.data for each in files} | {
            each.now.digest: each.now.data for each in files
        }
        return self._carry_out(facts, rows, contents.__getitem__)

    async def finish(self) -> str:
        """Finish what an earlier rewind began, else take it back; what became of it, empty when there was none."""
        try:
            plan = unseal(self._plan.read_bytes())
        except FileNotFoundError:
            return ""
        except ValueError as error:
            raise UserError(
                f"The journal of an interrupted rewind, {self._plan}, is damaged ({error}): look at the files of the "
                "session, then remove it.",
                reason="rewind",
            ) from error
        files = plan.pop("files")
        rows = [_Row(**each) for each in files] if isinstance(files, list) else []
        wanted = {row.then: row.then_object for row in rows} | {row.now: row.now_object for row in rows}
        vault = Vault(self._home)
        contents = {
            digest: vault.unlock(await self._store.get(name)) if name else b"" for digest, name in wanted.items()
        }
        try:
            self._carry_out(plan, rows, contents.__getitem__)
        except Changed as error:
            return f"An earlier rewind had been interrupted. It was taken back: {error}"
        return f"An earlier rewind had been interrupted. It is finished now: {len(rows)} files."

    async def _row(self, each: Restoration) -> _Row:
        vault = Vault(self._home)
        objects = [
            await self._store.put(vault.lock(version.data)) if version.digest else ""
            for version in (each.now, each.then)
        ]
        return _Row(str(each.path), each.now.digest, objects[0], each.then.digest, objects[1], each.folders)

    def _carry_out(
        self, facts: Mapping[str, object], rows: Sequence[_Row], content: Callable[[str], bytes]
    ) -> list[Path]:
        """Write each file that is not restored yet, all of them or none; the folders that went with them."""
        key = str(facts["id"])
        try:
            odd = [row.path for row in rows if _digest(row.path) not in {row.now, row.then}]
            if odd:
                raise Changed(f"{', '.join(odd)} was changed by somebody else.", reason="changed")
            for row in rows:
                _replace(row.path, row.now, row.then, content, key)
        except (UserError, ToolError, OSError) as error:
            left = _taken_back(rows, content, key)
            self._plan.unlink(missing_ok=True)
            raise Changed(f"{str(error).rstrip('.')}. {left}", reason="changed") from error
        gone = _without_empty(rows)
        if all(done.id != key for done in self.rewinds()):
            changes = [
                asdict(FileChange(_number(facts["n"]), row.path, row.now, row.then, row.now_object)) for row in rows
            ]
            append_line(self._done, json.dumps({**facts, "files": changes}).encode())
        self._plan.unlink(missing_ok=True)
        sync_folder(self._plan.parent)
        return gone


def _number(value: object) -> int:
    return value if isinstance(value, int) else 0


def _digest(path: str) -> str:
    return digest_of_file(Path(path))


def _replace(path: str, now: str, then: str, content: Callable[[str], bytes], key: str) -> None:
    """One file, if it is not as it shall be already."""
    file = Path(path)
    remove_leftover(file, key)
    found = _digest(path)
    if found == then:
        return
    if found != now:
        raise Changed(f"{shown(file)} was changed by somebody else just now", reason="changed")
    if then:
        replace_content(file, content(then), file.stat() if now else None, key)
    else:
        file.unlink()
        sync_folder(file.parent)


def _without_empty(rows: Sequence[_Row]) -> list[Path]:
    """Remove the folders that were made for files which are gone, innermost first; those that went."""
    made = {folder for row in rows if not row.then for folder in list(Path(row.path).parents)[: row.folders]}
    gone = []
    for folder in sorted(made, key=lambda each: len(each.parts), reverse=True):
        # One that holds something else stays, whoever put it there.
        with suppress(OSError):
            folder.rmdir()
            gone.append(folder)
            sync_folder(folder.parent)
    return gone


def _taken_back(rows: Sequence[_Row], content: Callable[[str], bytes], key: str) -> str:
    """Undo what was done; what is to be told of it."""
    left = []
    for row in rows:
        try:
            if _digest(row.path) == row.then:
                _replace(row.path, row.then, row.now, content, key)
        except (OSError, UserError, ToolError) as error:
            left.append(f"{row.path} ({error})")
    return f"Not taken back: {', '.join(left)}" if left else "Nothing is changed."
