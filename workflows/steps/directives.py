"""Carry out what tools asked for: start a task; end those of a session that ends."""

from collections.abc import Sequence
from contextlib import suppress
from datetime import timedelta

from temporalio import workflow
from temporalio.exceptions import FailureError, WorkflowAlreadyStartedError
from temporalio.workflow import ParentClosePolicy

from workflows.contracts.directives import Directive, StartTask
from workflows.contracts.ids import SHARED_QUEUE, TASK_TIMEOUT, task_workflow
from workflows.contracts.tasks import TaskInput
from workflows.steps.running import Running

TASK_WORKFLOW = "ShellTaskWorkflow"


async def carry_out(running: Running, directives: Sequence[Directive]) -> None:
    """What the state alone cannot do: each started task gets a workflow that watches it."""
    for directive in directives:
        if isinstance(directive, StartTask):
            await _watch(running, directive)


async def _watch(running: Running, directive: StartTask) -> None:
    given = running.given
    task = TaskInput(session=given.session, host=given.host, context=running.state.context, task=directive.task)
    # The same task is started once: its id is that of its call.
    with suppress(WorkflowAlreadyStartedError):
        # Awaited, so that no run ends before its task is there; its end comes as a signal.
        await workflow.start_child_workflow(
            TASK_WORKFLOW,
            task,
            id=task_workflow(given.session, directive.task.id),
            task_queue=SHARED_QUEUE,
            task_timeout=TASK_TIMEOUT,
            parent_close_policy=ParentClosePolicy.ABANDON,
        )


async def end_tasks(running: Running) -> tuple[str, ...]:
    """End every open task; those whose end was not heard of in time."""
    for task in running.state.tasks:
        handle = workflow.get_external_workflow_handle(task_workflow(running.given.session, task.id))
        # One that is gone has told its end, or was ended by an operator.
        with suppress(FailureError):
            await handle.cancel()
    if running.state.tasks:
        running.waits_for("ending background tasks")
        with suppress(TimeoutError):
            patience = timedelta(seconds=running.given.thresholds.end_patience)
            await workflow.wait_condition(lambda: not running.state.tasks, timeout=patience)
        running.waits_for("")
    left = tuple(task.id for task in running.state.tasks)
    running.state = running.state.model_copy(update={"tasks": ()})
    return left
