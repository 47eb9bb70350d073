"""Attach: run a command once whatever happens to us, watch it, end it, and say what became of it."""

from __future__ import annotations

import asyncio
import logging
import os
import signal
import time
from collections.abc import Callable
from pathlib import Path

from activities.processes import claim, lean, tree
from activities.processes.command import TAG, CommandEnd, CommandProgress, CommandSpec, EndKind, end_from_status
from activities.processes.output import stored_bytes
from activities.processes.spawn import spawn_runner

QUICKEST, SLOWEST = 0.005, 0.1
"""Seconds between two looks: a hundredth of the time it runs already, within these."""

END_LIMIT = 10.0
"""Seconds that ending what is left of a dead runner's tree may take."""

log = logging.getLogger(__name__)


async def run_command(
    folder: Path,
    spec: CommandSpec,
    on_progress: Callable[[CommandProgress], None] | None = None,
    starter: Callable[[Path], None] = spawn_runner,
) -> CommandEnd:
    """Run a command once, or join it where it runs, and wait for its end; cancelling the wait leaves it running.

    OSError when it cannot be started: then it did not begin, or (TimeoutError) the next attempt joins it. `starter` may
    be a WarmStart.
    """
    await _started(folder, spec, starter)
    return await watch(folder, on_progress)


async def run_for(
    folder: Path,
    spec: CommandSpec,
    seconds: float | None,
    on_progress: Callable[[CommandProgress], None] | None = None,
    starter: Callable[[Path], None] = spawn_runner,
) -> CommandEnd | None:
    """The same, but wait only for so many seconds since it began, whoever began it; None when it runs on."""
    await _started(folder, spec, starter)
    at = claim.facts_of(str(folder)).get("at")
    since = max(0.0, time.time() - at) if isinstance(at, float) else 0.0
    try:
        return await asyncio.wait_for(watch(folder, on_progress), None if seconds is None else seconds - since)
    except TimeoutError:
        return ended(folder)


async def _started(folder: Path, spec: CommandSpec, starter: Callable[[Path], None]) -> None:
    if not claim.is_taken(str(folder)):
        await asyncio.to_thread(start, folder, spec, starter)


def start(folder: Path, spec: CommandSpec, starter: Callable[[Path], None] = spawn_runner) -> None:
    """Write what is asked, unless an earlier attempt did, and start a runner; a second one does no harm."""
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    if not lean_file(folder / "command.json"):
        private = folder / f"command.json.{os.getpid()}.{time.time_ns()}"
        descriptor = os.open(private, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        try:
            claim.write_all(descriptor, (lean.dump_json(spec.as_record()) + "\n").encode("ascii"))
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
        private.rename(folder / "command.json")
        claim.fsync_folder(str(folder))
    starter(folder)


async def watch(folder: Path, on_progress: Callable[[CommandProgress], None] | None = None) -> CommandEnd:
    """Wait for the end of what was started in a folder."""
    began, told, seen = time.monotonic(), 0.0, -1
    while True:
        if end := ended(folder):
            return end
        if not claim.is_held(str(folder)):
            return await asyncio.to_thread(last_look, folder)
        now = time.monotonic()
        size = stored_bytes(folder)
        if on_progress and (size != seen or now - told >= 1.0):
            told, seen = now, size
            on_progress(CommandProgress(seconds=now - began, stored_bytes=size))
        await asyncio.sleep(min(max(QUICKEST, (now - began) / 100), SLOWEST))


async def end_command(folder: Path, grace: float = 5.0) -> CommandEnd | None:
    """End a command and all it started, whoever started it; None when it never began, and now never will.

    The runner has `grace` seconds to do it in order and to say how it ended; then it is killed with its tree.
    """
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    if not claim.is_taken(str(folder)) and claim.prevent(str(folder)):
        return None
    if claim.facts_of(str(folder)).get("prevented"):
        return None
    for number, limit in ((signal.SIGTERM, grace), (signal.SIGKILL, 2 * END_LIMIT)):
        signal_runner(folder, number)
        try:
            return await asyncio.wait_for(watch(folder), limit)
        except TimeoutError:
            continue
    return unknown(folder, "its runner cannot be ended")


def ended(folder: Path) -> CommandEnd | None:
    """How it ended, if it did and said so."""
    status = lean_file(folder / "status")
    try:
        return end_from_status(status) if status else None
    except (ValueError, TypeError):
        log.warning("the status in %s is damaged", folder)
        return None


def is_running(folder: Path) -> bool:
    """Whether a runner is alive here."""
    return claim.is_held(str(folder))


def signal_runner(folder: Path, number: int) -> None:
    """Signal the runner, if it is alive and its pid still means it."""
    facts = claim.facts_of(str(folder))
    pid, started = claim.number(facts, "runner"), claim.number(facts, "runner_started")
    if not claim.is_held(str(folder)) or facts.get("boot") != tree.boot_id():
        return
    if not hasattr(os, "pidfd_open"):  # macOS: the lock must do
        os.kill(pid, number)
        return
    try:
        descriptor = os.pidfd_open(pid)
    except ProcessLookupError:
        return
    try:
        # Looked at after the descriptor is ours: from here on the pid cannot come to mean another process.
        if tree.is_same(pid, started):
            signal.pidfd_send_signal(descriptor, number)
    except ProcessLookupError:
        return
    finally:
        os.close(descriptor)


def last_look(folder: Path) -> CommandEnd:
    """The end of what has no runner: it may have ended since we looked for its status, else its runner died."""
    return ended(folder) or bury(folder)


def bury(folder: Path) -> CommandEnd:
    """End what a dead runner left, and say what is known; never raises for a damaged record."""
    facts = claim.facts_of(str(folder))
    if facts.get("prevented"):
        return CommandEnd(kind=EndKind.CANCELLED, is_started=False, note="it was ended before it began")
    if facts.get("boot", tree.boot_id()) != tree.boot_id():
        return unknown(folder, "the machine was restarted while it ran")
    wait_for_warden(facts)
    key = key_of(folder)
    remaining = tree.end_all(lambda: left_behind(facts, key), grace=0.5, limit=END_LIMIT)
    return unknown(folder, "its runner died while it ran", remaining)


def unknown(folder: Path, note: str, remaining: tuple[int, ...] = ()) -> CommandEnd:
    """The end of a command that nobody saw."""
    size, at = stored_bytes(folder), claim.facts_of(str(folder)).get("at")
    return CommandEnd(
        kind=EndKind.UNKNOWN,
        note=note,
        remaining=remaining,
        started_at=at if isinstance(at, float) else None,
        output_bytes=size,
        stored_bytes=size,
    )


def left_behind(facts: dict[str, object], key: str) -> list[tree.Process]:
    """Processes of a dead runner: those with its tag, those in its session, and all below them."""
    everyone = tree.all_processes()
    session = claim.number(facts, "session")
    # Without its leader a session's number may by now mean another one; then only the tag counts.
    in_session = session if tree.is_same(session, claim.number(facts, "session_started")) else -1
    tag = f"{TAG}={key}".encode() if key else b""
    roots = [each.pid for each in everyone if each.session == in_session or (tag and tree.carries(each, tag))]
    found = {each.pid: each for each in everyone if each.pid in roots}
    if is_warden_alive(facts):
        roots.append(claim.number(facts, "warden"))
    found.update({each.pid: each for each in tree.below(roots, everyone)})
    found.pop(os.getpid(), None)
    return list(found.values())


def is_warden_alive(facts: dict[str, object]) -> bool:
    """Whether the runner's parent is still at work."""
    return tree.is_same(claim.number(facts, "warden"), claim.number(facts, "warden_started"))


def wait_for_warden(facts: dict[str, object]) -> None:
    """Let the warden end the tree, since it also reaches what carries no tag; not for ever, it may be stopped."""
    until = time.monotonic() + END_LIMIT / 2
    while is_warden_alive(facts) and time.monotonic() < until:
        time.sleep(tree.TICK)


def key_of(folder: Path) -> str:
    """The tag of a folder's command; empty when command.json is damaged."""
    environment = lean_file(folder / "command.json").get("environment")
    return str(environment.get(TAG, "")) if isinstance(environment, dict) else ""


def lean_file(path: Path) -> dict[str, object]:
    """A record of the runner's; empty when it is absent or damaged."""
    try:
        return lean.parse_json(path.read_text("ascii"))
    except (OSError, ValueError):
        return {}
