"""Domains: which host a command may reach; names only, judged before anything is resolved."""

import ipaddress
import re
from collections.abc import Sequence

PORTS = (80, 443)
"""Ports of a host that is named without one."""

_NAME = re.compile(r"[a-z0-9_]([a-z0-9_-]*[a-z0-9_])?(\.[a-z0-9_]([a-z0-9_-]*[a-z0-9_])?)*\.?", re.ASCII)
_NAT64 = tuple(map(ipaddress.ip_network, ("64:ff9b::/96", "::/96", "::ffff:0:0:0/96")))
"""An address of the older protocol stands at the end of these."""
_NOT_PUBLIC = tuple(map(ipaddress.ip_network, ("64:ff9b:1::/48", "fec0::/10", "192.0.0.0/24")))
"""Beside those that Python knows: translators of one site, its old local addresses, what belongs to a protocol."""
_NUMERIC = re.compile(r"(0x[0-9a-f]*|[0-9]+)", re.ASCII)


def refusal(host: str, port: int, allowed: Sequence[str], denied: Sequence[str]) -> str:
    """Why a host may not be reached; empty when it may."""
    name = host.lower()
    if len(name) > 253 or not _NAME.fullmatch(name):
        return "is no host name"
    name = name.removesuffix(".")
    if _NUMERIC.fullmatch(name.rsplit(".", maxsplit=1)[-1]):
        return "is an address, and only names are on the list"
    if any(_covers(entry, name, port, any_port=True) for entry in denied):
        return "is denied by the settings"
    if not any(_covers(entry, name, port, any_port=False) for entry in allowed):
        same = any(_covers(entry, name, port, any_port=True) for entry in allowed)
        return f"is allowed, but not on port {port}" if same else "is not on the list of allowed hosts"
    return ""


def is_named_with_port(host: str, port: int, allowed: Sequence[str]) -> bool:
    """Whether a person named this very service, so that it may lie in a private network."""
    return f"{host.lower().removesuffix('.')}:{port}" in {entry.lower() for entry in allowed}


def address_refusal(address: str, *, is_named: bool, is_loopback_allowed: bool) -> str:
    """Why the address that a name led to may not be reached; empty when it may."""
    found = ipaddress.ip_address(address.split("%", maxsplit=1)[0])
    if isinstance(found, ipaddress.IPv6Address):
        if found.teredo is not None:
            return "leads through a tunnel"
        is_behind = int(found) > 1 and any(found in network for network in _NAT64)
        behind = ipaddress.IPv4Address(int(found) & 0xFFFFFFFF) if is_behind else None
        found = found.ipv4_mapped or found.sixtofour or behind or found
    if found.is_loopback or found.is_unspecified:
        return "" if is_loopback_allowed else "leads to this machine itself"
    if found.is_link_local or found.is_multicast:
        return "leads to a link-local address"
    if not found.is_global or any(found in network for network in _NOT_PUBLIC):
        return "" if is_named else "leads to a private network"
    return ""


def _covers(entry: str, name: str, port: int, *, any_port: bool) -> bool:
    """`x.org`, `*.x.org` (not x.org itself), either with `:port`."""
    pattern, _, number = entry.lower().strip().partition(":")
    if not any_port and not (number == str(port) if number else port in PORTS):
        return False
    if pattern.startswith("*."):
        return name.endswith(pattern[1:]) and len(name) > len(pattern) - 1
    return name == pattern
