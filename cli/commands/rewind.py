"""perdure rewind: take back the agent's own changes to files, the conversation, or both."""

import asyncio
import json
import secrets
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated

import typer

from cli.commands.sessions import AsJson, Session, plain
from cli.commands.starting import ID_LETTERS
from cli.display.cells import counted
from cli.gateway import open_sessions
from cli.line import Listed
from cli.person import check_person
from cli.reader import Reader
from cli.sessions import Sessions
from cli.signing import as_person, new_request
from worker.engine import Home
from worker.rewind import Restoration, Rewinder, prepared
from worker.rewind_shown import differences, take_along
from workflows.contracts.audit import Line
from workflows.contracts.errors import PerdureError, UsageError, UserError
from workflows.contracts.session import Interrupt, SessionInput, Snapshot
from workflows.contracts.settings import SessionSettings, Thresholds
from workflows.contracts.transcript import NoticeBody, stamp
from workflows.core.rewind import OPENED, Point, plan_files, point_of

STOP_S = 60.0
RESULT_S = 5.0
"""Seconds to wait for a turn to end, and for the result of a session that has ended."""


@dataclass(frozen=True)
class Wish:
    """What the person wants."""

    to: str
    files: bool
    conversation: bool
    dry_run: bool
    stop: bool


@dataclass(frozen=True)
class Done:
    """What came of it."""

    session: str
    point: Point
    wish: Wish
    notes: tuple[str, ...] = ()
    files: tuple[Restoration, ...] = ()
    folders: tuple[Path, ...] = ()
    """Those that were made for removed files, and went with them."""
    commands: int = 0
    new: str = ""


def rewind(
    session: Session,
    *,
    to: Annotated[str, typer.Option(help="The point: an exchange's number, turn:N, start, or an entry's digest.")],
    files: Annotated[bool, typer.Option("--files", help="Only the files.")] = False,
    conversation: Annotated[bool, typer.Option("--conversation", help="Only the conversation.")] = False,
    both: Annotated[bool, typer.Option("--both", help="Files and conversation, which is the default.")] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Change nothing; show what would be, as a diff.")] = False,
    stop: Annotated[bool, typer.Option("--stop", help="End the turn that runs first.")] = False,
    as_json: AsJson = False,
) -> None:
    """Take back what the agent itself changed in files since a point, and go on from there in a new session.

    A file that somebody else has changed since stops all of it. What commands did is not taken back.
    """
    check_person("perdure rewind")
    if files and conversation:
        raise UsageError("--files and --conversation exclude each other: --both, the default, means both.")
    if both and (files or conversation):
        raise UsageError("--both excludes --files and --conversation.")
    wish = Wish(to, files=not conversation, conversation=not files, dry_run=dry_run, stop=stop)
    done = asyncio.run(_rewind(session, wish))
    print(json.dumps(_as_json(done), indent=2)) if as_json else _show(done)


async def _rewind(word: str, wish: Wish) -> Done:
    home = Home.from_environment()
    sessions = await open_sessions(home)
    listed = await sessions.find(word)
    if wish.files and listed.host not in {"", home.host().id}:
        raise UserError(
            f"The files of session {listed.session} are on {listed.host_name or listed.host}: rewind there."
        )
    reader = Reader(home)
    snapshot = await _at_rest(sessions, listed, is_stopped=wish.stop)
    head = snapshot.state.head if snapshot else await _last_head(sessions, listed.session, reader)
    lines = [Line(link.entry.n, link.digest, link.entry) for link in await reader.links(head)]
    if not lines:
        raise UserError(f"Session {listed.session} has nothing to go back to: it has not begun.")
    done = Done(listed.session, point_of(lines, wish.to), wish)
    if wish.files:
        done = await _files(home, reader, lines, done)
    if wish.conversation and not wish.dry_run:
        limits = snapshot.thresholds if snapshot else Thresholds()
        try:
            done = replace(done, new=await _went_on(home, sessions, listed, lines, done.point, limits))
        except PerdureError as error:
            raise _half_done(done, error) if done.files else error from error
    return done


def _half_done(done: Done, error: PerdureError) -> UserError:
    """What is told where files are back already, and no session goes on from there."""
    code = error.exit_code if isinstance(error, UserError) else None
    again = f"perdure rewind {done.session} --to {done.wish.to} --conversation"
    files = counted(len(done.files), "file is", "files are")
    text = f"{files} taken back already, but no new session goes on: {error} Mend that, then: {again}"
    return UserError(text, code, "half_done")


async def _at_rest(sessions: Sessions, listed: Listed, *, is_stopped: bool) -> Snapshot | None:
    """What an open session says of itself between two turns; None for one that has ended."""
    if not listed.is_open:
        return None
    name, interrupted = listed.session, False
    for _ in range(int(STOP_S / 0.2)):
        snapshot = await sessions.snapshot(name)
        if snapshot is None:
            raise UserError(f"No worker answers for session {name}: perdure up starts one.", reason="no_worker")
        state = snapshot.state
        if state.head and state.turn is None and not state.queue:
            return snapshot
        if not is_stopped:
            doing = f"runs turn {state.turn.number}" if state.turn else "has prompts that wait"
            why = f"Session {name} {doing}: wait for its end, or end it with perdure rewind --stop."
            raise UserError(why, reason="running")
        if not interrupted and state.turn is not None:
            await sessions.interrupt(name, Interrupt(request=new_request()))
            interrupted = True
        await asyncio.sleep(0.2)
    raise UserError(f"Session {name} is still not at rest: perdure show {name} tells what it does.", reason="running")


async def _last_head(sessions: Sessions, session: str, reader: Reader) -> str:
    try:
        result = await sessions.result(session, RESULT_S)
    except UserError:
        # It failed; its transcript is kept all the same.
        result = None
    return result.head if result and result.head else reader.last_head(session)


async def _files(home: Home, reader: Reader, lines: list[Line], done: Done) -> Done:
    rewinder = Rewinder(home, reader.store, done.session)
    with rewinder.alone():
        notes = [] if done.wish.dry_run else [await rewinder.finish()]
        plan = plan_files(lines, done.point, rewinder.changes())
        files = await prepared(home, reader.store, plan)
        gone: list[Path] = []
        if files and not done.wish.dry_run:
            at = stamp(datetime.now(UTC))
            gone = await rewinder.restore(files, at=at, by=as_person(), n=lines[-1].n, to=done.point.n)
    notes = list(filter(None, notes))
    return replace(done, notes=tuple(notes), files=tuple(files), folders=tuple(gone), commands=plan.commands)


async def _went_on(
    home: Home, sessions: Sessions, listed: Listed, lines: list[Line], point: Point, limits: Thresholds
) -> str:
    """The id of a new session whose conversation goes on from that point."""
    reader = Reader(home)
    opened = [
        line.entry.body.data
        for line in lines
        if line.entry and isinstance(line.entry.body, NoticeBody) and line.entry.body.what in OPENED
    ]
    if not opened:
        raise UserError(f"The transcript of session {listed.session} does not tell how it was started.")
    facts = {name: str(opened[-1].get(name, "")) for name in ("settings", "store", "host", "public_key")}
    settings = SessionSettings.model_validate_json(await reader.text_of(facts["settings"]))
    session = "".join(secrets.choice(ID_LETTERS) for _ in range(8))
    take_along(home, listed.session, session)
    given = SessionInput(
        session=session, cwd=listed.folder, host=facts["host"], host_name=listed.host_name, store=facts["store"],
        settings=facts["settings"], public_key=facts["public_key"], mode=settings.mode, thresholds=limits,
        start=point.digest, start_of=listed.session,
    )  # fmt: skip
    title = f"{listed.title} (from {listed.session})"[:80]
    await sessions.start_session(given, model=settings.model, title=title, started=stamp(datetime.now(UTC)))
    return session


def _show(done: Done) -> None:
    for note in done.notes:
        print(note)
    where = f"{done.point.text} (entry {done.point.n})"
    if done.wish.dry_run:
        print(differences(list(done.files)), end="")
    for file in done.files:
        action = _action(file)
        print(f"{'would be ' if done.wish.dry_run else ''}{action}: {plain(str(file.path))}")
    for folder in done.folders:
        print(f"removed: {plain(str(folder))}, an empty folder that was made for them")
    if done.wish.files and not done.files:
        print(f"The agent changed no file since {where}.")
    elif done.files and not done.wish.dry_run:
        print(f"{counted(len(done.files), 'file is as it was', 'files are as they were')} at {where}.")
    if done.commands:
        print(f"Not taken back: whatever {done.commands} command{'s'[: done.commands != 1]} did since then.")
    if done.new:
        print(
            f'Session {done.new} goes on from {where}: perdure send {done.new} "…". '
            f"Session {done.session} stays as it is."
        )
    elif done.wish.conversation:
        print(f"A new session would go on from {where}.")


def _action(file: Restoration) -> str:
    if not file.then.digest:
        return "removed"
    return "restored" if file.now.digest else "made again"


def _as_json(done: Done) -> dict[str, object]:
    return {
        "session": done.session,
        "entry": done.point.n,
        "head": done.point.digest,
        "dry_run": done.wish.dry_run,
        "files": [{"path": plain(str(file.path)), "action": _action(file)} for file in done.files],
        "folders_removed": [plain(str(folder)) for folder in done.folders],
        "diff": differences(list(done.files)) if done.wish.dry_run else None,
        "commands_not_taken_back": done.commands,
        "new_session": done.new or None,
        "notes": list(done.notes),
    }
