"""The content-addressed object store: a folder, memory, or a bucket; checked on read."""

import asyncio
import errno
from collections import OrderedDict
from collections.abc import Iterable
from pathlib import Path
from typing import Protocol
from urllib.parse import unquote, urlsplit

from activities.stores.digests import (
    DIGEST,
    STORE_ID,
    digest_of,
    missing,
    new_store_id,
    readable_id,
    unreadable,
    verified,
)
from activities.stores.files import create_once, explain_os_error, make_folder, sync_folder, write_atomic
from workflows.contracts.errors import UserError

DAMAGED_ERRNOS = (errno.EIO, errno.EISDIR)
_LASTING_HELD = 1_024
_SMALL = 64 * 1024
"""Bytes that are compared on the event loop: a thread costs more than reading them."""


class ObjectStore(Protocol):
    """Immutable things, named by their SHA-256."""

    @property
    def url(self) -> str:
        """Where it is, as `open_store` takes it."""
        ...

    async def put(self, data: bytes) -> str:
        """Keep these bytes, lasting; their digest (64 hex digits). Putting again is harmless and heals damage."""
        ...

    async def get(self, digest: str) -> bytes:
        """The bytes of that digest, verified; MissingObject or DamagedObject otherwise."""
        ...

    async def store_id(self) -> str:
        """The random id that this store was given once."""
        ...


class FolderStore:
    """Objects as files `ab/cdef…` of a folder, each synced before its name appears."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.url = folder.absolute().as_uri()
        self._shards: set[str] = set()
        self._lasting: OrderedDict[str, None] = OrderedDict()

    async def put(self, data: bytes) -> str:
        """Keep these bytes in a file of their own."""
        if len(data) <= _SMALL and (digest := digest_of(data)) in self._lasting and self._holds(digest, data):
            # Synced by this very object before; the file still has the bytes.
            return digest
        digest = await asyncio.to_thread(self._put, data)
        self._lasting[digest] = None
        if len(self._lasting) > _LASTING_HELD:
            self._lasting.popitem(last=False)
        return digest

    async def get(self, digest: str) -> bytes:
        """The bytes of that digest, verified."""
        return await asyncio.to_thread(self._get, digest)

    async def store_id(self) -> str:
        """The id in the file STORE_ID, made by whoever came first."""
        return await asyncio.to_thread(self._store_id)

    def _put(self, data: bytes) -> str:
        digest = digest_of(data)
        path = self._path(digest)
        try:
            if path.read_bytes() == data:
                # Whoever wrote it may not have synced its name yet.
                sync_folder(path.parent)
                return digest
        except OSError:
            self._make_shard(path.parent)
        write_atomic(path, data)
        return digest

    def _holds(self, digest: str, data: bytes) -> bool:
        try:
            return self._path(digest).read_bytes() == data
        except OSError:
            return False

    def _make_shard(self, folder: Path) -> None:
        if folder.name not in self._shards or not folder.is_dir():
            make_folder(folder)
            sync_folder(self.folder)
            self._shards.add(folder.name)

    def _get(self, digest: str) -> bytes:
        if DIGEST.fullmatch(digest) is None:
            raise missing(digest, self.url)
        path = self._path(digest)
        try:
            data = path.read_bytes()
        except (FileNotFoundError, NotADirectoryError):
            raise missing(digest, self.url) from None
        except OSError as error:
            if error.errno in DAMAGED_ERRNOS:
                raise unreadable(digest, self.url, error.strerror or "I/O error") from error
            raise explain_os_error(error, path) from error
        return verified(data, digest, self.url)

    def _store_id(self) -> str:
        make_folder(self.folder)
        return readable_id(create_once(self.folder / STORE_ID, new_store_id().encode() + b"\n"), self.url)

    def _path(self, digest: str) -> Path:
        return self.folder / digest[:2] / digest[2:]


class MemoryStore:
    """Objects in this process only; for tests."""

    url = "memory://"

    def __init__(self) -> None:
        self.objects: dict[str, bytes] = {}
        self._id = new_store_id()

    async def put(self, data: bytes) -> str:
        """Keep these bytes until the process ends."""
        digest = digest_of(data)
        self.objects[digest] = data
        return digest

    async def get(self, digest: str) -> bytes:
        """The bytes of that digest, verified."""
        if digest not in self.objects:
            raise missing(digest, self.url)
        return verified(self.objects[digest], digest, self.url)

    async def store_id(self) -> str:
        """The id of this very object."""
        return self._id


class CachedStore:
    """Another store with its last used objects in memory, at most `max_bytes` of them."""

    def __init__(self, inner: ObjectStore, max_bytes: int) -> None:
        self.inner = inner
        self.url = inner.url
        self.max_bytes = max_bytes
        self.held_bytes = 0
        self._objects: OrderedDict[str, bytes] = OrderedDict()
        self._id: str | None = None

    async def put(self, data: bytes) -> str:
        """Put into the other store, then remember."""
        digest = await self.inner.put(data)
        self._remember(digest, data)
        return digest

    async def get(self, digest: str) -> bytes:
        """From memory, else from the other store."""
        data = self._objects.get(digest)
        if data is None:
            data = await self.inner.get(digest)
        self._remember(digest, data)
        return data

    async def store_id(self) -> str:
        """The other store's id, asked once."""
        if self._id is None:
            self._id = await self.inner.store_id()
        return self._id

    def _remember(self, digest: str, data: bytes) -> None:
        if digest in self._objects:
            self._objects.move_to_end(digest)
            return
        if len(data) > self.max_bytes:
            return
        self._objects[digest] = data
        self.held_bytes += len(data)
        while self.held_bytes > self.max_bytes:
            self.held_bytes -= len(self._objects.popitem(last=False)[1])


async def get_many(store: ObjectStore, digests: Iterable[str], at_once: int = 128) -> list[bytes]:
    """The bytes of each digest, in their order, read side by side; the first error ends all."""
    wanted = list(digests)
    found: list[bytes] = [b""] * len(wanted)
    places = iter(range(len(wanted)))

    async def reader() -> None:
        for place in places:
            found[place] = await store.get(wanted[place])

    readers = [asyncio.ensure_future(reader()) for _ in range(min(at_once, len(wanted)))]
    try:
        await asyncio.gather(*readers)
    finally:
        for task in readers:
            task.cancel()
        await asyncio.gather(*readers, return_exceptions=True)
    return found


def open_store(url: str) -> ObjectStore:
    """The store at a URL: a folder (`file://` or a path), `memory://`, `s3://`, `gs://` or `az://`."""
    parts = urlsplit(url)
    match parts.scheme:
        case "":
            return FolderStore(Path(url).expanduser().absolute())
        case "file" if parts.netloc in ("", "localhost") and parts.path.startswith("/"):
            return FolderStore(Path(unquote(parts.path)))
        case "memory":
            return MemoryStore()
        case "s3" | "gs" | "az" if parts.netloc:
            # Imported here: the command line never pays for it with a folder store.
            from activities.stores.remote import open_remote

            return open_remote(url)
    raise UserError(
        f"PERDURE_STORE names no store that perdure knows: {url}; "
        "use a folder, file:///path, s3://bucket/path, gs://bucket/path or az://container/path.",
        reason="store_url",
    )
