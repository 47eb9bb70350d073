"""Is it a person who acts, or a command that an agent runs?"""

import os
from collections.abc import Iterator
from pathlib import Path

from workflows.contracts.errors import DeniedError

CALL_TAG = b"PERDURE_CALL="
RUNNER_WORDS = (b"activities.processes import runner",)
"""In the arguments of whatever runs an agent's command, which stays the ancestor of all that the command starts."""

_PROC = Path("/proc")
_MOST_ANCESTORS = 1_000


def check_person(act: str) -> None:
    """DeniedError when this process descends from an agent's own command; `act` names what is refused."""
    if is_agents_command():
        raise DeniedError(
            f"{act} is for a person, and this is a command that an agent runs: ask the person to do it.",
            reason="agents_command",
        )


def is_agents_command() -> bool:
    """Whether this process, or one that it descends from, is a command that an agent runs."""
    return os.environ.get("PERDURE_CALL") is not None or any(_is_marked(pid) for pid in _ancestors(os.getpid()))


def _ancestors(pid: int) -> Iterator[int]:
    """The process and those it descends from; only itself where the system lists none."""
    for _ in range(_MOST_ANCESTORS):
        yield pid
        pid = _parent(pid)
        if pid <= 0:
            return


def _is_marked(pid: int) -> bool:
    words = _read(pid, "cmdline")
    return any(pair.startswith(CALL_TAG) for pair in _read(pid, "environ").split(b"\0")) or any(
        word in words for word in RUNNER_WORDS
    )


def _read(pid: int, name: str) -> bytes:
    try:
        return (_PROC / str(pid) / name).read_bytes()
    except OSError:
        return b""


def _parent(pid: int) -> int:
    # The name stands in brackets and may hold anything: the fixed fields follow the last one.
    fields = _read(pid, "stat").rpartition(b")")[2].split()
    return int(fields[1]) if len(fields) > 1 else 0
