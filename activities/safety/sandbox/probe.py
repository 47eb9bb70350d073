"""Probe: which tier works here, found out by running the very argument list that commands will get."""

import asyncio
import hashlib
import json
import os
import platform
import pwd
import secrets
import shutil
import socket
import subprocess
import tempfile
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path

from activities.processes.attach import run_command
from activities.processes.command import CommandSpec, EndKind, shell
from activities.processes.confinement import Confinement
from activities.processes.output import read_tail
from activities.safety.sandbox import confinements, landlock, network
from activities.safety.sandbox.policy import Policy, Surroundings, make_policy
from activities.safety.sandbox.programs import bubblewrap_program
from activities.safety.sandbox.seccomp import MACHINES
from activities.stores.files import write_atomic
from activities.stores.home import Home
from workflows.contracts.sandbox import SandboxSettings

FULL, LANDLOCK, SECCOMP, NONE = 1, 2, 3, 4
NAMES = {FULL: "full", LANDLOCK: "landlock", SECCOMP: "seccomp only", NONE: "none"}

_LIMIT = 20.0
_TRIALS = """
touch {outside}/x 2>/dev/null && echo 'a write outside the workspace works'
(touch /{name} && rm /{name}) 2>/dev/null && echo 'a write at / works'
(exec 3<>/dev/tcp/127.0.0.1/{port}) 2>/dev/null && echo 'a connection to this machine works'
{hook}
touch inside || echo 'the workspace cannot be written'
{git}
echo end
"""
_HOOK = "touch .git/hooks/x 2>/dev/null && echo 'a git hook can be written'"
_GIT = "git status >/dev/null || echo 'git status fails'"


@dataclass(frozen=True)
class Tier:
    """What holds commands here, and why nothing stronger does."""

    number: int
    why: str = ""
    """Why the tiers above do not work; empty for tier 1."""
    has_network: bool = False
    """A session's namespace with a proxy works; without it tier 1 has no network at all."""

    @property
    def name(self) -> str:
        """One word for the screen."""
        return NAMES[self.number]

    @property
    def is_sandboxed(self) -> bool:
        """Whether files and network are held; tier 3 counts as no sandbox."""
        return self.number in {FULL, LANDLOCK}


async def chosen(
    home: Home, settings: SandboxSettings, environment: Mapping[str, str], *, afresh: bool = False
) -> Tier:
    """The best tier that works, or the one that the settings name; remembered until kernel, bubblewrap or we change."""
    if not afresh and (before := await asyncio.to_thread(known, home, settings)):
        return before
    found = await _found(home, settings, environment)
    path = home.engine / "sandbox.json"
    kept = {**dict(list(_kept(path).items())[-20:]), _key(settings): asdict(found)}
    await asyncio.to_thread(write_atomic, path, json.dumps(kept).encode())
    return found


def known(home: Home, settings: SandboxSettings) -> Tier | None:
    """The tier that was found before; None when nobody looked since something changed."""
    kept = _kept(home.engine / "sandbox.json").get(_key(settings))
    return Tier(**kept) if kept else None  # type: ignore[arg-type]  # we wrote it


def _kept(path: Path) -> dict[str, dict[str, object]]:
    try:
        kept = json.loads(path.read_bytes())
    except (OSError, ValueError):
        return {}
    return kept if isinstance(kept, dict) else {}


def _key(settings: SandboxSettings) -> str:
    program = bubblewrap_program()
    facts = os.stat(program) if program else None  # noqa: PTH116 - a moment's look
    told = [
        platform.release(), platform.machine(), os.getuid(), program, facts and [facts.st_size, facts.st_mtime_ns],
        settings.model_dump(mode="json"), confinements.VERSION,
    ]  # fmt: skip
    return hashlib.sha256(json.dumps(told).encode()).hexdigest()


async def _found(home: Home, settings: SandboxSettings, environment: Mapping[str, str]) -> Tier:
    reasons: list[str] = []
    why = ""
    for number in (FULL, LANDLOCK, SECCOMP):
        if settings.tier and number != settings.tier:
            continue
        for has_network in (True, False) if number == FULL else (False,):
            why = await _why_not(home, number, settings, environment, has_network=has_network)
            if not why:
                return Tier(number, "; ".join(reasons), has_network)
        reasons.append(f"tier {number}: {why}")
    return Tier(NONE, "; ".join(reasons))


async def _why_not(
    home: Home, number: int, settings: SandboxSettings, environment: Mapping[str, str], *, has_network: bool
) -> str:
    """What keeps a tier from working; empty when it works."""
    if platform.system() != "Linux":
        return f"not built for {platform.system()}"
    if number == FULL and not bubblewrap_program():
        return "bubblewrap is not installed (`apt install bubblewrap`)"
    if number == LANDLOCK and not landlock.version():
        return "the kernel has no Landlock"
    if number < NONE and platform.machine() not in MACHINES:
        return f"no filter is built for {platform.machine()}"
    if number == SECCOMP:
        return ""
    with tempfile.TemporaryDirectory(prefix="probe-", dir=home.root, ignore_cleanup_errors=True) as name:
        try:
            return await _tried(Path(name), home, number, settings, environment, has_network=has_network)
        except (OSError, TimeoutError) as error:
            return str(error.strerror or error) if isinstance(error, OSError) else "the probe hangs"


async def _tried(
    scratch: Path,
    home: Home,
    number: int,
    settings: SandboxSettings,
    environment: Mapping[str, str],
    *,
    has_network: bool,
) -> str:
    workspace = scratch / "work"
    for folder in (workspace / ".git" / "hooks", scratch / "outside", scratch / "tmp", scratch / "caches"):
        folder.mkdir(parents=True)
    has_git = bool(shutil.which("git"))
    if has_git:
        await asyncio.to_thread(
            subprocess.run, ["git", "init", "-q", str(workspace)], check=False, capture_output=True, timeout=_LIMIT
        )
    where = Surroundings(workspace, user_home(environment), home.root, scratch / "tmp", scratch / "caches")
    policy = make_policy(settings, where, environment)
    with socket.create_server(("127.0.0.1", 0)) as listener:
        text = _TRIALS.format(
            outside=scratch / "outside",
            name=f"perdure-{secrets.token_hex(4)}",
            port=listener.getsockname()[1],
            hook=_HOOK if number == FULL else "",
            git=_GIT if has_git else "",
        )
        if not has_network:
            return await _run(scratch, text, policy, confinements.confined(number, policy, str(workspace)), environment)
        asked = network.asked(policy, home, {}, scratch)
        try:
            with network.network(scratch / "network", asked, home.root) as found:
                held = confinements.confined(number, policy, str(workspace), found)
                return await _run(scratch, text, policy, held, environment)
        finally:
            network.end(scratch / "network")


async def _run(scratch: Path, text: str, policy: Policy, held: Confinement, environment: Mapping[str, str]) -> str:
    spec = CommandSpec(
        key=f"probe-{secrets.token_hex(8)}",
        argv=shell(text),
        cwd=policy.workspace,
        environment={"PATH": environment.get("PATH", os.defpath), "HOME": policy.user},
        deadline=_LIMIT,
        sandbox=held,
    )
    end = await asyncio.wait_for(run_command(scratch / "command", spec), 2 * _LIMIT)
    said = read_tail(scratch / "command", 4096, end).decode("utf-8", "replace").strip().splitlines()
    if end.sandbox_error:
        return end.sandbox_error
    if end.kind != EndKind.EXITED or said[-1:] != ["end"]:
        return f"the probe ended early: {' '.join(said)[-200:]}"
    return ", ".join(said[:-1])


def account_home() -> Path | None:
    """The home folder that the system knows of the account; None where it knows none."""
    try:
        return Path(os.path.realpath(pwd.getpwuid(os.getuid()).pw_dir))
    except KeyError:
        return None


def user_home(environment: Mapping[str, str]) -> Path:
    """The person's home folder."""
    return Path(os.path.realpath(environment.get("HOME") or Path.home()))
