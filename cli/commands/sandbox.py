"""perdure sandbox: run one command as an agent's would run here, and see what is refused."""

import os
import shlex
import sys
from pathlib import Path
from typing import Annotated

import typer

from cli.commands.choices import folder_of
from worker.engine import Home
from worker.sandbox import Tried, tier_here, try_command
from worker.settings import loaded_settings
from workflows.contracts.errors import ExitCode
from workflows.core.settings import sandbox_of

Words = Annotated[
    list[str] | None, typer.Argument(metavar="COMMAND", help="One word is read by bash; several are one program's.")
]
Folder = Annotated[str, typer.Option(help="Workspace; by default this folder.")]
Tier = Annotated[int, typer.Option(min=0, max=2, help="1 or 2: this tier and no other.", show_default=False)]


def sandbox(command: Words = None, cwd: Folder = "", tier: Tier = 0) -> int:
    """Run a command in the sandbox of this folder and tell what was refused; without one, say which tier works.

    The exit code is the command's own; 128 and the signal's number when one ended it.
    """
    home = Home.from_environment()
    home.ensure()
    folder = Path(folder_of(cwd))
    held = sandbox_of(loaded_settings(home, str(folder)).settings)
    held = held.model_copy(update={"enabled": True, **({"tier": tier} if tier else {})})
    if not command:
        found = tier_here(home, held, os.environ)
        print(f"tier {found.number}, {found.name}{': ' + found.why if found.why else ''}")
        return ExitCode.DONE if found.is_sandboxed else ExitCode.FAILED
    text = command[0] if len(command) == 1 else shlex.join(command)
    tried = try_command(home, folder, held, text, os.environ, _show)
    return _told(tried)


sandbox.context_settings = {"ignore_unknown_options": True, "allow_interspersed_args": False}  # type: ignore[attr-defined]  # the command's own flags are its own


def _show(data: bytes) -> None:
    sys.stdout.buffer.write(data)
    sys.stdout.flush()


def _told(tried: Tried) -> int:
    """What is told of it beside its output, which stays as it is; its exit code."""
    tier, end = tried.tier, tried.end
    for line in (f"[tier {tier.number}, {tier.name}]", *tried.refused):
        print(line, file=sys.stderr)
    if end.exit_code is not None:
        return end.exit_code
    return 128 + (end.signal or 0)
