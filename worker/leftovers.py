"""What a dead worker left: attempts that hang until their heartbeat times out."""

import asyncio
import logging
from collections.abc import Sequence
from datetime import timedelta

from temporalio.api.enums.v1 import PendingActivityState
from temporalio.api.workflowservice.v1 import ResetStickyTaskQueueRequest
from temporalio.client import AsyncActivityCancelledError, AsyncActivityHandle, Client
from temporalio.exceptions import ApplicationError
from temporalio.service import RPCError

from activities.stores.claims import Abandoned, abandoned
from activities.world import World

log = logging.getLogger(__name__)


async def give_back(client: Client, world: World) -> list[Abandoned]:
    """Fail the attempts that dead workers of this home still hold, so that the engine tries them again at once.

    The next tasks of their workflows come to any worker again; else each would wait for the dead one first. What
    dead workers left is returned for `give_back_unnoted`.
    """
    found = await asyncio.to_thread(abandoned, world.home.engine / "claims")
    attempts = [attempt for left in found for attempt in left.attempts]
    await asyncio.gather(*(_reset_sticky(client, workflow) for workflow in {workflow for workflow, _token in attempts}))
    await asyncio.gather(*(_fail(client.get_async_activity_handle(task_token=token)) for _workflow, token in attempts))
    return found


async def give_back_unnoted(client: Client, found: Sequence[Abandoned]) -> None:
    """The same for attempts that were given to a worker which died before it noted them, then forget what it left."""
    for left in found:
        if left.identity:
            await asyncio.gather(*(_fail_pending(client, workflow, left.identity) for workflow in left.workflows))
        _forget(left)


async def _fail_pending(client: Client, workflow: str, identity: str) -> None:
    try:
        described = await client.get_workflow_handle(workflow).describe()
    except RPCError as error:
        log.info("%s not looked at: %s", workflow, error)
        return
    pending = [
        activity
        for activity in described.raw_description.pending_activities
        if activity.state == PendingActivityState.PENDING_ACTIVITY_STATE_STARTED
        and activity.last_worker_identity == identity
    ]
    if pending:
        await _reset_sticky(client, workflow)
    for activity in pending:
        await _fail(
            client.get_async_activity_handle(
                workflow_id=workflow, run_id=described.run_id, activity_id=activity.activity_id
            )
        )


def _forget(left: Abandoned) -> None:
    try:
        left.forget()
    except OSError as error:
        log.warning("notes of a dead worker stay in %s: %s", left.folder, error)


async def _fail(handle: AsyncActivityHandle) -> None:
    died = ApplicationError("the worker died", type="worker_died", next_retry_delay=timedelta(milliseconds=1))
    try:
        await handle.fail(died)
    except (RPCError, AsyncActivityCancelledError) as error:
        # Most often the attempt had ended in time, or the engine had given it up already.
        log.debug("an attempt of a dead worker was not given back: %s", error)


async def _reset_sticky(client: Client, workflow: str) -> None:
    request = ResetStickyTaskQueueRequest(namespace=client.namespace)
    request.execution.workflow_id = workflow
    try:
        await client.workflow_service.reset_sticky_task_queue(request)
    except RPCError as error:
        log.warning("sticky queue of %s not reset: %s", workflow, error)
