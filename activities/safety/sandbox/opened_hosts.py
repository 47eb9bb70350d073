"""Opened hosts: what became of hosts that were refused to a session's commands, kept beside its network.

The session's proxy reads it in a bare Python, so this file imports only the standard library.
"""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

Line = dict[str, Any]  # Any: JSON of our own
"""Of one call: its key, the hosts that it was about, those that were opened, the verdict, and a person's answer."""

_NAME = "hosts.ndjson"


def path_in(sandbox: Path) -> Path:
    """The file, in the folder of a session's sandbox."""
    return sandbox / _NAME


def lines_of(path: Path) -> Iterator[Line]:
    """All that was decided, oldest first; a damaged line opens nothing."""
    try:
        lines = path.read_bytes().splitlines()
    except OSError:
        return
    for line in lines:
        try:
            told = json.loads(line)
        except ValueError:
            continue
        if isinstance(told, dict):
            yield told


def opened(path: Path) -> list[str]:
    """Hosts that are open to every command of the session, as on the list of its settings."""
    return [str(host) for line in lines_of(path) for host in _listed(line, "opened")]


def said_no(path: Path) -> dict[str, str]:
    """Hosts that a person would not open when they were asked, and who that was."""
    answers = [(line, line.get("answer")) for line in lines_of(path)]
    return {
        str(host): str(answer.get("by", ""))
        for line, answer in answers
        if isinstance(answer, dict) and not answer.get("allow")
        for host in _listed(line, "hosts")
    }


def said_of(path: Path, call: str) -> list[Line]:
    """What was decided for the call of this key."""
    return [line for line in lines_of(path) if line.get("call") == call]


def _listed(line: Line, name: str) -> list[Any]:  # Any: as above
    found = line.get(name)
    return found if isinstance(found, list) else []
