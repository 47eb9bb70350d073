"""The sandbox without an engine: which tier works here, and one command tried under the policy of a folder."""

import asyncio
import secrets
import shutil
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from activities.processes.attach import end_command, run_command
from activities.processes.command import CommandEnd, CommandProgress, CommandSpec, shell
from activities.processes.output import read_output
from activities.safety.sandbox import network, probe
from activities.safety.sandbox.hold import Ground, hold, surroundings
from activities.safety.sandbox.kept_back import Kept
from activities.settings.left_out import keepers
from activities.settings.places import Places
from activities.settings.policy import current_policy
from activities.stores.environments import without_keys
from activities.stores.home import Home
from workflows.contracts.errors import ToolError, UserError
from workflows.contracts.sandbox import SandboxSettings
from workflows.contracts.settings import SessionSettings
from workflows.core.path_rules import Bases

_LONGEST = 600.0
_TRY = "try-"
_KEPT = 86_400.0
"""Seconds after which what a killed trial left is removed."""


@dataclass(frozen=True)
class TierHere:
    """What holds commands on this machine."""

    number: int
    name: str
    why: str
    """Why nothing stronger does; empty for the strongest."""
    has_network: bool
    """Allowed hosts are reached by a proxy; else commands have no network."""

    @property
    def is_sandboxed(self) -> bool:
        """Whether files and network are held."""
        return self.number in {probe.FULL, probe.LANDLOCK}


@dataclass(frozen=True)
class Tried:
    """How a tried command ended."""

    tier: TierHere
    end: CommandEnd
    refused: tuple[str, ...]


def look_once(home: Home, settings: SandboxSettings, environment: Mapping[str, str]) -> None:
    """See to it that the tier that works is known, as at the start of a session."""
    asyncio.run(probe.chosen(home, settings, environment))


async def is_holding(home: Home, settings: SandboxSettings, environment: Mapping[str, str]) -> bool:
    """Whether a session with these settings has its commands held here."""
    return settings.enabled and (await probe.chosen(home, settings, environment)).is_sandboxed


def tier_here(home: Home, settings: SandboxSettings, environment: Mapping[str, str]) -> TierHere:
    """Which tier works, found out anew."""
    return _shown(asyncio.run(probe.chosen(home, settings, environment, afresh=True)))


def _shown(tier: probe.Tier) -> TierHere:
    return TierHere(tier.number, tier.name, tier.why, tier.has_network)


def try_command(
    home: Home,
    folder: Path,
    settings: SandboxSettings,
    command: str,
    environment: Mapping[str, str],
    show: Callable[[bytes], None],
) -> Tried:
    """Run a command as an agent's would run in that folder; its output is shown as it comes.

    UserError when it cannot be started.
    """
    _tidy(home)
    scratch = home.journal / f"{_TRY}{secrets.token_hex(4)}"
    scratch.mkdir(mode=0o700, parents=True)
    try:
        return asyncio.run(_tried(home, folder, settings, command, environment, show, scratch))
    except (ToolError, OSError) as error:
        raise UserError(str(error), reason="sandbox") from error
    finally:
        network.end(scratch / "sandbox" / "network")
        shutil.rmtree(scratch, ignore_errors=True)


def _tidy(home: Home) -> None:
    for old in home.journal.glob(f"{_TRY}*"):
        if time.time() - old.stat().st_mtime > _KEPT:
            network.end(old / "sandbox" / "network")
            shutil.rmtree(old, ignore_errors=True)


async def _tried(  # noqa: PLR0913, PLR0917 - what is run, where, and with what
    home: Home,
    folder: Path,
    settings: SandboxSettings,
    command: str,
    environment: Mapping[str, str],
    show: Callable[[bytes], None],
    scratch: Path,
) -> Tried:
    output = scratch / "command"
    where = surroundings(home, folder, scratch / "sandbox", environment)
    ground = Ground(
        home, settings, environment, where, scratch, output, kept_back=_kept_back(home, folder, environment)
    )
    spec = CommandSpec(
        key=f"try-{secrets.token_hex(8)}",
        argv=shell(command),
        cwd=str(folder),
        environment=without_keys(environment),
        deadline=_LONGEST,
    )
    shown = 0

    def tell(progress: CommandProgress) -> None:
        nonlocal shown
        show(read_output(output, shown, progress.stored_bytes - shown))
        shown = progress.stored_bytes

    async with hold(ground, spec, command) as held:
        try:
            end = await run_command(output, held.spec, tell)
        except asyncio.CancelledError:
            await end_command(output)
            raise
        show(read_output(output, shown, end.stored_bytes - shown))
        if end.sandbox_error:
            raise UserError(f"The sandbox could not be started: {end.sandbox_error}", reason="sandbox")
        refused = await asyncio.to_thread(held.report, end)
        return Tried(_shown(held.tier), end, tuple(refused))


def _kept_back(home: Home, folder: Path, environment: Mapping[str, str]) -> Kept:
    """What the rules of the folder hide from a command that nobody allowed by name."""
    places = Places.from_environment(home, environment)
    policy = current_policy(places, folder, SessionSettings())
    return keepers(policy, "Read", Bases(str(folder), str(places.user)))
