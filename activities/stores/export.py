"""An export: one file (tar) with every object of a session, readable as an object store."""

import hashlib
import io
import json
import os
import secrets
import tarfile
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import BinaryIO

from activities.stores.digests import DIGEST, digest_of, missing, verified
from activities.stores.fetching import Fetching
from activities.stores.files import explain_os_error, sync_folder
from activities.stores.objects import ObjectStore
from workflows.contracts.errors import StoreError, UserError

FORMAT = "perdure-export-1"
MANIFEST = "manifest.json"
_AHEAD = 256


@dataclass(frozen=True)
class Manifest:
    """What an export holds, in its first member."""

    session: str
    head: str
    entries: int
    histories: tuple[str, ...] = ()
    """Digests of histories that were live at the time of the export, so that no entry names them."""
    left_out: tuple[str, ...] = ()
    """Digests of file versions: what a person's files held before is never in an export."""
    format: str = FORMAT

    def encoded(self) -> bytes:
        """JSON with the SHA-256 of itself without that field."""
        fields = asdict(self)
        return _canonical({**fields, "sha256": digest_of(_canonical(fields))})


async def write_export(
    path: Path, store: ObjectStore, manifest: Manifest, digests: Iterable[str], extra: Mapping[str, bytes]
) -> list[StoreError]:
    """Write the export as a whole or not at all; the objects that the store could not give.

    The same objects give the same bytes. `extra` holds objects by digest that the store has not.
    """
    lost: list[StoreError] = []
    names = sorted({*digests, *extra} - set(manifest.left_out))
    with _replacing(path) as file, tarfile.open(fileobj=file, mode="w", format=tarfile.USTAR_FORMAT) as tar:
        _add(tar, MANIFEST, manifest.encoded())
        async with Fetching(store) as fetching:
            for place, digest in enumerate(names):
                if place % _AHEAD == 0:
                    fetching.begin(name for name in names[place : place + 2 * _AHEAD] if name not in extra)
                try:
                    data = extra[digest] if digest in extra else await fetching.take(digest)
                except StoreError as error:
                    lost.append(error)
                else:
                    _add(tar, f"objects/{digest[:2]}/{digest[2:]}", data)
    return lost


def _add(tar: tarfile.TarFile, name: str, data: bytes) -> None:
    member = tarfile.TarInfo(name)
    member.size, member.mode = len(data), 0o600
    tar.addfile(member, io.BytesIO(data))


@contextmanager
def _replacing(path: Path) -> Iterator[BinaryIO]:
    """A file beside `path` that takes its name at the end."""
    temporary = path.with_name(f".{path.name[:100]}.{secrets.token_hex(8)}.tmp")
    try:
        descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        with os.fdopen(descriptor, "wb") as file:
            yield file
            file.flush()
            os.fsync(descriptor)
        temporary.replace(path)
        sync_folder(path.parent)
    except OSError as error:
        raise explain_os_error(error, path) from error
    finally:
        temporary.unlink(missing_ok=True)


class ExportStore:
    """The objects of one export; it takes no others."""

    def __init__(self, path: Path) -> None:
        self.url = path.absolute().as_uri()
        self._path = path
        self._places = _index(path)
        self.manifest = _manifest(path, self._read(MANIFEST))

    async def put(self, data: bytes) -> str:
        """Refused: an export never changes."""
        raise UserError(f"{self._path} is an export, and an export takes no new objects.", reason="read_only")

    async def get(self, digest: str) -> bytes:
        """The bytes of that digest, verified."""
        data = self._read(f"objects/{digest[:2]}/{digest[2:]}")
        if data is None or DIGEST.fullmatch(digest) is None:
            raise missing(digest, self.url)
        return verified(data, digest, self.url)

    async def store_id(self) -> str:
        """An id made of its manifest: no session was ever started with it."""
        return hashlib.sha256(self.manifest.encoded()).hexdigest()[:32]

    def _read(self, name: str) -> bytes | None:
        place = self._places.get(name)
        if place is None:
            return None
        try:
            with self._path.open("rb") as file:
                file.seek(place[0])
                return file.read(place[1])
        except OSError as error:
            raise explain_os_error(error, self._path) from error


def _index(path: Path) -> dict[str, tuple[int, int]]:
    """Where the bytes of each member are. What a damaged header hides is simply not there."""
    try:
        # Without `ignore_zeros` one damaged header would hide every member behind it.
        with tarfile.open(path, mode="r:", ignore_zeros=True) as tar:
            return {member.name: (member.offset_data, member.size) for member in tar if member.isfile()}
    except OSError as error:
        raise explain_os_error(error, path) from error
    except tarfile.TarError as error:
        raise _no_export(path, "it is no tar file") from error


def _manifest(path: Path, data: bytes | None) -> Manifest:
    if data is None:
        raise _no_export(path, f"it holds no readable {MANIFEST}")
    try:
        fields = json.loads(data)
        told = fields.pop("sha256")
        if told != digest_of(_canonical(fields)):
            raise _no_export(path, f"its {MANIFEST} is damaged")
        if fields["format"] != FORMAT:
            raise _no_export(path, "it was written by another version of perdure")
        lists = {name: tuple(fields[name]) for name in ("histories", "left_out")}
        return Manifest(**{**fields, **lists})
    except (ValueError, TypeError, KeyError, AttributeError) as error:
        raise _no_export(path, f"its {MANIFEST} is damaged") from error


def _no_export(path: Path, why: str) -> UserError:
    return UserError(f"{path} cannot be read as an export: {why}; take another copy of it.", reason="export")


def _canonical(value: object) -> bytes:
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode()
