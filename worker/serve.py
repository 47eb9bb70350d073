"""One worker process: connect, poll, say so, go on until told to stop."""

import asyncio
import logging
import os
import secrets
import signal
import sys
import time
from collections.abc import Awaitable
from contextlib import AsyncExitStack, suppress
from dataclasses import replace

from temporalio.client import Client
from temporalio.service import RPCError

from activities.model.client import AnthropicEndpoint
from activities.processes.warm import WarmStart
from activities.safety.sandbox.caches import forget_unused
from activities.stores.claims import Abandoned
from activities.stores.home import Home
from activities.stores.objects import ObjectStore, open_store
from activities.world import World
from worker.assemble import make_workers, make_world
from worker.connection import connect, resolve_address
from worker.health import announce_ready, withdraw, worker_lock
from worker.hidden import log_masked
from worker.leftovers import give_back, give_back_unnoted
from worker.model_keys import ModelEnvironment
from worker.orphans import end_orphans, forget_closed
from worker.successor import Keeper
from worker.target import Target
from workflows.contracts.errors import EngineUnreachable, UserError

log = logging.getLogger("worker")

_LAST_WORD = 12.0
"""Seconds after which a worker that shall stop is ended hard: a stop under load was seen to hang."""

_BETWEEN_TIDYING = 3600.0
"""Seconds between two looks at what sessions left on this host."""

_OPEN = 'WorkflowType = "SessionWorkflow" AND ExecutionStatus = "Running"'
_LOOKED_AT = 50
_SERVER_PATIENCE = 30.0
_SERVER_PAUSE = 0.1
"""Seconds to wait for the embedded server, and between two looks."""


def main() -> int:
    """Run the worker of this PERDURE_HOME, and another one whenever it is killed; the exit code."""
    log_masked()
    return Keeper().keep(_work)


def _work() -> int:
    try:
        asyncio.run(_serve())
    except UserError as error:
        sys.stderr.write(f"perdure worker: {error}\n")
        return error.exit_code
    return 0


async def _serve() -> None:
    home = Home.from_environment()
    home.ensure()
    # Its random part tells it from a worker of another machine with the same name, as containers have.
    identity = f"{os.getpid()}-{secrets.token_hex(2)}@{home.host().name}"
    with worker_lock(home, wait_s=20.0):
        client, target = await _connected(home, identity)
        store = open_store(home.store_url())
        await check_store(client, store)
        with WarmStart() as start_runner:
            environment = ModelEnvironment(home, dict(os.environ))
            world = replace(make_world(home, store, client, environment, start_runner), engine=target.engine)
            left = await give_back(client, world)
            await _poll(client, world, identity, left)


async def _connected(home: Home, identity: str) -> tuple[Client, Target]:
    """A client and its server; the embedded one may have died with the worker before, and is waited for."""
    give_up = time.monotonic() + _SERVER_PATIENCE
    while True:
        target = resolve_address(os.environ, home)
        try:
            return await connect(target, identity), target
        except EngineUnreachable:
            if not target.is_embedded or time.monotonic() > give_up:
                raise
        await asyncio.sleep(_SERVER_PAUSE)


async def check_store(client: Client, store: ObjectStore) -> None:
    """UserError where every open session keeps its objects in another store: here each of its calls would fail."""
    mine = await store.store_id()
    named: set[str] = set()
    # A server that just started may not list yet; each session looks at its store again.
    with suppress(RPCError):
        async for found in client.list_workflows(_OPEN, limit=_LOOKED_AT):
            named.add(str(await found.memo_value("store", "")))
    if named - {""} and mine not in named:
        raise UserError(
            f"The open sessions of this server keep their objects in the store {min(named - {''})[:8]}, not in "
            f"{store.url} ({mine[:8]}): set PERDURE_STORE to theirs.",
            reason="other_store",
        )


async def _poll(client: Client, world: World, identity: str, left: list[Abandoned]) -> None:
    stop = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, stop.set)
    async with AsyncExitStack() as workers:
        for worker in make_workers(client, world, identity):
            await workers.enter_async_context(worker)
        announce_ready(world.home, identity)
        log.info("polling as %s; store %s", identity, world.store.url)
        background = asyncio.ensure_future(_afterwards(client, world, left))
        await stop.wait()
        withdraw(world.home)
        background.cancel()
        await world.languages.close()
        # The interpreter may hang in threads of the SDK; nothing is owed to anybody any more by then.
        asyncio.get_running_loop().call_later(_LAST_WORD, os._exit, 0)


async def _afterwards(client: Client, world: World, left: list[Abandoned]) -> None:
    """What a worker does once it polls: give back the rest, load the model's SDK, tidy up now and then."""
    await _tried("attempts of dead workers were not all given back", give_back_unnoted(client, left))
    if isinstance(world.model, AnthropicEndpoint):
        await _tried("the model's SDK was not loaded ahead", world.model.warm())
    while True:
        await _tried("commands that nobody waits for were not all ended", end_orphans(client, world))
        await _tried("what closed sessions left was not all removed", forget_closed(client, world))
        await _tried("caches were not all looked at", asyncio.to_thread(forget_unused, world.home))
        await asyncio.sleep(_BETWEEN_TIDYING)


async def _tried(fault: str, work: Awaitable[object]) -> None:
    """Do it; a fault is logged and stops nothing of what comes after it."""
    try:
        await work
    except Exception:
        # Nobody waits for this task: what it does not say here is never heard of.
        log.exception("%s", fault)
