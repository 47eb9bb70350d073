"""What a dead worker left: attempts that hang until their heartbeat times out, commands that nobody waits for."""

import asyncio
import logging
from datetime import timedelta

from temporalio.api.workflowservice.v1 import ResetStickyTaskQueueRequest
from temporalio.client import AsyncActivityCancelledError, Client, WorkflowExecutionStatus
from temporalio.exceptions import ApplicationError
from temporalio.service import RPCError, RPCStatusCode

from activities.processes.attach import end_command, is_running
from activities.stores.claims import Abandoned, abandoned
from activities.world import World
from workflows.contracts.ids import session_workflow

log = logging.getLogger(__name__)


async def give_back(client: Client, world: World) -> int:
    """Fail the attempts that dead workers of this home still hold, so that the engine tries them again at once.

    The next tasks of their workflows come to any worker again; else each would wait for the dead one first.
    """
    found = await asyncio.to_thread(abandoned, world.home.engine / "claims")
    attempts = [attempt for left in found for attempt in left.attempts]
    await asyncio.gather(*(_reset_sticky(client, workflow) for workflow in {workflow for workflow, _token in attempts}))
    await asyncio.gather(*(_fail(client, token) for _workflow, token in attempts))
    for left in found:
        _forget(left)
    return len(attempts)


def _forget(left: Abandoned) -> None:
    try:
        left.forget()
    except OSError as error:
        log.warning("notes of a dead worker stay in %s: %s", left.folder, error)


async def _fail(client: Client, token: bytes) -> None:
    handle = client.get_async_activity_handle(task_token=token)
    died = ApplicationError("the worker died", type="worker_died", next_retry_delay=timedelta(milliseconds=1))
    try:
        await handle.fail(died)
    except (RPCError, AsyncActivityCancelledError) as error:
        # Most often the attempt had ended in time, or the engine had given it up already.
        log.info("an attempt of a dead worker was not given back: %s", error)


async def _reset_sticky(client: Client, workflow: str) -> None:
    request = ResetStickyTaskQueueRequest(namespace=client.namespace)
    request.execution.workflow_id = workflow
    try:
        await client.workflow_service.reset_sticky_task_queue(request)
    except RPCError as error:
        log.info("sticky queue of %s not reset: %s", workflow, error)


async def end_orphans(client: Client, world: World) -> list[str]:
    """End every journalled command whose session is over; the sessions they belonged to."""
    ended = []
    for session in await asyncio.to_thread(world.journal.sessions):
        running = [record for record in world.journal.list_open(session) if is_running(record.folder)]
        if running and await _is_over(client, session):
            await asyncio.gather(*(end_command(record.folder) for record in running))
            log.warning("ended %d command(s) of session %s, which is over", len(running), session)
            ended.append(session)
    return ended


async def _is_over(client: Client, session: str) -> bool:
    try:
        described = await client.get_workflow_handle(session_workflow(session)).describe()
    except RPCError as error:
        return error.status is RPCStatusCode.NOT_FOUND
    return described.status is not WorkflowExecutionStatus.RUNNING
