"""Readers: programs that a worker talks to and that only read, held without a network and without a place to write."""

import asyncio
from dataclasses import replace
from pathlib import Path

from activities.lsp.connection import FILTER, Held
from activities.safety.paths import real
from activities.safety.sandbox import bubblewrap, probe
from activities.safety.sandbox.hold import surroundings
from activities.safety.sandbox.policy import Kind, Policy, make_policy
from activities.safety.sandbox.programs import bubblewrap_program
from activities.safety.sandbox.seccomp import filter_bytes
from activities.tool import Call
from workflows.contracts.errors import ToolError


async def held_reader(call: Call, program: str) -> Held | None:
    """How a server of the call's workspace, this program, is held; None where the full sandbox holds no command either.

    Raises ToolError where the settings ask for a sandbox that cannot be had.
    """
    settings = call.settings.sandbox
    if not settings.enabled:
        return None
    tier = await probe.chosen(call.world.home, settings, call.world.environment)
    if not tier.is_sandboxed and settings.fail_if_unavailable:
        raise ToolError(f"No sandbox works here, and the settings ask for one: {tier.why}. No server was started.")
    return await asyncio.to_thread(_held, call, program) if tier.number == probe.FULL else None


def _held(call: Call, program: str) -> Held:
    home, workspace = call.world.home, call.workspace
    where = surroundings(home, workspace, home.root / "caches" / "servers", call.world.environment)
    # Its own folder is seen like those of the path, also where the person's home folder is not.
    own = [str(each.parent) for each in (Path(program), real(Path(program)))]
    environment = call.world.environment
    seen = {**environment, "PATH": ":".join([environment.get("PATH", ""), *own])}
    policy = reading(make_policy(call.settings.sandbox, where, seen))
    prefix = bubblewrap.reading_arguments(bubblewrap_program(), policy, str(workspace), FILTER)
    return Held(prefix, filter_bytes(()))


def reading(policy: Policy) -> Policy:
    """The same with nothing to write but what is its own: /tmp and the caches."""
    places = (
        replace(place, kind=Kind.READ) if place.kind == Kind.WRITE and not place.source else place
        for place in policy.places
    )
    return replace(policy, places=tuple(places))
