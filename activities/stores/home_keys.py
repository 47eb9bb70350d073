"""Keys of this home that never leave it: what masks are made with, what file versions are encrypted with."""

import re
import secrets
from functools import cache

from activities.stores.files import create_once, make_folder
from activities.stores.home import Home
from workflows.contracts.errors import UserError

MASKS, VAULT = "masks", "vault"
_BYTES = 64


@cache
def home_key(home: Home, name: str) -> bytes:
    """The 64 bytes in keys/NAME.key, made by whoever asks first; UserError when the file holds none."""
    make_folder(home.keys)
    path = home.keys / f"{name}.key"
    kept = create_once(path, secrets.token_hex(_BYTES).encode() + b"\n").decode("ascii", "replace").strip()
    if re.fullmatch(rf"[0-9a-f]{{{2 * _BYTES}}}", kept) is None:
        raise UserError(
            f"{path} holds no key; restore it, or remove it (what was encrypted with it cannot be read then).",
            reason="home_key",
        )
    return bytes.fromhex(kept)
