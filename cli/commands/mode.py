"""perdure mode: another standing permission setting for a session that is open."""

import asyncio
import os
from typing import Annotated

import typer

from cli.commands.choices import mode_named
from cli.commands.root import warn_root
from cli.gateway import open_sessions
from cli.person import check_person
from worker.engine import Home
from workflows.contracts.errors import UsageError
from workflows.contracts.permissions import Mode


def mode(
    session: Annotated[str, typer.Argument(metavar="ID", help="The session, or the beginning of its id.")],
    name: Annotated[str, typer.Argument(metavar="MODE", help=f"One of {', '.join(Mode)}.")],
) -> None:
    """Set what a session may do without asking, from its next call on; signed and recorded."""
    check_person("perdure mode")
    wanted = mode_named(name)
    if wanted is None:
        raise UsageError(f"There is no mode {name!r}: choose one of {', '.join(Mode)}.")
    print(f"Session {asyncio.run(_set(session, wanted))} is in mode {wanted.value} from its next call on.")


async def _set(word: str, wanted: Mode) -> str:
    from cli.signing import signed_mode

    home = Home.from_environment()
    sessions = await open_sessions(home)
    found = await sessions.find(word)
    if not found.is_open:
        raise UsageError(f"Session {found.session} has ended: start a new one with perdure run --permission-mode.")
    await sessions.set_mode(found.session, signed_mode(home, found.session, wanted))
    warn_root(wanted, os.environ)
    return found.session
