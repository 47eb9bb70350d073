"""What a command is asked to be, how it goes, and how it ended."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from activities.processes.confinement import Confinement
from activities.processes.program import CWD_FD

TAG = "PERDURE_CALL"
"""The variable that marks every process of a call, so that a later worker finds them."""

MEBIBYTE = 1024 * 1024

LONGEST_WORD = 30_000
"""Characters in one argument; Linux takes 128 KiB at most, and a character may be four bytes."""

# `set +x` keeps our own line out of a traced script's output; an error of pwd (folder gone) is no output either.
REPORT = (
    "trap '{ PERDURE_EXIT=$?; set +x; } 2>/dev/null; "
    f"{{ builtin echo $PERDURE_EXIT; builtin pwd -P; }} 2>/dev/null >&{CWD_FD}' EXIT; "
)


@dataclass(frozen=True, slots=True, kw_only=True)
class CommandSpec:
    """A command to be run once. Not a Contract: it stays on this host, and its texts may hold what is no UTF-8."""

    key: str
    """The call's key; every process of the command carries it as PERDURE_CALL."""

    argv: tuple[str, ...]
    """Program and arguments; `shell()` makes them from a shell's text."""

    cwd: str
    """Absolute path of the folder it starts in."""

    environment: Mapping[str, str] = field(repr=False)
    """The full environment; nothing is added but the tag."""

    deadline: float | None = 120.0
    """Seconds it may run; a suspended machine does not count."""

    silence: float | None = None
    """Seconds it may run without any output."""

    grace: float = 1.5
    """Seconds between TERM and KILL."""

    output_cap: int = 64 * MEBIBYTE
    """Bytes of output kept from the beginning; beyond them only the last MiB is."""

    umask: int | None = None
    """Its umask; None leaves the worker's."""

    sandbox: Confinement | None = None
    """What holds it; None for the person's own rights."""

    def as_record(self) -> dict[str, object]:
        """What goes into command.json."""
        return {
            "argv": list(self.argv),
            "cwd": self.cwd,
            "environment": {**self.environment, TAG: self.key},
            "deadline": self.deadline,
            "silence": self.silence,
            "grace": self.grace,
            "output_cap": self.output_cap,
            "umask": self.umask,
            **({"sandbox": self.sandbox.as_record()} if self.sandbox else {}),
        }


def shell(text: str) -> tuple[str, ...]:
    """The argv that runs a text in bash and reports where it ended."""
    if len(text) <= LONGEST_WORD:
        return ("bash", "-c", REPORT + text)
    pieces = [text[place : place + LONGEST_WORD] for place in range(0, len(text), LONGEST_WORD)]
    whole = "".join(f"${{{number}}}" for number in range(1, len(pieces) + 1))
    return ("bash", "-c", f'{REPORT}eval "set --; {whole}"', "bash", *pieces)


class EndKind(StrEnum):
    """How a command ended."""

    EXITED = "exited"
    SIGNAL = "signal"
    DEADLINE = "deadline"
    SILENCE = "silence"
    CANCELLED = "cancelled"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True, kw_only=True)
class CommandEnd:
    """How a command ended, by the runner's own word, or that nobody knows."""

    kind: EndKind
    exit_code: int | None = None
    """Also after a deadline or a cancel, when the command itself left by `exit`."""

    signal: int | None = None
    """The signal that ended the command itself."""

    is_started: bool = True
    """False when it was ended before it began: then nothing happened."""

    started_at: float | None = None
    """Seconds since the epoch."""

    ended_at: float | None = None
    """Seconds since the epoch."""

    seconds: float | None = None
    output_bytes: int = 0
    """All bytes it wrote, kept or not."""

    stored_bytes: int = 0
    """Bytes kept from the beginning."""

    tail_bytes: int = 0
    """Bytes kept from the end, beyond the beginning."""

    output_error: str = ""
    """Why not all output could be kept, such as a full disk."""

    leftovers: int = 0
    """Processes that were still there when the command had ended, and were ended."""

    remaining: tuple[int, ...] = ()
    """Pids that could not be ended; empty but for processes stuck in the kernel or another user's."""

    cwd: str | None = None
    """The shell's last folder; None when it did not say (no shell, `exec`, killed, its own EXIT trap)."""

    sandbox_error: str = ""
    """Why its sandbox could not be made; then nothing of it ran."""

    note: str = ""
    """For `unknown` and for what never started: why."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CommandProgress:
    """A running command, as often as something changed, and at least once a second."""

    seconds: float
    """Since we attached."""

    stored_bytes: int
    """What can be read of its output by now."""


def end_from_status(status: Mapping[str, object]) -> CommandEnd:
    """The end that a runner's status tells; ValueError when it tells none."""
    names = CommandEnd.__dataclass_fields__.keys() - {"kind", "remaining", "note"}
    known = {name: value for name, value in status.items() if name in names}
    remaining = status.get("remaining")
    pids = tuple(pid for pid in remaining if isinstance(pid, int)) if isinstance(remaining, list) else ()
    kind = EndKind(str(status.get("reason")))
    return CommandEnd(kind=kind, remaining=pids, **known)  # type: ignore[arg-type]  # the runner wrote these fields


def inherited_environment() -> dict[str, str]:
    """The little that the runner's own Python needs of ours; secrets stay out of its /proc entry."""
    wanted = ("PATH", "LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH", "TMPDIR")
    return {name: os.environ[name] for name in wanted if name in os.environ}
