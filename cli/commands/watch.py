"""perdure watch: join a session, late or live."""

import asyncio
from typing import Annotated

import typer

from cli.commands.attending import Attended, attend
from cli.commands.run import Format, Partial, output_of
from cli.commands.sessions import Session
from cli.gateway import open_sessions
from worker.engine import Home
from workflows.contracts.errors import UsageError


def watch(
    session: Session,
    since: Annotated[int, typer.Option(help="From that number of the event feed on.")] = 0,
    output_format: Format = "",
    partial: Partial = False,
) -> int:
    """Join a session, late or live, until it closes; Ctrl-C leaves it running (exit code 9).

    What happened before is shown first. y and n answer a question, as perdure approve and deny do.
    """
    if since < 0:
        raise UsageError("--since is a number of the event feed, from 0.")
    output = output_of(output_format, is_print=False)
    return asyncio.run(_watch(session, since, output, partial=partial))


async def _watch(word: str, since: int, output: str, *, partial: bool) -> int:
    home = Home.from_environment()
    sessions = await open_sessions(home)
    session = (await sessions.find(word)).session
    return await attend(
        Attended(home, sessions, session, output=output, partial=partial, may_answer=not output, from_seq=since)
    )
