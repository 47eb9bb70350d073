"""Search: one ripgrep process, read in bounded memory, never left behind."""

import asyncio
import os
import re
import shutil
import signal
import sys
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from activities.processes.search_lines import Sieve

KEPT = 1024 * 1024
"""Bytes of output that are kept; then the search is ended."""
PIECE = 64 * 1024
NAMED = 5
"""Names kept for each reason why something was skipped."""
ERROR_BYTES = 4_000
# ripgrep tells what it passes over only in its debug log.
IGNORED = re.compile(r"ignoring (.*): Ignore\(IgnoreMatch\(Gitignore\(Glob \{ from: (?:Some\(\"(.*?)\"\)|None)")
BINARY = re.compile(r"ignoring (.*): found binary data at offset")
LINK = re.compile(r"ignoring (.*): failed to pass haystack filter: .*?is_symlink: true")
SPECIAL = re.compile(r"ignoring (.*): failed to pass haystack filter")
UNREADABLE = re.compile(r"rg: (.*?): (?:IO error for operation on .*?: )?([^:]*) \(os error \d+\)")


@dataclass
class Skipped:
    """What was not searched for one reason."""

    count: int = 0
    names: list[str] = field(default_factory=list)
    """The first ones."""


@dataclass
class Found:
    """What a search gave."""

    lines: list[str] = field(default_factory=list)
    has_more: bool = False
    """Ended because enough lines or bytes were read."""
    is_late: bool = False
    """Ended because its time was over."""
    status: int = 0
    errors: str = ""
    """What ripgrep refused as a whole: pattern, type, glob."""
    skipped: dict[str, Skipped] = field(default_factory=dict)
    """By reason."""


def find_ripgrep() -> Path | None:
    """The program of the wheel beside this Python, else the one on PATH; None when there is neither."""
    beside = Path(sys.executable).with_name("rg")
    found = str(beside) if beside.is_file() else shutil.which("rg")
    return Path(found) if found else None


@dataclass(frozen=True)
class Wanted:
    """One search."""

    program: Path
    arguments: tuple[str, ...]
    folder: Path
    """Where it runs."""
    feed: bytes | None = None
    """Searched instead of files, when given."""
    first: int = 0
    """Lines of output passed over."""
    most: int = 0
    """Lines of output kept; 0 for all."""
    seconds: float = 60.0
    sieve: Sieve | None = None
    """Leaves out lines of hidden files, where some may be."""


async def run_search(wanted: Wanted) -> Found:
    """Run it to its end, or until enough is read; when cancelled its whole group is killed first."""
    process = await _started(wanted, "--debug")
    found = Found()
    jobs = [
        asyncio.create_task(_errors(process.stderr, found, wanted.sieve)),
        asyncio.create_task(_feed(process, wanted.feed)),
    ]
    try:
        async with asyncio.timeout(wanted.seconds):
            await _output(process.stdout, wanted, found)
            if not found.has_more:
                await asyncio.gather(*jobs)
    except TimeoutError:
        found.is_late = True
    finally:
        await _end(process, jobs)
    found.status = process.returncode or 0
    return found


async def list_files(wanted: Wanted, take: Callable[[str], object]) -> bool:
    """Give away the path of each file that a search would look at; whether time was enough for all of them."""
    process = await _started(wanted, "--files", "--null", "--no-messages")
    jobs = [asyncio.create_task(_errors(process.stderr, Found(), None)), asyncio.create_task(_feed(process, None))]
    rest = b""
    try:
        async with asyncio.timeout(wanted.seconds):
            while process.stdout is not None and (piece := await process.stdout.read(PIECE)):
                *names, rest = (rest + piece).split(b"\0")
                for name in names:
                    take(name.decode("utf-8", "surrogateescape"))
    except TimeoutError:
        return False
    finally:
        await _end(process, jobs)
    return True


async def _started(wanted: Wanted, *words: str) -> asyncio.subprocess.Process:
    return await asyncio.create_subprocess_exec(
        wanted.program,
        *("--no-config", "--color", "never", *words),
        *wanted.arguments,
        cwd=wanted.folder,
        stdin=asyncio.subprocess.DEVNULL if wanted.feed is None else asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
        start_new_session=True,
    )


async def _end(process: asyncio.subprocess.Process, jobs: list[asyncio.Task[None]]) -> None:
    """Leave nothing behind, whatever happened; also of a search that has ended by itself."""
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)
    for job in jobs:
        job.cancel()
    await asyncio.gather(*jobs, return_exceptions=True)
    await process.wait()


async def _feed(process: asyncio.subprocess.Process, data: bytes | None) -> None:
    if process.stdin is None or data is None:
        return
    with suppress(BrokenPipeError, ConnectionResetError):
        process.stdin.write(data)
        await process.stdin.drain()
    process.stdin.close()


async def _output(stream: asyncio.StreamReader | None, wanted: Wanted, found: Found) -> None:
    rest = b""
    kept = seen = 0
    while stream is not None and (piece := await stream.read(PIECE)):
        *lines, rest = (rest + piece).split(b"\n")
        for line in _sieved(wanted.sieve, lines):
            seen += 1
            if seen <= wanted.first:
                continue
            if kept > KEPT or (wanted.most and len(found.lines) == wanted.most):
                found.has_more = True
                return
            found.lines.append(_text(line))
            kept += len(line) + 1
        if len(rest) > KEPT:
            found.has_more = True
            return
    for line in _sieved(wanted.sieve, [rest] if rest else []):
        if seen >= wanted.first:
            found.has_more = bool(wanted.most) and len(found.lines) == wanted.most
            found.lines += [] if found.has_more else [_text(line)]


def _sieved(sieve: Sieve | None, lines: list[bytes]) -> Iterable[bytes]:
    return lines if sieve is None else (kept for line in lines for kept in sieve.lines(line))


def _text(line: bytes) -> str:
    return line.removesuffix(b"\r").decode("utf-8", "replace").removeprefix("./")


async def _errors(stream: asyncio.StreamReader | None, found: Found, sieve: Sieve | None) -> None:
    rest = b""
    while stream is not None and (piece := await stream.read(PIECE)):
        *lines, rest = (rest + piece).split(b"\n")
        for line in lines:
            _sort(line.decode("utf-8", "replace"), found, sieve)
        rest = rest[-PIECE:]
    if rest:
        _sort(rest.decode("utf-8", "replace"), found, sieve)


def _sort(line: str, found: Found, sieve: Sieve | None) -> None:
    if line.startswith("rg: DEBUG|"):
        reason, name = _passed_over(line.removeprefix("rg: DEBUG|"))
    elif line.startswith("rg: TRACE|"):
        return
    elif match := UNREADABLE.match(line):
        reason, name = f"not readable ({match[2].strip()})", match[1]
    else:
        if len(found.errors) < ERROR_BYTES and line.strip():
            found.errors += line.removeprefix("rg: ") + "\n"
        return
    if reason and not (sieve and sieve.is_hidden(name)):
        _skip(found, reason, name)


def _passed_over(line: str) -> tuple[str, str]:
    """Why something was passed over, and its name; empty for a line that tells something else."""
    if ": ignoring " not in line:
        return "", ""
    if match := IGNORED.search(line):
        return f"ignored by {(match[2] or '.gitignore').removeprefix('./')}", match[1]
    if match := BINARY.search(line):
        return "binary", match[1]
    if match := LINK.search(line):
        return "symbolic link, not followed", match[1]
    if match := SPECIAL.search(line):
        return "not a regular file", match[1]
    return "", ""


def _skip(found: Found, reason: str, name: str) -> None:
    skipped = found.skipped.setdefault(reason, Skipped())
    skipped.count += 1
    if len(skipped.names) < NAMED:
        skipped.names.append(name.removeprefix("./"))
