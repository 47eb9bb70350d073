"""perdure ls, show, stop, close: what sessions there are, and how they end."""

import asyncio
import json
import shutil
import sys
from dataclasses import asdict
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Annotated

import typer

from cli.gateway import open_sessions
from cli.line import Listed
from cli.person import check_person
from worker.engine import Home
from workflows.contracts.errors import UsageError, UserError

if TYPE_CHECKING:  # reading contracts takes longer than listing sessions
    from workflows.contracts.session import SessionResult, Snapshot

AsJson = Annotated[bool, typer.Option("--json", help="Print JSON.")]
Session = Annotated[str, typer.Argument(metavar="ID", help="The session, or the beginning of its id.")]

STATES = ("running", "waiting", "idle", "closed", "failed", "cancelled", "terminated")
RECENT = timedelta(hours=24)
CLOSE_LIMIT_S = 5.0
"""How long `close` waits for the end before it says what is left."""


def ls(
    everything: Annotated[bool, typer.Option("--all", "-a", help="Also those that ended over a day ago.")] = False,
    state: Annotated[str, typer.Option(help=f"Only these: {', '.join(STATES)}.")] = "",
    as_json: AsJson = False,
) -> None:
    """List sessions, newest first: those that are open, and those that ended within a day."""
    if state and state not in STATES:
        raise UsageError(f"There is no state {state!r}: choose one of {', '.join(STATES)}.")
    found = asyncio.run(_list(everything=everything or state in STATES[3:]))
    chosen = [one for one in found if state in ("", one.state)]
    if as_json:
        print(json.dumps([as_dict(one) for one in chosen], indent=2))
        return
    for row in _table(chosen, shutil.get_terminal_size().columns if sys.stdout.isatty() else 10_000):
        print(row)
    if not chosen:
        print('No sessions. Start one with: perdure run "what is to be done"', file=sys.stderr)


def show(session: Session, as_json: AsJson = False) -> None:
    """Show one session: what it does, what it waits for, what it used."""
    listed, snapshot, result, trouble = asyncio.run(_look(session))
    if as_json:
        print(json.dumps(_as_json(listed, snapshot, result, trouble), indent=2))
        return
    for name, value in _facts(listed, snapshot, result, trouble):
        print(f"{name:<12}{value}")


def stop(session: Session) -> None:
    """Interrupt what the session does now; it stays open for another prompt."""
    name, turn = asyncio.run(_stop(session))
    print(f"Turn {turn} of session {name} is being interrupted; perdure send {name} gives it another prompt.")


def close(
    session: Session,
    reason: Annotated[str, typer.Option(help="Why, for the audit.")] = "",
) -> None:
    """End a session for good; what runs is ended first."""
    check_person("perdure close")
    name, is_closed, left = asyncio.run(_close(session, reason))
    if is_closed:
        print(f"Session {name} is closed.")
    else:
        print(f"Session {name} is closing; left: {left}. perdure show {name} tells when it is done.")


def as_dict(listed: Listed) -> dict[str, object]:
    """A listed session as JSON shows it."""
    named = asdict(listed)
    named["id"] = named.pop("session")
    return {"id": named.pop("id"), **named}


async def _list(*, everything: bool) -> list[Listed]:
    sessions = await open_sessions(Home.from_environment())
    if everything:
        return await sessions.sessions()
    since = (datetime.now(UTC) - RECENT).isoformat(timespec="seconds").replace("+00:00", "Z")
    return await sessions.sessions(f'ExecutionStatus = "Running" OR CloseTime > "{since}"')


async def _look(word: str) -> "tuple[Listed, Snapshot | None, SessionResult | None, str]":
    sessions = await open_sessions(Home.from_environment())
    listed = await sessions.find(word)
    if listed.is_open:
        return listed, await sessions.snapshot(listed.session), None, ""
    try:
        return listed, None, await sessions.result(listed.session, 5.0), ""
    except UserError as error:
        return listed, None, None, str(error)


async def _stop(word: str) -> tuple[str, int]:
    from cli.signing import new_request
    from workflows.contracts.session import Interrupt

    sessions = await open_sessions(Home.from_environment())
    name = (await sessions.find(word)).session
    taken = await sessions.interrupt(name, Interrupt(request=new_request()))
    return name, taken.turn


async def _close(word: str, reason: str) -> tuple[str, bool, str]:
    from cli.signing import signed_close

    home = Home.from_environment()
    sessions = await open_sessions(home)
    listed = await sessions.find(word)
    if not listed.is_open:
        return listed.session, True, ""
    await sessions.close(listed.session, signed_close(home, listed.session, reason))
    if await sessions.result(listed.session, CLOSE_LIMIT_S) is not None:
        return listed.session, True, ""
    snapshot = await sessions.snapshot(listed.session)
    return listed.session, False, snapshot.phase if snapshot else "a worker to end what runs"


def _table(rows: list[Listed], width: int) -> list[str]:
    if not rows:
        return []
    head = ("ID", "STATE", "AGE", "COST", "TITLE", "FOLDER")
    body = [
        (one.session, one.state, age(one.started), f"${one.cost:.2f}", plain(one.title), plain(one.folder))
        for one in rows
    ]
    sizes = [max(_cells(row[column]) for row in (head, *body)) for column in range(len(head))]
    sizes[4] = min(sizes[4], max(20, width - sum(sizes[:4]) - 10 - min(sizes[5], 24)))
    return [_fit("  ".join(map(_padded, row, sizes)).rstrip(), width) for row in (head, *body)]


def _padded(cell: str, size: int) -> str:
    cut = _fit(cell, size)
    return cut + " " * (size - _cells(cut))


def plain(text: str) -> str:
    """The text as one line that cannot steer a terminal."""
    if text.isascii() and text.isprintable():
        return text
    from cli.display.cells import one_line

    return one_line(text)


def _cells(row: str) -> int:
    # Measuring other letters needs tables that take longer to import than the server takes to answer.
    if row.isascii():
        return len(row)
    from cli.display.cells import cells

    return cells(row)


def _fit(row: str, width: int) -> str:
    if _cells(row) <= width:
        return row
    from cli.display.cells import fit

    return fit(row, width)


def age(started: str) -> str:
    """How long ago that was, in one unit: `42s`, `5m`, `3h`, `2d`."""
    try:
        seconds = int((datetime.now(UTC) - datetime.fromisoformat(started)).total_seconds())
    except ValueError:
        return "?"
    for unit, size in (("d", 86_400), ("h", 3_600), ("m", 60)):
        if seconds >= size:
            return f"{seconds // size}{unit}"
    return f"{max(0, seconds)}s"


def _facts(
    listed: Listed, snapshot: "Snapshot | None", result: "SessionResult | None", trouble: str
) -> list[tuple[str, str]]:
    facts = [
        ("session", listed.session),
        ("title", plain(listed.title)),
        ("state", listed.state),
        ("folder", f"{plain(listed.folder)} on {plain(listed.host_name or listed.host)}"),
        ("model", plain(listed.model)),
        ("started", f"{listed.started[:19]}Z, {age(listed.started)} ago"),
        ("cost", f"${listed.cost:.4f}"),
    ]
    if listed.closed:
        facts.append(("ended", f"{listed.closed[:19]}Z"))
    if snapshot:
        facts += _living(snapshot)
    elif listed.is_open:
        facts.append(("note", "no worker answers for it now; it goes on when one runs (perdure up)"))
    if result:
        facts += _left(result)
    if trouble:
        facts.append(("failed", plain(trouble)))
    return facts


def _living(snapshot: "Snapshot") -> list[tuple[str, str]]:
    state = snapshot.state
    usage = state.totals.usage
    facts = [
        ("phase", state.waiting_for or snapshot.phase),
        ("mode", state.mode.value),
        ("turns", f"{state.turns}, {state.totals.exchanges} exchanges, {state.totals.calls} tool calls"),
        ("tokens", f"{usage.input + usage.cache_read + usage.cache_write} in, {usage.output} out"),
        ("head", state.head),
    ]
    if state.queue:
        facts.append(("queue", f"{len(state.queue)} prompts wait"))
    if state.totals.denials:
        facts.append(("denied", f"{state.totals.denials} tool calls"))
    if state.last_end:
        facts.append(("last turn", " ".join(filter(None, (state.last_end.value, plain(state.last_error))))))
    facts += [("task", f"{one.id}  {plain(one.title)}") for one in state.tasks]
    if state.workspace:
        facts.append(("works in", plain(state.workspace)))
    facts += [("asks", f"{one.id}  {one.tool}  {plain(one.summary)}") for one in snapshot.approvals]
    return facts


def _left(result: "SessionResult") -> list[tuple[str, str]]:
    end = result.end.value if result.end else "no turn"
    return [
        ("reason", plain(result.reason)),
        ("last turn", " ".join(filter(None, (end, plain(result.error))))),
        ("turns", f"{result.turns}, {result.totals.exchanges} exchanges, {result.totals.calls} tool calls"),
        ("head", result.head),
    ]


def _as_json(
    listed: Listed, snapshot: "Snapshot | None", result: "SessionResult | None", trouble: str
) -> dict[str, object]:
    shown = as_dict(listed)
    shown["snapshot"] = snapshot.model_dump(mode="json") if snapshot else None
    shown["result"] = result.model_dump(mode="json") if result else None
    shown["error"] = trouble or None
    return shown
