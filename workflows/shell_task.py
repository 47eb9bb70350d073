"""ShellTaskWorkflow: one long command that outlives its turn."""

import asyncio

from temporalio import workflow
from temporalio.exceptions import ActivityError, FailureError
from temporalio.workflow import ActivityHandle

from workflows.contracts.activity_specs import END_TASK, WATCH_TASK
from workflows.contracts.ids import session_workflow
from workflows.contracts.tasks import Delivery, TaskInput, TaskResult, Watched, WatchRequest
from workflows.steps.calls import call, start

_MOST_BY = 200


@workflow.defn
class ShellTaskWorkflow:
    """Watches one background command on its host and tells its session what comes of it, each word once.

    It is nobody's child when its session rolls over or ends: the session asks for its end, which is a cancel.
    """

    @workflow.init
    def __init__(self, given: TaskInput) -> None:
        self._given = given
        self._told = given.told
        self._offset = given.offset
        self._is_cancelled = False
        self._by = ""

    @workflow.run
    async def run(self, given: TaskInput) -> TaskResult:  # noqa: ARG002 - the same as __init__ is given
        """Watch until the command has ended, and until its session knows."""
        living = asyncio.ensure_future(self._live())
        try:
            await workflow.wait([living])
        except asyncio.CancelledError:
            # Only noted: what the cancel asks for needs activities, which a cancelled task could not await.
            self._is_cancelled = True
            self._by = (workflow.cancellation_reason() or "")[:_MOST_BY]
        try:
            return await living
        except ActivityError:
            # Not even its end could be written down; the session shall not wait for it.
            self._told += 1
            await self._deliver(Watched(has_ended=True))
            raise

    async def _live(self) -> TaskResult:
        while True:
            watched = await self._watched()
            self._told += 1
            self._offset = watched.offset
            was_taken = await self._deliver(watched)
            if watched.has_ended:
                return TaskResult(task=self._given.task.id, told=self._told, was_taken=was_taken)
            if not was_taken:
                # Nobody is left who could stop it.
                self._is_cancelled = True
            if workflow.info().is_continue_as_new_suggested() and not self._is_cancelled:
                workflow.continue_as_new(self._given.model_copy(update={"told": self._told, "offset": self._offset}))

    async def _watched(self) -> Watched:
        """The next word of the task; once a cancel came, its end."""
        if not self._is_cancelled:
            handle = start(WATCH_TASK, self._request(), host=self._given.host)
            cancel = asyncio.ensure_future(workflow.wait_condition(lambda: self._is_cancelled))
            await workflow.wait([handle, cancel], return_when=asyncio.FIRST_COMPLETED)
            cancel.cancel()
            if (watched := await self._settled(handle)) and (watched.has_ended or not self._is_cancelled):
                return watched
        return await call(END_TASK, self._request(), host=self._given.host)

    async def _settled(self, handle: ActivityHandle[Watched]) -> Watched | None:
        """What the watch gave; None when it failed or was cancelled, which says nothing of the command."""
        if not handle.done():
            handle.cancel()
            await workflow.wait([handle])
        try:
            return handle.result()
        except (ActivityError, asyncio.CancelledError):
            return None

    def _request(self) -> WatchRequest:
        given = self._given
        return WatchRequest(
            session=given.session,
            context=given.context,
            task=given.task,
            offset=self._offset,
            number=self._told + 1,
            by=self._by,
        )

    async def _deliver(self, watched: Watched) -> bool:
        """Tell the session; False when there is none any more."""
        session = workflow.get_external_workflow_handle(session_workflow(self._given.session))
        told = Delivery(task=self._given.task.id, number=self._told, notice=watched.notice, has_ended=watched.has_ended)
        try:
            await session.signal("deliver", told)
        except FailureError:
            return False
        return True
