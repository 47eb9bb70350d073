"""call(spec, arg): the only place that runs an activity."""

from datetime import timedelta
from typing import TypeVar

from temporalio import workflow
from temporalio.common import RetryPolicy
from temporalio.exceptions import ActivityError, ApplicationError, CancelledError, TimeoutType
from temporalio.exceptions import TimeoutError as EngineTimeout
from temporalio.workflow import ActivityCancellationType, ActivityHandle

from workflows.contracts.activity_specs import PAYLOAD_LIMIT, ActivitySpec
from workflows.contracts.contract import Contract
from workflows.contracts.errors import FailureKind
from workflows.contracts.ids import SHARED_QUEUE, host_queue

In = TypeVar("In", bound=Contract)
Out = TypeVar("Out", bound=Contract)

_HOST_PATIENCE = timedelta(seconds=5)
"""How long a call may wait on a host's queue before the state says that the session waits for the host."""


def start(
    spec: ActivitySpec[In, Out], given: In, *, host: str = "", attempts: int | None = None, is_patient: bool = True
) -> ActivityHandle[Out]:
    """Schedule the activity of this spec; on the host's own queue when the spec needs the host.

    With `is_patient` false the call fails when no worker took it within five seconds.
    """
    _check_size(spec.name, given)
    return workflow.start_activity(
        spec.name,
        given,
        result_type=spec.gives,
        task_queue=host_queue(host) if spec.on_host else SHARED_QUEUE,
        start_to_close_timeout=spec.timeout,
        schedule_to_start_timeout=None if is_patient else _HOST_PATIENCE,
        heartbeat_timeout=spec.heartbeat,
        retry_policy=RetryPolicy(
            initial_interval=spec.first_retry,
            maximum_interval=spec.longest_retry,
            maximum_attempts=spec.attempts if attempts is None else attempts,
        ),
        cancellation_type=ActivityCancellationType.WAIT_CANCELLATION_COMPLETED,
    )


async def call(spec: ActivitySpec[In, Out], given: In, *, host: str = "") -> Out:
    """Run the activity to its end."""
    return await start(spec, given, host=host)


def nobody_came(error: BaseException) -> bool:
    """Whether the call failed because no worker of its host took it in time."""
    cause = error.cause if isinstance(error, ActivityError) else error
    return isinstance(cause, EngineTimeout) and cause.type == TimeoutType.SCHEDULE_TO_START


def never_began(error: BaseException) -> bool:
    """Whether no worker ever took the call: the same time-out of a retry names what ended the attempt before."""
    cause = error.cause if isinstance(error, ActivityError) else error
    return nobody_came(error) and isinstance(cause, EngineTimeout) and cause.cause is None


def was_cancelled(error: BaseException) -> bool:
    """Whether the call ended because the workflow asked for its end."""
    return isinstance(error, ActivityError) and isinstance(error.cause, CancelledError)


def failure_of(error: BaseException) -> tuple[FailureKind | None, str]:
    """Kind and one sentence of a failed call; no kind for a failure that is none of ours."""
    cause = error.cause if isinstance(error, ActivityError) and error.cause else error
    if isinstance(cause, ApplicationError) and cause.type in set(FailureKind):
        return FailureKind(cause.type), cause.message
    if isinstance(cause, EngineTimeout):
        return FailureKind.TRANSPORT, f"no worker finished this step in time ({cause.message})"
    return None, str(cause)


def _check_size(name: str, given: Contract) -> None:
    size = len(given.model_dump_json().encode())
    if size <= PAYLOAD_LIMIT:
        return
    written = given.model_dump(mode="json")
    largest = max(written, key=lambda field: len(str(written[field])))
    raise ApplicationError(
        f"input of {name} has {size} bytes, over the limit of {PAYLOAD_LIMIT}; its largest field is {largest!r}",
        type=FailureKind.PAYLOAD_TOO_LARGE,
        non_retryable=True,
    )
