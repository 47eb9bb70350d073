"""A command hook: started through a runner, so that it runs once and its answer outlives the worker."""

import asyncio
import os
import time
from contextlib import suppress
from pathlib import Path

from activities.hooks.place import Ended, HookPlace, limit_of
from activities.hooks.protocol import Said
from activities.processes.attach import end_command, ended, run_command, start
from activities.processes.claim import is_taken
from activities.processes.command import CommandEnd, CommandProgress, CommandSpec, EndKind
from activities.processes.output import read_head
from activities.stores.files import make_folder
from workflows.contracts.extensions import HookRule

MOST_OUTPUT = 1024 * 1024
"""Bytes of an answer; more is no answer."""

MOST_ERRORS = 16 * 1024 * 1024
"""Bytes of standard error after which a hook is ended."""

_ERRORS_READ = 64 * 1024

# The runner joins both streams, and an answer must be told from a warning.
_STREAMS = 'exec 0<"$0" 2>"$1"; shift; exec "$@"'

_NOT_FOUND = {126: "it cannot be executed", 127: "there is no such program or script"}


async def run_command_hook(place: HookPlace, rule: HookRule, given: bytes) -> Ended:
    """Run the hook, or join the one that an earlier attempt started. Cancelling this leaves it running."""
    folder = place.folder_of(rule)
    earlier = _earlier(folder)
    began = time.monotonic()
    errors = folder / "errors"
    watching: set[asyncio.Task[CommandEnd | None]] = set()

    def look(_progress: CommandProgress) -> None:
        with suppress(OSError):
            if errors.stat().st_size > MOST_ERRORS and not watching:
                watching.add(asyncio.ensure_future(end_command(folder)))

    try:
        spec = await asyncio.to_thread(_prepared, place, rule, given)
        end = await run_command(folder, spec, look, place.world.start_runner)
    except TimeoutError:
        await end_command(folder)
        return Ended(failure="crash", text="it could not be started in time")
    except OSError as error:
        return Ended(failure="crash", text=f"it could not be started: {error}")
    seconds = round(end.seconds if end.seconds is not None else time.monotonic() - began, 3)
    return await asyncio.to_thread(_ended, folder, end, earlier, seconds)


async def start_beside(place: HookPlace, rule: HookRule, given: bytes) -> str:
    """Start an async hook, once; why it could not be started, empty when it was."""
    try:
        spec = await asyncio.to_thread(_prepared, place, rule, given)
        folder = place.folder_of(rule)
        if not is_taken(str(folder)):
            await asyncio.to_thread(start, folder, spec, place.world.start_runner)
    except OSError as error:
        return f"it could not be started: {error}"
    return ""


async def end_hooks(folder: Path) -> None:
    """End every hook of a moment that still runs."""
    running = [each for each in _folders(folder) if is_taken(str(each)) and ended(each) is None]
    await asyncio.gather(*(end_command(each) for each in running))


def _folders(folder: Path) -> list[Path]:
    try:
        return sorted(each for each in folder.iterdir() if each.is_dir())
    except OSError:
        return []


def finished(folder: Path, limit: float = 0.0) -> Ended | None:
    """How an async hook ended; None while it runs, or when it never began."""
    end = ended(folder)
    return None if end is None else _ended(folder, end, "", round(end.seconds or limit, 3))


def _earlier(folder: Path) -> str:
    """What is left of an attempt that died."""
    if not is_taken(str(folder)):
        return ""
    return "attached" if ended(folder) is None else "found"


def _prepared(place: HookPlace, rule: HookRule, given: bytes) -> CommandSpec:
    folder = place.folder_of(rule)
    make_folder(folder)
    if not (folder / "input").exists():
        # Whole or not at all; not synced, since a hook outlives no restart of the machine anyway.
        private = folder / f"input.{os.getpid()}.{time.time_ns()}"
        private.write_bytes(given)
        private.rename(folder / "input")
    argv = ("bash", "-c", _STREAMS, str(folder / "input"), str(folder / "errors"), *_words(rule))
    return CommandSpec(
        key=place.key,
        argv=argv,
        cwd=str(place.cwd if place.cwd.is_dir() else place.project),
        environment=place.environment(rule),
        deadline=limit_of(rule),
        grace=0.5,
        output_cap=MOST_OUTPUT,
    )


def _words(rule: HookRule) -> tuple[str, ...]:
    if rule.args is not None:
        return (rule.command, *rule.args)
    if rule.shell == "powershell":
        return ("pwsh", "-NoProfile", "-NonInteractive", "-Command", rule.command)
    return ("bash", "-c", rule.command)


def _ended(folder: Path, end: CommandEnd, earlier: str, seconds: float) -> Ended:
    errors = _read_errors(folder)
    told = Ended(exit=end.exit_code, seconds=seconds, crash=earlier)
    failure, text = _failure(end, errors)
    if failure:
        return Ended(failure=failure, text=text, exit=told.exit, seconds=told.seconds, crash=told.crash)
    output = read_head(folder, MOST_OUTPUT).decode("utf-8", "replace")
    said = Said(stdout=output, stderr=errors, exit=end.exit_code or 0)
    return Ended(said=said, exit=told.exit, seconds=told.seconds, crash=told.crash)


def _failure(end: CommandEnd, errors: str) -> tuple[str, str]:
    """What kept it from saying anything that counts, and a sentence; two empty texts when nothing did."""
    last = errors.strip().splitlines()[-1][:500] if errors.strip() else ""
    because = f": {last}" if last else ""
    if end.kind == EndKind.DEADLINE:
        return "timeout", f"it did not end within its time{because}"
    if end.kind == EndKind.SIGNAL:
        return "crash", f"it was ended by signal {end.signal}{because}"
    if end.kind != EndKind.EXITED or end.exit_code is None:
        return "crash", f"how it ended is not known: {end.note or end.kind.value}{because}"
    if end.exit_code in _NOT_FOUND:
        return "missing", f"{_NOT_FOUND[end.exit_code]}{because}"
    if end.exit_code not in {0, 2}:
        return "exit", f"it ended with exit code {end.exit_code}, which is neither yes (0) nor no (2){because}"
    if end.output_bytes > MOST_OUTPUT or end.output_error:
        return "too_much", f"it printed {end.output_bytes:,} bytes; an answer has at most {MOST_OUTPUT:,}"
    return "", ""


def _read_errors(folder: Path) -> str:
    try:
        with (folder / "errors").open("rb") as file:
            return file.read(_ERRORS_READ).decode("utf-8", "replace")
    except OSError:
        return ""
