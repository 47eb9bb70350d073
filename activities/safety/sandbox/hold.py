"""Hold: one command in the sandbox of its session; what was refused to it is told afterwards."""

import asyncio
import json
import shlex
from collections.abc import AsyncIterator, Mapping
from contextlib import ExitStack, asynccontextmanager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

from activities.processes.command import CommandEnd, CommandSpec, shell
from activities.processes.output import read_tail
from activities.safety.environment import READS, reading_only
from activities.safety.sandbox import confinements, denials, git_config, git_guard, network, probe, unsettled
from activities.safety.sandbox.caches import caches_of
from activities.safety.sandbox.git_writers import NO_RIGHT, Right, needs_a_word, right_of
from activities.safety.sandbox.kept_back import Kept, not_told, without_kept_back
from activities.safety.sandbox.named_hosts import hosts_to_open, openable, still_closed
from activities.safety.sandbox.opened_hosts import opened, path_in
from activities.safety.sandbox.policy import Kind, Policy, Surroundings, make_policy, policy_from
from activities.safety.sandbox.searches import comes_across_more, is_search, without_secrets
from activities.safety.sandbox.variables import held_environment
from activities.stores.files import write_atomic
from activities.stores.home import Home
from activities.stores.written import is_written
from activities.tool import Call
from activities.world import World
from workflows.contracts.errors import ToolError
from workflows.contracts.permissions import Decision, Finding, Verdict
from workflows.contracts.sandbox import SandboxSettings

KEPT = "sandbox.json"
"""Beside a call's records: how it is held, and what stood there before."""

_SHELL_WORDS = set(";&|<>()`$\n\\{}")


@dataclass(frozen=True)
class Ground:
    """Where a command is held: all that its sandbox is made of."""

    home: Home
    settings: SandboxSettings
    environment: Mapping[str, str]
    """The worker's own."""
    where: Surroundings
    kept: Path
    """Folder in which is kept what stood there before."""
    output: Path
    """The runner's folder."""
    verdict: Verdict | None = None
    """By which it runs: hosts that a person allowed with the command are open to it."""
    kept_back: Kept = ()
    """Rules about files that are hidden from it."""

    @property
    def folder(self) -> Path:
        """Of the session's sandbox."""
        return self.where.temporary.parent


@dataclass(frozen=True)
class Hold:
    """A command that is held, or why it is not."""

    ground: Ground
    spec: CommandSpec
    tier: probe.Tier
    lines: tuple[str, ...] = ()
    """What its result says of the sandbox, whatever happens."""
    policy: Policy | None = None
    network: Path = Path()
    """Folder of the network that it enters."""
    right: Right = NO_RIGHT
    """What it may do with git's configuration."""

    def report(self, end: CommandEnd) -> list[str]:
        """What was refused to it, a line each; also moves away what it left for git. May be repeated."""
        return report_of(self.ground.kept, self.ground.output, end) if self.policy else list(self.lines)


def report_of(kept: Path, output: Path, end: CommandEnd) -> list[str]:
    """The same from what is kept beside the call's records alone, by whichever worker sees its end.

    Empty for a command that nothing held.
    """
    facts = _kept(kept)
    if not facts:
        return []
    policy, folder = policy_from(facts["policy"]), Path(facts["folder"])
    moved = git_guard.settle(Path(policy.workspace), facts["inventory"], folder / "quarantine", _is_persons(facts))
    said = read_tail(output, denials.SCANNED, end) if end.output_bytes else b""
    return [
        *denials.refused_hosts(
            network.refused_since(Path(facts.get("network") or folder / "network"), facts["refused"])
        ),
        *denials.refused_paths(said, policy, facts["cwd"], is_full=facts.get("is_full", False)),
        *denials.refused_network(said, policy, has_network=facts["has_network"]),
        *denials.quarantined(moved),
        *_configured(facts, kept),
        *facts["lines"],
    ]


def _is_persons(facts: Mapping[str, Any]) -> git_guard.IsPersons:  # Any: JSON of our own
    if "git" not in facts:  # kept by an earlier version
        return lambda _path, _before: False
    return partial(is_written, Home(Path(facts["git"]["home"])))


def _configured(facts: Mapping[str, Any], kept: Path) -> list[str]:  # Any: JSON of our own
    if "git" not in facts:  # kept by an earlier version
        return []
    lines = git_config.settle_kept(facts["git"], Path(facts["folder"]) / "quarantine", str(kept))
    unsettled.leave(Home(Path(facts["git"]["home"])), Path(facts["git"]["workspace"]), kept)
    return lines


def openable_hosts(kept: Path) -> tuple[str, ...]:
    """The hosts that were refused to the command and that a person could open, from what is kept of it alone."""
    facts = _kept(kept)
    if not facts:
        return ()
    policy, folder = policy_from(facts["policy"]), Path(facts["folder"])
    refused = network.refused_since(Path(facts.get("network") or folder / "network"), facts["refused"])
    pairs = [(str(each.get("host", "")), int(each.get("port", 0))) for each in refused]
    return openable(pairs, (*policy.domains, *opened(path_in(folder))), policy.denied_domains)


def ground_of(call: Call) -> Ground:
    """The ground of a call; the folders that are the session's own are made."""
    home = call.world.home
    folder = home.journal / call.session / "sandbox"
    return Ground(
        home,
        call.settings.sandbox,
        call.world.environment,
        surroundings(home, call.workspace, folder, call.world.environment),
        call.record.path,
        call.record.folder,
        call.verdict,
        call.kept_back,
    )


def surroundings(home: Home, workspace: Path, folder: Path, environment: Mapping[str, str]) -> Surroundings:
    """The folders around a workspace; /tmp and the caches of what runs in it are made."""
    temporary = folder / "tmp"
    temporary.mkdir(parents=True, exist_ok=True, mode=0o700)
    return Surroundings(
        workspace,
        probe.user_home(environment),
        home.root,
        temporary,
        caches_of(home, workspace),
        probe.account_home(),
    )


@asynccontextmanager
async def hold(ground: Ground, spec: CommandSpec, command: str, *, is_outside: bool = False) -> AsyncIterator[Hold]:
    """The command as it is to be run; `is_outside`: a person decided to run this one without a sandbox.

    Once its runner has begun, what it needs stays for as long as it runs. Raises ToolError where the settings ask for a
    sandbox that cannot be had.
    """
    held = await reheld(ground, spec, command, is_outside=is_outside)
    if held.policy is None:
        yield held
        return
    await asyncio.to_thread(_keep, held, held.policy)
    with ExitStack() as stack:
        yield replace(held, spec=await asyncio.to_thread(_confined, held, held.policy, stack))


async def reheld(ground: Ground, spec: CommandSpec, command: str, *, is_outside: bool = False) -> Hold:
    """The same for a command that has begun before, to tell what was refused to it."""
    settings = ground.settings
    if not settings.enabled:
        return Hold(ground, spec, probe.Tier(probe.NONE, "turned off by the person"))
    if is_outside or is_excluded(command, settings):
        return Hold(ground, spec, probe.Tier(probe.NONE), ("[ran outside the sandbox]",))
    tier = await probe.chosen(ground.home, settings, ground.environment)
    if not tier.is_sandboxed and settings.fail_if_unavailable:
        raise ToolError(f"No sandbox works here, and the settings ask for one: {tier.why}. The command did not run.")
    if tier.number == probe.NONE:
        return Hold(ground, spec, tier, (_degraded(tier),))
    right = await asyncio.to_thread(right_of, ground.verdict, command)
    policy = await asyncio.to_thread(
        make_policy, settings, ground.where, spec.environment, opens_configuration=right.is_open
    )
    lines = [_degraded(tier)] if tier.why or tier.number != probe.FULL else []
    argv, way_out = spec.argv, ground.folder / network.USUAL
    if tier.has_network and (hosts := await asyncio.to_thread(_opened, ground, policy, command)):
        policy, way_out = replace(policy, domains=(*policy.domains, *hosts)), network.of_hosts(ground.folder, hosts)
        lines.append(f"[sandbox: open to this command alone, since it was allowed by name: {', '.join(hosts)}]")
    if tier.number == probe.FULL:
        argv = shell(confinements.PROCESS_LIMIT + command)
        searches = await asyncio.to_thread(is_search, command)
        if searches or await asyncio.to_thread(comes_across_more, ground.verdict, command):
            policy, line = await asyncio.to_thread(without_secrets, policy, ground.folder, command)
            lines += [line] if line else []
        policy, told = await asyncio.to_thread(without_kept_back, policy, ground.kept_back, command, ground.folder)
        # A search that finds nothing means something else then; others are told once.
        lines += told if searches or not told else await asyncio.to_thread(not_told, ground.folder, told)
    return Hold(ground, replace(spec, argv=argv), tier, tuple(lines), policy, way_out, right)


def _opened(ground: Ground, policy: Policy, command: str) -> tuple[str, ...]:
    allowed = (*policy.domains, *opened(path_in(ground.folder)))
    return still_closed(hosts_to_open(ground.verdict, command), allowed, policy.denied_domains)


def _confined(held: Hold, policy: Policy, stack: ExitStack) -> CommandSpec:
    ground, tier, spec = held.ground, held.tier, held.spec
    joined = None
    if tier.has_network:
        asked = network.asked(policy, ground.home, spec.environment, ground.folder)
        secret = network.upstream_of(spec.environment)[1]
        try:
            joined = stack.enter_context(network.network(held.network, asked, ground.home.root, secret))
        except OSError as error:
            raise ToolError(f"The sandbox's network could not be made: {error}. The command did not run.") from error
    is_full = tier.number == probe.FULL
    caches = str(ground.where.user / ".cache")
    if policy.kind_at(caches) != Kind.WRITE:
        caches = "/tmp/.cache"  # noqa: S108 - the session's own, where the home folder is none
    environment = {"HOME": policy.user} | held_environment(
        spec.environment,
        ground.settings.environment,
        "/tmp" if is_full else policy.temporary,  # noqa: S108 - the session's own, seen from inside
        caches if is_full else str(ground.where.caches),
        has_proxy=joined is not None,
    )
    environment |= reading_only() if READS in spec.environment else {}
    return replace(spec, environment=environment, sandbox=confinements.confined(tier.number, policy, spec.cwd, joined))


def _keep(held: Hold, policy: Policy) -> None:
    """Keep what stood in the workspace and in the proxy's notes; a later attempt leaves what the first one saw."""
    ground, path = held.ground, held.ground.kept / KEPT
    if _kept(ground.kept):
        return
    right = replace(held.right, is_open=held.right.is_open or held.tier.number != probe.FULL)
    others = [one["git"] for each in unsettled.others(ground.home, ground.kept) if "git" in (one := _kept(each))]
    unsettled.enter(ground.home, ground.where.workspace, ground.kept, ground.output)
    facts = {
        "git": git_config.keep(ground.home, ground.where.workspace, right, others),
        "inventory": git_guard.take_inventory(ground.where.workspace),
        "network": str(held.network),
        "refused": network.noted(held.network),
        "policy": policy.as_record(),
        "folder": str(ground.folder),
        "cwd": held.spec.cwd,
        "has_network": held.tier.has_network,
        "is_full": held.tier.number == probe.FULL,
        "lines": list(held.lines),
    }
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    # A machine that dies takes the runner with it: then the outcome is unknown, and nothing here is asked for.
    write_atomic(path, json.dumps(facts).encode("ascii"), lasts=False)


def _kept(folder: Path) -> dict[str, Any]:  # Any: JSON of our own
    try:
        kept = json.loads((folder / KEPT).read_bytes())
    except (OSError, ValueError):
        return {}
    return kept if isinstance(kept, dict) else {}


def _degraded(tier: probe.Tier) -> str:
    if tier.number == probe.LANDLOCK:
        return f"[sandbox of tier 2: commands have no network here ({tier.why or 'the settings say so'})]"
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


def is_contained(home: Home, settings: SandboxSettings, command: str) -> bool:
    """Whether a command needs no question since the full sandbox holds it, and the person's settings say so."""
    if not settings.enabled or not settings.auto_allow_bash_if_sandboxed:
        return False
    tier = probe.known(home, settings)
    if tier is None or tier.number != probe.FULL or is_excluded(command, settings):
        return False
    return not needs_a_word(command)


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
