"""Denials: what the sandbox refused to a command, and the narrow exception a person may add."""

import os
import re
from collections.abc import Mapping, Sequence
from pathlib import Path

from activities.safety.sandbox.git_guard import Moved
from activities.safety.sandbox.policy import Kind, Policy

MOST_TOLD = 8
SCANNED = 65_536
"""Bytes of the output's end that are looked through."""

_REFUSED = re.compile(
    rb"(?i)read-only file system|permission denied|operation not permitted|resource busy|cross-device"
    rb"|EROFS|EACCES|EPERM"
)
_GONE = re.compile(rb"(?i)no such file or directory|ENOENT")
_PATH = re.compile(
    rb"""['"\xe2\x80\x98\x60]?((?:/|~/|\.{1,2}/|(?<![\w.@+-])[\w.@+-]++/)[^\s'"\x60:,\xe2;()]*|\.[\w-]+)"""
)
_UNREACHED = re.compile(
    rb"(?i)could not resolve host:? ([\w.-]+)|ENOTFOUND ([\w.-]+)|EAI_AGAIN ([\w.-]+)"
    rb"|network is unreachable|ENETUNREACH|temporary failure in name resolution|name or service not known"
    rb"|failed to lookup address"
    rb"|failed to connect to (?!127\.|localhost|::1)([\w.-]+) port \d+[^\n]*(?:couldn't|could not) connect to server"
)
_OWN_LOOPBACK = re.compile(
    rb"(?i)connection refused|ECONNREFUSED|Errno 111|failed to connect to (?:127\.[\d.]+|localhost|\[?::1\]?) port"
)
_URL = re.compile(rb"(?:https?|ftp|ssh|git|wss?)://[^\s'\"]*")


_OWN = "[sandbox denial: {} is settings of agents, or of git: only a person changes it]"
_SOCKET = (
    "[sandbox denial: {0} is a Unix socket, and they are closed. A person may open it: "
    '"sandbox": {{"network": {{"allowUnixSockets": ["{0}"]}}}}.]'
)
_CONFIGURATION = (
    "[sandbox denial: {} is opened only to commands of git, without other programs beside them, that a person or a rule"
    " allowed by name]"
)


def refused_hosts(refused: Sequence[Mapping[str, object]]) -> list[str]:
    """A line for each host that the proxy did not let through."""
    lines: dict[str, str] = {}
    for each in refused:
        host, port, why = str(each.get("host", "")), each.get("port", 0), str(each.get("why", ""))
        named = host if port in {80, 443} else f"{host}:{port}"
        advice = f' A person may allow it: "sandbox": {{"network": {{"allowedDomains": ["{named}"]}}}}.'
        is_listable = ("list" in why and "address" not in why) or "port" in why or "private" in why
        lines.setdefault(named, f"[sandbox denial: {host}:{port} {why}.{advice if is_listable else ''}]")
    return _few(list(lines.values()))


def refused_network(output: bytes, policy: Policy, *, has_network: bool) -> list[str]:
    """A line where a program tried to talk past the proxy, or to make a socket of a closed kind."""
    # What the proxy itself could not reach it said with these words, and it was no refusal.
    tail = b"\n".join(line for line in output[-SCANNED:].splitlines() if b" cannot be reached: " not in line)
    lines = []
    if match := _UNREACHED.search(tail):
        host = next((word for word in match.groups() if word), b"").decode("utf-8", "replace")
        way = (
            "allowed hosts are reached by HTTP_PROXY and ALL_PROXY only" if has_network else "there is no network here"
        )
        lines.append(f"[sandbox denial: {host or 'a host'} is not reached directly: {way}]")
    if _OWN_LOOPBACK.search(tail):
        lines.append("[sandbox denial: 127.0.0.1 is the commands' own here: servers of this machine are not reached]")
    if not lines and b"ocket" in tail and b"not permitted" in tail and not policy.has_unix_sockets:
        advice = '"sandbox": {"network": {"allowUnixSockets": ["/path/of.sock"]}}'
        lines.append(f"[sandbox denial: sockets of this kind are closed. A person may open a Unix socket: {advice}.]")
    return lines


def refused_paths(output: bytes, policy: Policy, cwd: str, *, is_full: bool = True) -> list[str]:
    """A line for each path of which the command's own words say that it was refused, where the sandbox is why.

    In the full tier what is hidden is not there for the command.
    """
    lines: dict[str, str] = {}
    for line in output[-SCANNED:].splitlines():
        is_gone = is_full and _GONE.search(line) is not None
        if not is_gone and not _REFUSED.search(line):
            continue
        for match in _PATH.finditer(_URL.sub(b"", line)):
            path = _absolute(match[1].decode("utf-8", "replace"), policy.user, cwd)
            if Path(path).is_relative_to(policy.workspace):
                path = os.path.realpath(path)  # a link that the command made is not where it seems to be
            is_busy = b"busy" in line.lower() and _is_own(path, policy)
            why = _unseen(path, policy) if is_gone else _why(path, policy)
            if said := _own(path) if is_busy else why:
                lines.setdefault(path, said)
    return _few(list(lines.values()))


def _absolute(text: str, user: str, cwd: str) -> str:
    if text.startswith("~/"):
        return user + text[1:]
    parts: list[str] = []
    for part in (text if text.startswith("/") else f"{cwd}/{text}").split("/"):
        if part == "..":
            parts = parts[:-1]
        elif part not in {"", "."}:
            parts.append(part)
    return "/" + "/".join(parts)


def _unseen(path: str, policy: Policy) -> str:
    """Why a path may not be there for a command although it is there for the person: the same, whether it is."""
    place = policy.place_at(path)
    if place is None or (place.kind != Kind.HIDDEN and place.source != policy.temporary):
        return ""
    if _is_socket(path):
        return _SOCKET.format(path)
    advice = f'"sandbox": {{"filesystem": {{"allowRead": ["{path}"]}}}}, or "allowWrite"'
    if place.kind == Kind.HIDDEN:
        return f"[sandbox denial: {path} is hidden from commands, if it is there. A person may show it: {advice}.]"
    return (
        f"[sandbox: {place.path} is the session's own here; what the machine has at {path} a person may show: {advice}]"
    )


def _why(path: str, policy: Policy) -> str:
    """Why the sandbox refuses that path; empty when it does not."""
    kind = policy.kind_at(path)
    if kind == Kind.WRITE:
        return ""
    place = policy.place_at(path)
    if kind == Kind.STAND_IN or _is_own(path, policy) or (place and place.path == path and _is_configuration(path)):
        return _own(path)
    if _is_socket(path):
        return _SOCKET.format(path)
    if any(path == gone or path.startswith(f"{gone}/") for gone in policy.absent):
        return f"[sandbox denial: {path} is open by the settings, but only what exists can be opened: make it first]"
    first = "" if os.path.lexists(path) else " Only what exists can be opened: make it first, or name its folder."
    if kind == Kind.HIDDEN:
        return (
            f"[sandbox denial: {path} is hidden from commands. A person may show it: "
            f'"sandbox": {{"filesystem": {{"allowRead": ["{path}"]}}}}, or "allowWrite".{first}]'
        )
    if not path.startswith(("/dev/", "/proc/", "/sys/")):
        return (
            f"[sandbox denial: {path} may not be changed by commands. A person may allow it: "
            f'"sandbox": {{"filesystem": {{"allowWrite": ["{path}"]}}}}.{first}]'
        )
    return ""


def _is_socket(path: str) -> bool:
    """Whether a path is a socket, by its name where it is not seen."""
    return path.endswith(".sock") or Path(path).is_socket()


def _own(path: str) -> str:
    return (_CONFIGURATION if _is_configuration(path) else _OWN).format(path)


def _is_configuration(path: str) -> bool:
    return path.endswith(("/.git/config", "/.git/config.worktree"))


def _is_own(path: str, policy: Policy) -> bool:
    inside = path.removeprefix(policy.workspace.rstrip("/") + "/")
    return inside != path and inside.split("/", maxsplit=1)[0] in {".git", ".perdure", ".claude", ".mcp.json"}


def quarantined(moved: Sequence[Moved]) -> list[str]:
    """A line for each thing that was moved away."""
    return _few([_quarantined(each) for each in moved])


def _quarantined(each: Moved) -> str:
    path = each.path if each.path.isprintable() else ascii(each.path)
    if each.to:
        return f"[sandbox denial: {path} was moved to {each.to}: {each.why}]"
    return f"[sandbox denial: {path} could not be moved away ({each.why_not}), a person must look at it: {each.why}]"


def _few(lines: list[str]) -> list[str]:
    if len(lines) <= MOST_TOLD:
        return lines
    return [*lines[:MOST_TOLD], f"[sandbox denial: {len(lines) - MOST_TOLD} more like these]"]
