"""How a command's end is told to the model."""

import asyncio
import re
import shlex
from pathlib import Path

from activities.processes.command import CommandEnd, CommandSpec, EndKind
from activities.processes.output import read_head, read_output, read_tail
from activities.safety.paths import is_inside
from activities.tool import Call
from workflows.contracts.messages import Text, clean
from workflows.contracts.tools import CallStatus, Effect, ToolOutcome

SHOWN_OK, SHOWN_FAILED = 30_000, 10_000
"""Bytes of output that the model is shown (spec 05 §2)."""

STORED = 64 * 1024 * 1024
"""Bytes of output that are kept in the store."""

_NO_MATCH = {"grep", "rg", "egrep", "fgrep", "find", "diff", "test", "["}
"""Programs whose exit code 1 is an answer, not an error (spec 05 §2)."""

_LINE_ENDS = re.compile(rb"\r\n?")


async def outcome_of(call: Call, command: str, spec: CommandSpec, end: CommandEnd) -> ToolOutcome:
    """Output, ending and effects of a command that ended."""
    failed = is_failure(command, end)
    limit = SHOWN_FAILED if failed else SHOWN_OK
    folder = call.record.folder
    data = await asyncio.to_thread(_whole, folder, end)
    full = await call.world.store.put(data) if len(data) > limit else ""
    shown = _shown(data, limit, full, end)
    words = [shown, *_endings(end, spec), *_folder_words(call, end)]
    return ToolOutcome(
        content=(Text(text="\n".join(word for word in words if word) or "(no output)"),),
        is_error=failed,
        full=full,
        size=end.output_bytes,
        effects=(Effect(kind="command", path=spec.cwd),),
        status=_status(end, failed=failed),
        cwd=_next_folder(call, end),
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


def is_failure(command: str, end: CommandEnd) -> bool:
    """Whether the model is told of an error; exit code 1 of a search is an answer."""
    if end.kind != EndKind.EXITED or end.exit_code is None:
        return True
    if end.exit_code == 1:
        return not _is_question(command)
    return end.exit_code != 0


def _is_question(command: str) -> bool:
    try:
        words = shlex.split(command.rsplit("|", maxsplit=1)[-1])
    except ValueError:
        return False
    return bool(words) and (words[0] in _NO_MATCH or words[:2] in (["git", "diff"], ["git", "grep"]))


def _status(end: CommandEnd, *, failed: bool) -> CallStatus:
    if end.kind == EndKind.UNKNOWN:
        return CallStatus.UNKNOWN
    if end.kind == EndKind.CANCELLED:
        return CallStatus.CANCELLED
    return CallStatus.ERROR if failed else CallStatus.OK


def _whole(folder: Path, end: CommandEnd) -> bytes:
    if not end.tail_bytes:
        return read_output(folder, 0, STORED)
    gap = end.output_bytes - end.stored_bytes - end.tail_bytes
    note = f"\n[{gap} bytes were not kept]\n".encode() if gap > 0 else b""
    return read_head(folder, STORED) + note + read_tail(folder, end.tail_bytes, end)


def _shown(data: bytes, limit: int, full: str, end: CommandEnd) -> str:
    if len(data) <= limit:
        return readable(data)
    head, tail = readable(data[: limit // 2]), readable(data[-limit // 2 :])
    left_out = end.output_bytes - limit
    return f"{head}\n[{left_out:,} of {end.output_bytes:,} bytes left out; all of it: Read result:{full}]\n{tail}"


def readable(data: bytes) -> str:
    """Bytes of a program as text: UTF-8 with what is broken replaced, one kind of line end."""
    return clean(_LINE_ENDS.sub(b"\n", data).decode("utf-8", errors="replace")).rstrip("\n")


def _endings(end: CommandEnd, spec: CommandSpec) -> list[str]:
    told = {
        EndKind.EXITED: f"[exit code {end.exit_code}]" if end.exit_code else "",
        EndKind.SIGNAL: f"[ended by signal {end.signal}]",
        EndKind.DEADLINE: f"[ended after {spec.deadline:g} s, its time limit; what it printed so far is above]",
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


def _folder_words(call: Call, end: CommandEnd) -> list[str]:
    if end.cwd is None or Path(end.cwd) == call.cwd:
        return []
    if is_inside(Path(end.cwd), call.workspace):
        return [f"[now in {clean(end.cwd)}]"]
    return [f"[{clean(end.cwd)} is outside the workspace; the next command starts in {call.workspace}]"]


def _next_folder(call: Call, end: CommandEnd) -> str:
    if end.cwd is None or Path(end.cwd) == call.cwd:
        return ""
    inside = is_inside(Path(end.cwd), call.workspace)
    return end.cwd if inside and end.cwd == clean(end.cwd) else str(call.workspace)
