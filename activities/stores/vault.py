"""Vault: what a person's files held, and their environment, encrypted with a key of this home."""

from functools import cached_property
from typing import TYPE_CHECKING

from activities.stores.home import Home
from activities.stores.home_keys import VAULT, home_key
from workflows.contracts.errors import UserError

if TYPE_CHECKING:  # its import takes as long as a quick command
    from cryptography.hazmat.primitives.ciphers.aead import AESSIV

MAGIC = b"perdure\0sealed\0"
VERSION = b"\x01"
"""AES-SIV (RFC 5297) with a key of 64 bytes; what stands before the cipher text is authenticated too."""


class Vault:
    """Locks bytes with this home's key. The same bytes give the same bytes, so a repeated step writes one object."""

    def __init__(self, home: Home) -> None:
        self._home = home

    @cached_property
    def _cipher(self) -> "AESSIV":
        from cryptography.hazmat.primitives.ciphers.aead import AESSIV

        return AESSIV(home_key(self._home, VAULT))

    def lock(self, data: bytes) -> bytes:
        """The bytes encrypted."""
        # The library takes no empty text; one byte in front costs nothing.
        return MAGIC + VERSION + self._cipher.encrypt(b"\0" + data, [MAGIC + VERSION])

    def unlock(self, data: bytes) -> bytes:
        """The bytes that were locked. UserError for what another home locked, or what is damaged."""
        from cryptography.exceptions import InvalidTag

        if not is_locked(data):
            raise UserError("this is not encrypted by perdure", reason="vault")
        version = data[len(MAGIC) : len(MAGIC) + 1]
        if version != VERSION:
            raise UserError(
                f"this was encrypted by a newer perdure (form {version.hex()}); use that one", reason="vault"
            )
        try:
            return self._cipher.decrypt(data[len(MAGIC) + 1 :], [MAGIC + VERSION])[1:]
        except InvalidTag:
            raise UserError(
                f"this was encrypted with another key than the one in {self._home.keys}; use the PERDURE_HOME it "
                "was written in",
                reason="vault",
            ) from None


def is_locked(data: bytes) -> bool:
    """Whether these are bytes that a vault has locked."""
    return data.startswith(MAGIC)
