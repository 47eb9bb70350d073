"""How a command's end is told to the model."""

import asyncio
import re
import shlex
from collections.abc import Sequence
from itertools import dropwhile
from pathlib import Path

from activities.processes.command import CommandEnd, CommandSpec, EndKind
from activities.processes.output import read_head, read_output, read_tail
from activities.safety.paths import is_inside
from activities.tool import Call
from workflows.contracts.errors import FailureKind, StepFailure, UserError
from workflows.contracts.messages import Text, clean
from workflows.contracts.tools import CallStatus, Effect, ToolOutcome

SHOWN_FAILED = 10_000
"""Bytes of a failure's output that the model is shown (spec 05 §2)."""

KEPT = 32 * 1024 * 1024
"""Bytes kept of an output's beginning; they are in the worker's memory twice while they are stored."""

_QUESTIONS = {"grep", "rg", "egrep", "fgrep", "find", "diff", "test", "[", "[["}
"""Programs whose exit code 1 is an answer, not an error (spec 05 §2)."""

_QUIET = {"cd", "echo", "printf", "true"}
"""Programs that stand beside a question without changing what its exit code means."""

_ASSIGNMENT = re.compile(r"[A-Za-z_][A-Za-z0-9_]*=.*", re.DOTALL)

_LINE_ENDS = re.compile(rb"\r\n?")


MOST_SUMMED_UP = 160
"""Characters of a command that a question shows in its own line."""


def summed_up(command: str) -> str:
    """A command in one line, for a list."""
    return " ".join(command.split())[:200]


def shown_whole(call: Call, command: str) -> str:
    """What a person must see before they allow it, secrets masked; empty where one line shows all of it as it is."""
    command = command.strip()
    if len(command) <= MOST_SUMMED_UP and command == summed_up(command):
        return ""
    return call.world.masker(call.session).text(command)


async def outcome_of(
    call: Call, command: str, spec: CommandSpec, end: CommandEnd, notes: Sequence[str] = ()
) -> ToolOutcome:
    """Output, ending and effects of a command that ended; `notes` are lines about how it was run."""
    failed = is_failure(command, end)
    shown_well = call.settings.bash_shown
    limit = min(SHOWN_FAILED, shown_well) if failed else shown_well
    folder = call.record.folder
    masker = call.world.masker(call.session)
    data = await asyncio.to_thread(lambda: masker.data(_whole(folder, end)))
    is_whole = len(data) <= limit and _size(data) <= limit
    full = "" if is_whole else await _stored(call, data)
    shown = readable(data) if is_whole else _shown(data, limit, full, end)
    cwd, moved = _moved(call, end)
    words = [shown, *_endings(end, spec), *map(clean, notes), moved]
    return ToolOutcome(
        content=(Text(text="\n".join(word for word in words if word) or "(no output)"),),
        is_error=failed,
        full=full,
        size=end.output_bytes,
        effects=(Effect(kind="command", path=spec.cwd),) if end.is_started else (),
        status=_status(end, failed=failed),
        cwd=cwd,
        data={
            "exit_code": end.exit_code,
            "signal": end.signal,
            "end": end.kind.value,
            "seconds": round(end.seconds or 0.0, 3),
            "output_bytes": end.output_bytes,
            "leftovers": end.leftovers,
            "remaining": list(end.remaining),
        },
    )


async def _stored(call: Call, data: bytes) -> str:
    """Digest of the whole output. A store that fails now may take it later: the command ran, so it is not given up."""
    try:
        return await call.world.store.put(data)
    except UserError as error:
        raise StepFailure(FailureKind.STORE, str(error), retryable=True) from error


def is_failure(command: str, end: CommandEnd) -> bool:
    """Whether the model is told of an error; exit code 1 of a search is an answer."""
    if end.kind != EndKind.EXITED or end.exit_code is None:
        return True
    if end.exit_code == 1:
        return not _is_question(command)
    return end.exit_code != 0


def _is_question(command: str) -> bool:
    """Whether the exit code is that of a question: of the last command, or of an `&&` chain at the end."""
    chain: list[list[str]] = [[]]
    try:
        for word in _words(command.strip().rstrip(";")):
            if word == "&&":
                chain.append([])
            elif set(word) <= set(";&|()\n"):
                chain = [[]]
            else:
                chain[-1].append(word)
    except ValueError:
        return False
    asked = [_asks(words) for words in chain]
    return True in asked and all(
        asks or (words[:1] and words[0] in _QUIET) for asks, words in zip(asked, chain, strict=True)
    )


def _words(command: str) -> shlex.shlex:
    """The words and separators of a command. Reading them raises ValueError for an open quote."""
    words = shlex.shlex(command, posix=True, punctuation_chars=";&|()<>\n")
    words.whitespace, words.commenters, words.whitespace_split = " \t\r", "", True
    return words


def _asks(words: list[str]) -> bool:
    words = list(dropwhile(lambda word: _ASSIGNMENT.fullmatch(word) is not None, words))
    program = words[0].rsplit("/", maxsplit=1)[-1] if words else ""
    if program == "git":
        return next((word for word in words[1:] if not word.startswith("-")), "") in {"diff", "grep"}
    return program in _QUESTIONS


def _status(end: CommandEnd, *, failed: bool) -> CallStatus:
    if end.kind == EndKind.UNKNOWN:
        return CallStatus.UNKNOWN
    if end.kind == EndKind.CANCELLED:
        return CallStatus.CANCELLED
    return CallStatus.ERROR if failed else CallStatus.OK


def _whole(folder: Path, end: CommandEnd) -> bytes:
    if not end.tail_bytes:
        return read_output(folder, 0, end.stored_bytes)
    gap = end.output_bytes - end.stored_bytes - end.tail_bytes
    note = f"\n[{gap} bytes were not kept]\n".encode() if gap > 0 else b""
    return b"".join((read_head(folder, end.stored_bytes), note, read_tail(folder, end.tail_bytes, end)))


def _shown(data: bytes, limit: int, full: str, end: CommandEnd) -> str:
    half = min(limit, len(data)) // 2
    head, tail = _fitting(data[:half], limit // 2, is_end=False), _fitting(data[-half:], limit // 2, is_end=True)
    left_out = end.output_bytes - len(head) - len(tail)
    is_kept = end.stored_bytes + end.tail_bytes >= end.output_bytes
    kept = "all of it" if is_kept else "its beginning and its end, as much as is kept"
    note = f"[{left_out:,} of {end.output_bytes:,} bytes left out; {kept}: Read result:{full}]"
    return f"{readable(head)}\n{note}\n{readable(tail)}"


def _fitting(data: bytes, limit: int, *, is_end: bool) -> bytes:
    """As much of the beginning or end as makes a text within the limit: what is no text grows when it is replaced."""
    while (size := _size(data)) > limit:
        kept = len(data) * limit // (size + 1)
        data = data[len(data) - kept :] if is_end else data[:kept]
    return data


def _size(data: bytes) -> int:
    return len(readable(data).encode())


def readable(data: bytes) -> str:
    """Bytes of a program as text: UTF-8 with what is broken replaced, one kind of line end."""
    return clean(_LINE_ENDS.sub(b"\n", data).decode("utf-8", errors="replace")).rstrip("\n")


def _endings(end: CommandEnd, spec: CommandSpec) -> list[str]:
    told = {
        EndKind.EXITED: f"[exit code {end.exit_code}]" if end.exit_code else "",
        EndKind.SIGNAL: f"[ended by signal {end.signal}]",
        EndKind.DEADLINE: f"[ended after {spec.deadline or 0:g} s, its time limit; what it printed so far is above]",
        EndKind.SILENCE: f"[ended after {spec.silence or 0:g} s without output]",
        EndKind.CANCELLED: "[interrupted by the person; what it printed so far is above]"
        if end.is_started
        else "[interrupted by the person before it began; it did not run]",
        EndKind.UNKNOWN: f"[outcome unknown: {end.note or 'its runner died'}. It may have done all, a part or nothing "
        "of its work: look before you run it again]",
    }
    words = [told[end.kind]]
    if end.leftovers and end.kind == EndKind.EXITED:
        words.append(f"[{end.leftovers} process(es) it left running were ended]")
    if end.remaining:
        words.append(f"[could not be ended: processes {', '.join(map(str, end.remaining))}]")
    if end.output_error:
        words.append(f"[not all output could be kept: {end.output_error}]")
    return words


def _moved(call: Call, end: CommandEnd) -> tuple[str, str]:
    """Where the next command starts, empty for where this one did, and what the model is told of it."""
    if end.cwd is None or Path(end.cwd) == call.cwd:
        return "", ""
    name = clean(end.cwd)
    if not is_inside(Path(end.cwd), call.workspace):
        return str(call.workspace), f"[{name} is outside the workspace; the next command starts in {call.workspace}]"
    if name != end.cwd:
        return str(call.workspace), f"[{name} is no UTF-8 name; the next command starts in {call.workspace}]"
    return name, f"[now in {name}]"
