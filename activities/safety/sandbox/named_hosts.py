"""Named hosts: what a command that a person allowed names openly is opened to it, and to no other command."""

import re
from collections.abc import Iterable, Iterator

from activities.safety.bash.names import NETWORK, PACKAGE_MANAGERS
from activities.safety.bash.syntax import parse
from activities.safety.sandbox.domains import PORTS, refusal
from workflows.contracts.permissions import Decision, Verdict

MOST = 8
"""Hosts that one command is opened to, and of which one question asks."""

CLOSED = "hosts_closed"
"""Under which name a command's facts hold the hosts that were refused to it and that a person could open."""

_PROGRAMS = NETWORK | PACKAGE_MANAGERS | {"git"}
_WIDE_RULES = frozenset({"Bash", "Bash(*)", "Bash(:*)", "*"})
"""They name no program, so whoever wrote them thought of no host."""

_HOST = r"([A-Za-z0-9_](?:[A-Za-z0-9_.-]*[A-Za-z0-9_])?)(?::([0-9]{1,5}))?(?:[/?#].*)?"
_URL = re.compile(rf"(?:git\+)?(https?|wss?|ftp)://(?:[^/@\s?#\\]*@)?{_HOST}", re.DOTALL | re.IGNORECASE)
_BARE = re.compile(_HOST, re.DOTALL)
_PORT_OF = {"https": 443, "wss": 443, "http": 80, "ws": 80, "ftp": 21}
_FETCHERS = frozenset({"curl", "wget"})
"""They take a host without a scheme."""

_NOT_TARGETS = frozenset({
    "--referer", "--data", "--data-raw", "--data-binary", "--data-ascii", "--data-urlencode", "--json", "--header",
    "--form", "--form-string", "--user-agent", "--cookie", "--output", "--user", "--proxy", "--preproxy", "--doh-url",
    "--post-data", "--body-data", "--origin", "--message", "--title", "--body",
})  # fmt: skip
"""What follows these is sent, or used in another way: it is no host that the person meant to be reached."""
_SHORT = {
    "curl": frozenset("AbcCdDeEFHhKmoPQrtTuUwxXyYzZ"),
    "wget": frozenset("aoieBtOTwQPUlARDIX"),
    "git": frozenset("mcCbo"),
}
"""Letters after which the next word is a value."""


def hosts_to_open(verdict: Verdict | None, command: str) -> tuple[str, ...]:
    """The hosts that a command names, where it was allowed by name."""
    return tuple(dict.fromkeys(_named(command)))[:MOST] if is_allowed_by_name(verdict) else ()


def is_allowed_by_name(verdict: Verdict | None) -> bool:
    """Whether a person allowed just this command: by an answer, or a rule that names it.

    Neither a mode, a hook, a model nor the sandbox itself opens anything.
    """
    if verdict is None or verdict.decision != Decision.ALLOW:
        return False
    return verdict.by == "person" or (verdict.by == "rule" and verdict.rule not in _WIDE_RULES)


def still_closed(hosts: tuple[str, ...], allowed: tuple[str, ...], denied: tuple[str, ...]) -> tuple[str, ...]:
    """Those of them that are neither open anyhow, nor denied, nor no names."""
    return tuple(
        entry
        for entry in hosts
        if refusal(*_parts(entry), allowed, denied) and not refusal(*_parts(entry), (*allowed, entry), denied)
    )


def openable(refused: Iterable[tuple[str, int]], allowed: tuple[str, ...], denied: tuple[str, ...]) -> tuple[str, ...]:
    """Of hosts and ports that were refused, those that a place on the list would open, as they would stand there."""
    hosts = tuple(dict.fromkeys(entry for host, port in refused for entry in _entry(host.removesuffix("."), port)))
    return still_closed(hosts, allowed, denied)[:MOST]


def _parts(entry: str) -> tuple[str, int]:
    host, _, port = entry.partition(":")
    return host, int(port or PORTS[0])


def _named(command: str) -> Iterator[str]:
    script = parse(command)
    if not script.is_parsed:
        return
    for one in script.commands:
        if one.name not in _PROGRAMS:
            continue
        before = ""
        for value in one.argv[1:]:
            if not _takes_value(one.name, before):
                yield from _of(value, may_be_bare=one.name in _FETCHERS and not before.startswith("--"))
            before = value


def _of(value: str, *, may_be_bare: bool) -> Iterator[str]:
    if match := _URL.fullmatch(value):
        yield from _entry(match[2], int(match[3] or _PORT_OF[match[1].lower()]))
    elif may_be_bare and (match := _BARE.fullmatch(value)) and "." in match[1]:
        yield from _entry(match[1], int(match[2] or PORTS[0]))


def _entry(host: str, port: int) -> Iterator[str]:
    name = host.lower()
    # This machine's own services are reached by no command, whoever allows it: their names mean the command's loopback.
    if name.rpartition(".")[2] != "localhost" and 0 < port < 65_536:
        yield name if port in PORTS else f"{name}:{port}"


def _takes_value(program: str, option: str) -> bool:
    if option.startswith("--"):
        return option in _NOT_TARGETS
    letters = _SHORT.get(program, frozenset())
    if not option.startswith("-") or len(option) < 2:
        return False
    at = next((place for place, letter in enumerate(option[1:], 1) if letter in letters), 0)
    return at == len(option) - 1
