"""What sessions leave on this host: commands that nobody waits for are ended, the journals of old sessions removed."""

import asyncio
import logging
import time
from collections.abc import Sequence
from contextlib import suppress
from datetime import UTC, datetime, timedelta

from temporalio.client import Client, WorkflowExecutionDescription, WorkflowQueryFailedError
from temporalio.service import RPCError, RPCStatusCode

from activities.hooks.snapshot import forget_hooks
from activities.processes.attach import end_command, is_running
from activities.stores.environments import forget_environment
from activities.stores.journal import CallRecord
from activities.tasks.record import is_task
from activities.world import World
from workflows.contracts.ids import call_id, session_workflow
from workflows.contracts.session import CallState, SessionState
from workflows.session import SessionWorkflow

KEPT = timedelta(days=7)
"""How long a closed session keeps its journal: an operator may still set its workflow back and have it go on."""

_ASKED_WITHIN = timedelta(seconds=10)

log = logging.getLogger(__name__)


async def end_orphans(client: Client, world: World) -> list[str]:
    """End every journalled command that its session no longer waits for; the sessions they belonged to."""
    ended = []
    for session in await asyncio.to_thread(world.journal.sessions):
        try:
            if await _end_orphans_of(client, world, session):
                ended.append(session)
        except Exception:
            # One that cannot be looked at, such as a session that a newer perdure wrote, leaves the others as they are.
            log.exception("the commands of session %s were not all looked at", session)
    return ended


async def _end_orphans_of(client: Client, world: World, session: str) -> bool:
    running = await asyncio.to_thread(_running, world, session)
    orphans = await _orphans(client, world, session, running) if running else []
    await asyncio.gather(*(end_command(record.folder) for record in orphans))
    if orphans:
        log.warning("ended %d command(s) of session %s that nobody waits for", len(orphans), session)
    return bool(orphans)


async def forget_closed(client: Client, world: World, kept: timedelta = KEPT) -> list[str]:
    """Remove what this host keeps for sessions that closed so long ago; their names. Chain and feed stay."""
    forgotten = []
    for session in await asyncio.to_thread(_untouched, world, kept):
        if not await _is_past(client, world, session, kept):
            continue
        try:
            await asyncio.to_thread(world.journal.forget, session)
            forget_environment(world.home, session)
            forget_hooks(world.home, session)
        except OSError as error:
            log.warning("what session %s left is still there: %s", session, error)
            continue
        forgotten.append(session)
    return forgotten


def _running(world: World, session: str) -> list[CallRecord]:
    return [record for record in world.journal.calls(session) if is_running(record.folder) and _may_be_left(record)]


def _may_be_left(record: CallRecord) -> bool:
    """Whether nothing is known of its end, or it was meant to outlive its call."""
    return record.is_open() or is_task(record.path)


def _untouched(world: World, kept: timedelta) -> list[str]:
    """Sessions whose journal did not grow for that long: only they are asked for."""
    oldest = time.time() - kept.total_seconds()
    return [name for name in world.journal.sessions() if (world.journal.root / name).stat().st_mtime <= oldest]


async def _orphans(client: Client, world: World, session: str, running: Sequence[CallRecord]) -> list[CallRecord]:
    try:
        described = await client.get_workflow_handle(session_workflow(session)).describe()
    except RPCError as error:
        # Another server may know it: this home's worker may have been sent there for a while.
        return [each for each in running if _is_ours(world, each)] if _is_unknown(error) else []
    if described.close_time is not None:
        return list(running)
    with suppress(RPCError, WorkflowQueryFailedError):
        handle = client.get_workflow_handle(session_workflow(session))
        told = await handle.query(SessionWorkflow.snapshot, rpc_timeout=_ASKED_WITHIN)
        return [each for each in running if not is_awaited(told.state, each)]
    return []


def is_awaited(state: SessionState, record: CallRecord) -> bool:
    """Whether a session in this state still waits for a call; also when its record does not tell which one it is."""
    intent = record.read_intent() or {}
    exchange, place = intent.get("exchange"), intent.get("place")
    if not isinstance(exchange, int) or not isinstance(place, int) or exchange > state.totals.exchanges:
        return True
    if any(task.call == call_id(exchange, place) for task in state.tasks):
        return True
    if exchange < state.totals.exchanges or state.turn is None or place >= len(state.turn.calls):
        return False
    return state.turn.calls[place].state != CallState.DONE


async def _is_past(client: Client, world: World, session: str, kept: timedelta) -> bool:
    try:
        described = await client.get_workflow_handle(session_workflow(session)).describe()
    except RPCError as error:
        records = await asyncio.to_thread(world.journal.calls, session)
        return _is_unknown(error) and any(_is_ours(world, record) for record in records)
    return _closed_for(described) >= kept


def _closed_for(described: WorkflowExecutionDescription) -> timedelta:
    return datetime.now(UTC) - described.close_time if described.close_time else timedelta(seconds=-1)


def _is_unknown(error: RPCError) -> bool:
    return error.status is RPCStatusCode.NOT_FOUND


def _is_ours(world: World, record: CallRecord) -> bool:
    """Whether the call was begun for a session of the server that is asked now."""
    return bool(world.engine) and (record.read_intent() or {}).get("engine") == world.engine
