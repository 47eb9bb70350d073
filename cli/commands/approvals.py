"""perdure approvals, approve, deny: the open questions of all sessions, and a person's answers."""

import asyncio
import json
from dataclasses import dataclass
from typing import Annotated

import typer

from cli.commands.choices import mode_named
from cli.commands.sessions import AsJson, Session, age
from cli.display.cells import in_full, one_line
from cli.display.permissions import choice_lines
from cli.gateway import open_sessions
from cli.line import Listed
from cli.person import check_person
from cli.reader import Reader
from cli.sessions import Sessions
from cli.signing import signed_answer
from worker.engine import Home
from workflows.contracts.errors import EngineUnreachable, PerdureError, UsageError
from workflows.contracts.permissions import Approval, Mode
from workflows.core.intake import PLAN_TOOL

AT_ONCE = 8
"""Sessions asked side by side."""

Question = Annotated[str, typer.Argument(metavar="APPROVAL", help="Its number, where several are open.")]


@dataclass(frozen=True)
class Said:
    """What the person says to each question meant."""

    allow: bool
    text: str = ""
    mode: Mode | None = None
    always: bool = False


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
            _show(listed, approval, asyncio.run(_content(approval)))
        if not inbox.questions:
            print("No question is open.")
    if inbox.silent:
        typer.echo(f"No worker answers for {', '.join(inbox.silent)}: perdure up starts one.", err=True)


def approve(
    session: Session,
    approval: Question = "",
    everything: Annotated[bool, typer.Option("--all", help="Every open question of the session.")] = False,
    mode: Annotated[
        str, typer.Option("--mode", help="Of a plan: the mode to go on in, such as acceptEdits; else the one before.")
    ] = "",
    always: Annotated[bool, typer.Option("--always", help="Save rules, so that it is not asked again.")] = False,
) -> None:
    """Allow what a session asks for; signed, and for exactly what was shown.

    --always saves literal rules: of commands and hosts into .perdure/settings.local.json, of files for this session.
    """
    check_person("perdure approve")
    _answer(session, approval, everything=everything, said=Said(allow=True, mode=_mode(mode), always=always))


def deny(
    session: Session,
    approval: Question = "",
    text: Annotated[str, typer.Option("--text", "-t", help="Said to the model; at most 1 KB.")] = "",
    everything: Annotated[bool, typer.Option("--all", help="Every open question of the session.")] = False,
) -> None:
    """Refuse what a session asks for; the model is told, and goes on."""
    check_person("perdure deny")
    _answer(session, approval, everything=everything, said=Said(allow=False, text=text))


def _mode(name: str) -> Mode | None:
    found = mode_named(name)
    if name and found in {None, Mode.PLAN}:
        modes = ", ".join(one for one in Mode if one != Mode.PLAN)
        raise UsageError(f"A plan cannot be carried out in mode {name!r}: choose one of {modes}.")
    return found


def _answer(session: str, approval: str, *, everything: bool, said: Said) -> None:
    name, answered = asyncio.run(_send_answers(session, approval, everything=everything, said=said))
    for one, rules in answered:
        print(f"{'Approved' if said.allow else 'Denied'} {one.id} of {name}: {one.tool} {one_line(one.summary)}")
        for rule in rules:
            print(f"    always: {one_line(rule)}")


async def _send_answers(
    word: str, chosen: str, *, everything: bool, said: Said
) -> tuple[str, list[tuple[Approval, tuple[str, ...]]]]:
    """Answer the questions meant; each with the rules that are saved for it."""
    home = Home.from_environment()
    name, sessions, found = await found_session(home, word)
    answered = chosen_of(name, found, chosen, everything=everything)
    if said.allow and (question := next((one for one in answered if one.choices), None)):
        raise UsageError(f"Question {question.id} is answered by choosing: perdure answer {name} {question.id}")
    if said.mode and (question := next((one for one in answered if one.tool != PLAN_TOOL), None)):
        raise UsageError(f"--mode goes with the approval of a plan; question {question.id} is about {question.tool}.")
    rules = [await Reader(home).offered(one) if said.always else () for one in answered]
    if said.always and () in rules:
        question = answered[rules.index(())]
        raise UsageError(
            f"No rule would answer question {question.id} the next time: approve it without --always.", reason="no_rule"
        )
    for one in answered:
        given = signed_answer(home, name, one, allow=said.allow, text=said.text, mode=said.mode, always=said.always)
        await sessions.answer(name, given)
    return name, list(zip(answered, rules, strict=True))


async def found_session(home: Home, word: str) -> tuple[str, Sessions, tuple[Approval, ...]]:
    """The session of that id, and its open questions; EngineUnreachable when nobody answers for it."""
    sessions = await open_sessions(home)
    name = (await sessions.find(word)).session
    snapshot = await sessions.snapshot(name)
    if snapshot is None:
        raise EngineUnreachable(
            f"No worker answers for session {name}: start one with `perdure up`, then answer again."
        )
    return name, sessions, snapshot.approvals


def chosen_of(name: str, found: tuple[Approval, ...], chosen: str, *, everything: bool) -> list[Approval]:
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


async def _content(approval: Approval) -> list[str]:
    """What the person must see whole, as lines."""
    if not approval.content:
        return []
    try:
        text = await Reader(Home.from_environment()).text_of(approval.content)
    except PerdureError as error:
        return [f"it cannot be shown here: {error}"]
    lines = choice_lines(text) if approval.choices else in_full(text).split("\n")
    return list(lines)


def _show(listed: Listed, approval: Approval, content: list[str]) -> None:
    print(f"{listed.session}  {approval.id}  {age(approval.asked_at)}  {approval.tool}: {one_line(approval.summary)}")
    print(f"    {one_line(listed.title)}, in {one_line(listed.folder)}")
    if approval.reason:
        print(f"    because: {one_line(approval.reason)}")
    for line in content:
        print(f"    | {line}")
    here = f"{listed.session} {approval.id}"
    yes = f"perdure answer {here} --choose …" if approval.choices else f"perdure approve {here}"
    print(f"    {yes}    perdure deny {here} --text …")


def _as_json(listed: Listed, approval: Approval) -> dict[str, object]:
    return {
        "session": listed.session,
        "approval": approval.id,
        "tool": approval.tool,
        "summary": approval.summary,
        "reason": approval.reason,
        "asked_at": approval.asked_at,
        "digest": approval.digest,
        "content": approval.content,
        "choices": [choice.model_dump(mode="json") for choice in approval.choices],
        "title": listed.title,
        "folder": listed.folder,
    }
