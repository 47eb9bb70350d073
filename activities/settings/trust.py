"""The person's signed word that a folder's own settings may count: kept, checked, taken back."""

import os
import re
from collections.abc import Callable, Iterable
from pathlib import Path

from pydantic import ValidationError

from activities.settings.locking import locked_folder
from activities.settings.reading import read_regular
from activities.stores.files import append_line, make_folder, write_atomic
from activities.stores.home import Home
from workflows.contracts.permissions import signed_bytes
from workflows.contracts.settings_files import TrustRecord
from workflows.contracts.transcript import canonical, digest_of

Sign = Callable[[bytes], str]
"""Signs bytes with the person's key, in hex."""

_REVOKED = "revoked-trust"
_ID = re.compile(r"[0-9a-f]{16}")


def trust_bytes(record: TrustRecord) -> bytes:
    """What the signature of a record covers."""
    return signed_bytes("", "trust", record.folder, record.digest, record.id, record.at, record.by)


def digest_of_grants(grants: Iterable[str]) -> str:
    """One digest for all that a folder's settings give."""
    return digest_of(canonical([*sorted(set(grants))]))


def record_path(home: Home, folder: str) -> Path:
    """Where the record of a folder is kept."""
    return home.trust / f"{digest_of(os.fsencode(folder))[:32]}.json"


def revoked_path(home: Home) -> Path:
    """Ids of the records that were taken back: beside the key, where no agent's command can write."""
    return home.keys / _REVOKED


def stamped_paths(home: Home, roots: Iterable[str]) -> tuple[Path, ...]:
    """Files on which trust in these folders depends."""
    return (*(record_path(home, root) for root in roots), revoked_path(home), home.person_key)


def agreed(home: Home, folder: str) -> frozenset[str] | None:
    """The grants that the person signed for the folder; None when there is no record that counts."""
    record = read_record(home, folder)
    return frozenset(record.grants) if record else None


def read_record(home: Home, folder: str) -> TrustRecord | None:
    """The record of a folder, signed by this home's person and not taken back; None for anything else."""
    record = _parsed(record_path(home, folder))
    if record is None or record.folder != folder or not _is_whole(record):
        return None
    return record if _is_signed(home, record) and record.id not in _revoked(home) else None


def records(home: Home) -> list[TrustRecord]:
    """Every record that counts, by folder."""
    names = sorted(home.trust.glob("*.json")) if home.trust.is_dir() else []
    parsed = (_parsed(path) for path in names)
    found = (read_record(home, record.folder) for record in parsed if record)
    return sorted((record for record in found if record), key=lambda record: record.folder)


def put_record(home: Home, record: TrustRecord, sign: Sign, *, adds: bool = False) -> TrustRecord:
    """Sign a record and keep it in the place of an older one, which never counts again.

    With `adds` its grants are added to those that the person has signed already.
    """
    make_folder(home.trust)
    with locked_folder(home.trust):
        older = read_record(home, record.folder)
        if older and adds:
            record = record.model_copy(update={"grants": (*older.grants, *record.grants)})
        return _replace(home, older, record, sign)


def _replace(home: Home, older: TrustRecord | None, record: TrustRecord, sign: Sign) -> TrustRecord:
    whole = record.model_copy(
        update={"grants": tuple(sorted(set(record.grants))), "digest": digest_of_grants(record.grants)}
    )
    signed = whole.model_copy(update={"signature": sign(trust_bytes(whole))})
    if older:
        # First: dying in between asks the person again, where the other order would leave an old word that counts.
        _revoke(home, older)
    write_atomic(record_path(home, record.folder), canonical(signed.model_dump(mode="json")) + b"\n")
    return signed


def revoke(home: Home, folder: str) -> bool:
    """Take trust back; False when there was none. A record that somebody kept a copy of counts no more either."""
    make_folder(home.trust)
    with locked_folder(home.trust):
        record = read_record(home, folder)
        if record:
            _revoke(home, record)
        record_path(home, folder).unlink(missing_ok=True)
    return record is not None


def _revoke(home: Home, record: TrustRecord) -> None:
    append_line(revoked_path(home), canonical({"id": record.id, "folder": record.folder}))


def _revoked(home: Home) -> str:
    """All of the file: an id in it is taken back, even where a line is torn."""
    try:
        return revoked_path(home).read_text(encoding="ascii", errors="replace")
    except FileNotFoundError:
        return ""


def _parsed(path: Path) -> TrustRecord | None:
    try:
        return TrustRecord.model_validate_json(read_regular(path))
    except (OSError, ValidationError):
        return None


def _is_whole(record: TrustRecord) -> bool:
    return _ID.fullmatch(record.id) is not None and record.digest == digest_of_grants(record.grants)


def _is_signed(home: Home, record: TrustRecord) -> bool:
    from workflows.core.signatures import is_signed  # its import takes as long as a quick command

    key = _public_key(home)
    return bool(key) and is_signed(key, trust_bytes(record), record.signature)


def person_secret(home: Home) -> bytes | None:
    """The bytes of the person's private key; None when this home has none."""
    try:
        secret = bytes.fromhex(read_regular(home.person_key).decode("ascii").strip())
    except (OSError, ValueError):
        return None
    return secret if len(secret) == 32 else None


def _public_key(home: Home) -> str:
    """The public half of this home's key, in hex; empty when there is none."""
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

    secret = person_secret(home)
    return Ed25519PrivateKey.from_private_bytes(secret).public_key().public_bytes_raw().hex() if secret else ""
