"""Hold: one command in the sandbox of its session; what was refused to it is told afterwards."""

import asyncio
import hashlib
import json
import os
import shlex
from collections.abc import AsyncIterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from activities.processes.command import CommandEnd, CommandSpec, shell
from activities.processes.output import read_tail
from activities.safety.sandbox import confinements, denials, git_guard, network, probe
from activities.safety.sandbox.policy import Policy, Surroundings, make_policy
from activities.safety.sandbox.variables import held_environment
from activities.stores.files import write_atomic
from activities.tool import Call
from activities.world import World
from workflows.contracts.errors import ToolError
from workflows.contracts.permissions import Decision, Finding
from workflows.contracts.sandbox import SandboxSettings

_SHELL_WORDS = set(";&|<>()`$\n\\{}")


@dataclass(frozen=True)
class Hold:
    """A command that is held, or why it is not."""

    spec: CommandSpec
    tier: probe.Tier
    lines: tuple[str, ...] = ()
    """What its result says of the sandbox, whatever happens."""
    policy: Policy | None = None
    folder: Path | None = None
    """Of the session's sandbox."""
    before: Mapping[str, Any] | None = None
    """What was there when it began: the inventory, and how much the proxy had refused."""

    def report(self, call: Call, end: CommandEnd) -> list[str]:
        """What was refused to it, a line each; also moves away what it left for git."""
        if self.policy is None or self.folder is None or self.before is None:
            return list(self.lines)
        moved = git_guard.settle(call.workspace, self.before["inventory"], self.folder / "quarantine")
        output = read_tail(call.record.folder, denials.SCANNED, end) if end.output_bytes else b""
        return [
            *denials.refused_hosts(network.refused_since(self.folder / "network", self.before["refused"])),
            *denials.refused_paths(output, self.policy, self.spec.cwd),
            *denials.refused_network(output, self.policy, has_network=self.tier.has_network),
            *denials.quarantined(moved),
            *self.lines,
        ]


@asynccontextmanager
async def hold(call: Call, spec: CommandSpec, command: str, *, is_outside: bool = False) -> AsyncIterator[Hold]:
    """The command as it is to be run; `is_outside`: a person decided to run this one without a sandbox.

    Raises ToolError where the settings ask for a sandbox that cannot be had.
    """
    settings = call.settings.sandbox
    if not settings.enabled:
        yield Hold(spec, probe.Tier(probe.NONE, "turned off by the person"))
        return
    if is_outside or is_excluded(command, settings):
        yield Hold(spec, probe.Tier(probe.NONE), ("[ran outside the sandbox]",))
        return
    tier = await probe.chosen(call.world.home, settings, call.world.environment)
    if not tier.is_sandboxed and settings.fail_if_unavailable:
        raise ToolError(f"No sandbox works here, and the settings ask for one: {tier.why}. The command did not run.")
    if tier.number == probe.NONE:
        yield Hold(spec, tier, (_degraded(tier),))
        return
    async with AsyncExitStack() as stack:
        argv = shell(confinements.PROCESS_LIMIT + command) if tier.number == probe.FULL else spec.argv
        yield await _held(call, replace(spec, argv=argv), tier, stack)


async def _held(call: Call, spec: CommandSpec, tier: probe.Tier, stack: AsyncExitStack) -> Hold:
    settings = call.settings.sandbox
    where = surroundings(call)
    folder = where.temporary.parent
    policy = await asyncio.to_thread(make_policy, settings, where, spec.environment)
    before = await asyncio.to_thread(_before, call, folder)
    joined = None
    if tier.has_network:
        asked = network.asked(policy, call.world.home, spec.environment)
        entered = network.network(folder / "network", asked, call.world.home.root)
        try:
            joined = await asyncio.to_thread(stack.enter_context, entered)
        except OSError as error:
            raise ToolError(f"The sandbox's network could not be made: {error}. The command did not run.") from error
    is_full = tier.number == probe.FULL
    environment = held_environment(
        spec.environment,
        settings.environment,
        "/tmp" if is_full else policy.temporary,  # noqa: S108 - the session's own, seen from inside
        str(where.user / ".cache") if is_full else str(where.caches),
        has_proxy=joined is not None,
    )
    held = replace(spec, environment=environment, sandbox=confinements.confined(tier.number, policy, spec.cwd, joined))
    return Hold(held, tier, (_degraded(tier),) if tier.why else (), policy, folder, before)


def surroundings(call: Call) -> Surroundings:
    """The folders of a session's sandbox; those of its own are made."""
    home, workspace = call.world.home, call.workspace
    folder = home.journal / call.session / "sandbox"
    name = hashlib.sha256(os.fsencode(workspace)).hexdigest()[:16]
    where = Surroundings(
        workspace, probe.user_home(call.world.environment), home.root, folder / "tmp", home.root / "caches" / name
    )
    for each in (where.temporary, where.caches):
        each.mkdir(parents=True, exist_ok=True, mode=0o700)
    return where


def _before(call: Call, folder: Path) -> dict[str, Any]:
    """What stands in the workspace and in the proxy's notes; a later attempt goes on with what the first one saw."""
    path = call.record.path / "sandbox.json"
    try:
        kept: dict[str, Any] = json.loads(path.read_bytes())
    except (OSError, ValueError):
        kept = {
            "inventory": git_guard.take_inventory(call.workspace),
            "refused": network.noted(folder / "network"),
        }
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        write_atomic(path, json.dumps(kept).encode("utf-8", "surrogateescape"))
    return kept


def _degraded(tier: probe.Tier) -> str:
    if tier.number == probe.LANDLOCK:
        return f"[sandbox of tier 2: commands have no network here ({tier.why})]"
    if tier.is_sandboxed:
        return f"[sandbox without a network: {tier.why}]"
    return f"[no sandbox works here: this command had the person's rights ({tier.why})]"


def outside_findings(call: Call, command: str, *, is_outside: bool) -> tuple[Finding, ...]:
    """To run outside the sandbox is a person's decision about one command, or nobody's."""
    settings = call.settings.sandbox
    if not is_outside or not settings.enabled:
        return ()
    if not settings.allow_unsandboxed_commands:
        text = "the settings let no command run outside the sandbox"
        return (Finding(check="sandbox", action=Decision.DENY, text=text),)
    text = f"it asks to run outside the sandbox, with all your rights: {command[:200]}"
    return (Finding(check="sandbox", action=Decision.ASK, text=text, sticky=True),)


async def sandbox_told(world: World, settings: SandboxSettings) -> str:
    """The sandbox of a session in one line, for its first entry."""
    if not settings.enabled:
        return "off: turned off by the person"
    tier = await probe.chosen(world.home, settings, world.environment)
    return f"{tier.name}: {tier.why}" if tier.why else tier.name


def is_contained(call: Call, command: str, *, is_outside: bool) -> bool:
    """Whether a command needs no question since the full sandbox holds it, and the person's settings say so."""
    settings = call.settings.sandbox
    if not settings.enabled or not settings.auto_allow_bash_if_sandboxed or is_outside:
        return False
    tier = probe.known(call.world.home, settings)
    return tier is not None and tier.number == probe.FULL and not is_excluded(command, settings)


def is_excluded(command: str, settings: SandboxSettings) -> bool:
    """Whether a person named this program to run outside; only for one simple command, read without any expansion."""
    if not settings.excluded_commands or set(command) & _SHELL_WORDS:
        return False
    try:
        words = shlex.split(command)
    except ValueError:
        return False
    named = [entry.removesuffix(":*").removesuffix(" *").split() for entry in settings.excluded_commands]
    return any(first and words[: len(first)] == first for first in named)
