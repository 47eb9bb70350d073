"""Whom TLS trusts: this machine's roots, read once a process."""

from functools import cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import ssl


@cache
def trusted_roots() -> "ssl.SSLContext":
    """For every client that takes nothing from the environment; reading the roots costs 20 ms each time."""
    import httpx2

    return httpx2.create_ssl_context(trust_env=False)
