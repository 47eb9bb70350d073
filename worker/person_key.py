"""The Ed25519 key of the person of this home, which signs what only a person may do."""

import re
from functools import cache
from typing import TYPE_CHECKING

from activities.stores.files import create_once, make_folder
from activities.stores.home import Home
from workflows.contracts.errors import UserError

if TYPE_CHECKING:  # its import takes as long as a quick command
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey


@cache
def person_key(home: Home) -> "Ed25519PrivateKey":
    """The key in keys/person.key, made by whoever asks first; UserError when the file holds none."""
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

    make_folder(home.keys)
    path = home.person_key
    kept = create_once(path, Ed25519PrivateKey.generate().private_bytes_raw().hex().encode() + b"\n")
    text = kept.decode("ascii", "replace").strip()
    if re.fullmatch(r"[0-9a-f]{64}", text) is None:
        raise UserError(
            f"{path} holds no key; restore it, or remove it (sessions that were started with it take no answers then).",
            reason="person_key",
        )
    return Ed25519PrivateKey.from_private_bytes(bytes.fromhex(text))


def public_key(home: Home) -> str:
    """The public half, in hex: what a session checks a person's acts with."""
    return person_key(home).public_key().public_bytes_raw().hex()


def signature(home: Home, said: bytes) -> str:
    """The person's signature of these bytes, in hex."""
    return person_key(home).sign(said).hex()
