"""Where a web request may go: the address is checked before anything is sent, and the connection goes to just that."""

import asyncio
import ipaddress
import socket
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from urllib.parse import SplitResult, urlsplit

from activities.safety.sandbox.domains import address_refusal
from activities.stores.engine_ports import engine_ports
from workflows.contracts.errors import ToolError

_LONGEST = 2_000
_PORTS = {"http": 80, "https": 443}


@dataclass(frozen=True)
class WebTarget:
    """A URL that may be asked for, as far as its text tells."""

    url: str
    """As it is sent: https, except to a host that the person allows; without a fragment."""
    scheme: str
    host: str
    """Lower case, without a dot at its end."""
    port: int
    path: str
    """Path and query."""
    is_private_allowed: bool
    """The person allows this host wherever it lies."""

    @property
    def authority(self) -> str:
        """The host as a header names it, with a port that is not the usual one."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return host if self.port == _PORTS[self.scheme] else f"{host}:{self.port}"


def web_target(url: str, private: Sequence[str] = ()) -> WebTarget:
    """What the URL asks for. Raises ToolError for one that names no page of the web.

    `private` are the hosts, with or without a port, that the person allows on this machine or the local network.
    """
    parts, host, port = _parts(url.strip())
    allowed = {entry.strip().lower() for entry in private}
    is_private_allowed = not allowed.isdisjoint({host, f"{host}:{port or _PORTS[parts.scheme]}"})
    scheme = parts.scheme if is_private_allowed else "https"
    if port is None or (scheme != parts.scheme and port == _PORTS["http"]):
        port = _PORTS[scheme]
    path = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
    target = WebTarget("", scheme, host, port, path, is_private_allowed)
    return replace(target, url=f"{scheme}://{target.authority}{path}")


def host_of(url: str) -> str:
    """The host that rules speak of; empty when the URL names none."""
    try:
        return web_target(url).host
    except ToolError:
        return ""


def _parts(url: str) -> tuple[SplitResult, str, int | None]:
    wrong = f"{url[:200]!r} is no URL of a page"
    if len(url) > _LONGEST or any(ord(character) <= 32 or ord(character) == 127 for character in url):
        raise ToolError(f"{wrong}: it is longer than {_LONGEST} characters or has blanks in it.")
    try:
        parts = urlsplit(url)
        host, port = parts.hostname or "", parts.port
        host = host.encode("idna").decode("ascii") if not host.isascii() else host
    except ValueError as error:
        raise ToolError(f"{wrong}: {error}.") from error
    if parts.scheme not in _PORTS or not host:
        raise ToolError(f"{wrong}. Give one that begins with https:// and a host.")
    if parts.username is not None or parts.password is not None:
        raise ToolError(f"A URL with a user name or password in it is not fetched ({host}). Leave that part out.")
    return parts, host.rstrip("."), port


async def checked_addresses(target: WebTarget, engine: Path | None = None) -> tuple[str, ...]:
    """The addresses that the host has now, each of which may be reached. Raises ToolError when one may not.

    `engine` is the file that tells the ports of the server on this machine, which no tool reaches.
    """
    try:
        found = await asyncio.get_running_loop().getaddrinfo(target.host, target.port, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError) as error:
        why = error.strerror if isinstance(error, OSError) and error.strerror else "no such name"
        raise ToolError(f"The host {target.host} is not found ({why}). Check the URL.") from error
    addresses = tuple(dict.fromkeys(str(address[0]) for *_, address in found))
    for address in addresses:
        if target.is_private_allowed:
            _check_engine(target, address, engine)
        elif why := address_refusal(address, is_named=False, is_loopback_allowed=False):
            raise ToolError(
                f"{target.host} is not fetched: it {why} ({address}). Only hosts of the public web are; a person may "
                "allow this one in the settings (web.allow_private_hosts)."
            )
    return addresses


def _check_engine(target: WebTarget, address: str, engine: Path | None) -> None:
    if not ipaddress.ip_address(address.split("%", maxsplit=1)[0]).is_loopback or engine is None:
        return
    if target.port in engine_ports(engine):
        raise ToolError(f"{target.authority} belongs to perdure itself and stays out of reach of its tools.")
