"""perdure approvals, approve, deny: the open questions of all sessions, and a person's answers."""

import asyncio
import json
from dataclasses import dataclass
from typing import Annotated

import typer

from cli.commands.sessions import AsJson, Session, age
from cli.display.cells import one_line
from cli.gateway import open_sessions
from cli.line import Listed
from cli.person import check_person
from cli.sessions import Sessions
from cli.signing import signed_answer
from worker.engine import Home
from workflows.contracts.errors import EngineUnreachable, UsageError
from workflows.contracts.permissions import Approval

AT_ONCE = 8
"""Sessions asked side by side."""

Question = Annotated[str, typer.Argument(metavar="APPROVAL", help="Its number, where several are open.")]


@dataclass(frozen=True)
class Inbox:
    """The open questions that were found, and the sessions that nobody answered for."""

    questions: list[tuple[Listed, Approval]]
    silent: list[str]


def approvals(as_json: AsJson = False) -> None:
    """List the questions that wait for a person, over all sessions."""
    inbox = asyncio.run(_inbox())
    if as_json:
        print(json.dumps([_as_json(*found) for found in inbox.questions], indent=2))
    else:
        for listed, approval in inbox.questions:
            _show(listed, approval)
        if not inbox.questions:
            print("No question is open.")
    if inbox.silent:
        typer.echo(f"No worker answers for {', '.join(inbox.silent)}: perdure up starts one.", err=True)


def approve(
    session: Session,
    approval: Question = "",
    everything: Annotated[bool, typer.Option("--all", help="Every open question of the session.")] = False,
) -> None:
    """Allow what a session asks for; signed, and for exactly what was shown."""
    check_person("perdure approve")
    _answer(session, approval, everything=everything, allow=True, text="")


def deny(
    session: Session,
    approval: Question = "",
    text: Annotated[str, typer.Option("--text", "-t", help="Said to the model; at most 1 KB.")] = "",
    everything: Annotated[bool, typer.Option("--all", help="Every open question of the session.")] = False,
) -> None:
    """Refuse what a session asks for; the model is told, and goes on."""
    check_person("perdure deny")
    _answer(session, approval, everything=everything, allow=False, text=text)


def _answer(session: str, approval: str, *, everything: bool, allow: bool, text: str) -> None:
    name, answered = asyncio.run(_send_answers(session, approval, everything=everything, allow=allow, text=text))
    for one in answered:
        print(f"{'Approved' if allow else 'Denied'} {one.id} of {name}: {one.tool} {one_line(one.summary)}")


async def _send_answers(
    word: str, chosen: str, *, everything: bool, allow: bool, text: str
) -> tuple[str, list[Approval]]:
    home = Home.from_environment()
    sessions = await open_sessions(home)
    name = (await sessions.find(word)).session
    snapshot = await sessions.snapshot(name)
    if snapshot is None:
        raise EngineUnreachable(
            f"No worker answers for session {name}: start one with `perdure up`, then answer again."
        )
    answered = _chosen(name, snapshot.approvals, chosen, everything=everything)
    for one in answered:
        await sessions.answer(name, signed_answer(home, name, one, allow=allow, text=text))
    return name, answered


def _chosen(name: str, found: tuple[Approval, ...], chosen: str, *, everything: bool) -> list[Approval]:
    """The questions meant; UsageError when that is none, or not clear."""
    if not found:
        raise UsageError(f"Session {name} asks nothing now; `perdure approvals` lists the open questions.")
    if chosen:
        found = tuple(one for one in found if one.id == chosen)
        if not found:
            raise UsageError(
                f"No question {chosen} of session {name} is open; `perdure approvals` lists those that are."
            )
    elif len(found) > 1 and not everything:
        numbers = ", ".join(one.id for one in found)
        raise UsageError(f"Session {name} asks several things: name one of {numbers}, or say --all.")
    return list(found)


async def _inbox() -> Inbox:
    sessions = await open_sessions(Home.from_environment())
    listed = [one for one in await sessions.sessions('ExecutionStatus = "Running"') if one.state != "idle"]
    limit = asyncio.Semaphore(AT_ONCE)
    answers = await asyncio.gather(*(_asked(sessions, one, limit) for one in listed))
    pairs = list(zip(listed, answers, strict=True))
    questions = [(one, approval) for one, found in pairs for approval in found or ()]
    return Inbox(questions, [one.session for one, found in pairs if found is None])


async def _asked(sessions: Sessions, listed: Listed, limit: asyncio.Semaphore) -> tuple[Approval, ...] | None:
    async with limit:
        snapshot = await sessions.snapshot(listed.session)
        return snapshot.approvals if snapshot else None


def _show(listed: Listed, approval: Approval) -> None:
    print(f"{listed.session}  {approval.id}  {age(approval.asked_at)}  {approval.tool}: {one_line(approval.summary)}")
    print(f"    {one_line(listed.title)}, in {one_line(listed.folder)}")
    if approval.reason:
        print(f"    because: {one_line(approval.reason)}")
    print(f"    perdure approve {listed.session} {approval.id}    perdure deny {listed.session} {approval.id} --text …")


def _as_json(listed: Listed, approval: Approval) -> dict[str, object]:
    return {
        "session": listed.session,
        "approval": approval.id,
        "tool": approval.tool,
        "summary": approval.summary,
        "reason": approval.reason,
        "asked_at": approval.asked_at,
        "digest": approval.digest,
        "title": listed.title,
        "folder": listed.folder,
    }
