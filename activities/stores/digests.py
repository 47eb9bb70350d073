"""Names of objects, and what is said when one is missing or damaged."""

import re
import secrets

from workflows.contracts.digests import digest_of
from workflows.contracts.errors import DamagedObject, MissingObject, UserError

__all__ = ["DIGEST", "STORE_ID", "digest_of", "missing", "new_store_id", "readable_id", "unreadable", "verified"]

DIGEST = re.compile(r"[0-9a-f]{64}")
STORE_ID = "STORE_ID"
"""Under this name a store keeps its own id."""


def new_store_id() -> str:
    """A random id for a store that has none."""
    return secrets.token_hex(16)


def verified(data: bytes, digest: str, url: str) -> bytes:
    """These bytes, if that is their digest; DamagedObject otherwise."""
    if digest_of(data) != digest:
        raise DamagedObject(digest, f"object {digest} in {url} is damaged (its bytes changed); {_remedy('it')}")
    return data


def missing(digest: str, url: str) -> MissingObject:
    """The error for an object that is not there."""
    if DIGEST.fullmatch(digest) is None:
        return MissingObject(digest, f"{digest[:80]!r} is not the name of an object: 64 hex digits are")
    return MissingObject(digest, f"object {digest} is not in {url}; is PERDURE_STORE right? Else {_remedy('it')}")


def unreadable(digest: str, url: str, why: str) -> DamagedObject:
    """The error for an object that the disk does not give."""
    return DamagedObject(digest, f"object {digest} in {url} cannot be read ({why}); {_remedy('it')}")


def _remedy(what: str) -> str:
    return f"restore {what} from a copy of the store (`perdure audit` shows what can still be read)"


def readable_id(data: bytes, url: str) -> str:
    """A store's id from the bytes it keeps; UserError if they are no id."""
    text = data.decode("ascii", "replace").strip()
    if re.fullmatch(r"[0-9a-f]{32}", text) is None:
        raise UserError(f"{STORE_ID} in {url} holds no store id; restore it from a copy.", reason="store_id")
    return text
