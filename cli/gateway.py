"""The way to the server: the embedded one's HTTP API, or Temporal's client for any other; nothing else knows it."""

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

from cli.http_line import HttpLine
from cli.line import (
    SESSION_TYPE,
    AlreadyThere,
    Ended,
    Json,
    Late,
    Line,
    Listed,
    NotThere,
    Refused,
    Silent,
    Start,
    as_listed,
)
from cli.sessions import Sessions
from worker.engine import Home, disk_trouble
from worker.target import Target, resolve_address
from workflows.contracts.ids import TASK_TIMEOUT

if TYPE_CHECKING:  # importing the client takes longer than a quick command may last
    from temporalio.client import Client, WorkflowExecution, WorkflowHandle
    from temporalio.common import TypedSearchAttributes

LIMIT = timedelta(seconds=10)


async def open_sessions(home: Home, environment: Mapping[str, str] = os.environ) -> Sessions:
    """The sessions of the server that this environment means; UserError when it cannot be reached."""
    target = resolve_address(environment, home)
    line = await open_line(target)
    if not target.is_embedded:
        return Sessions(line, target.address)
    return Sessions(line, target.address, trouble=lambda: disk_trouble(home), advice="`perdure up` starts it")


async def open_line(target: Target) -> Line:
    """A line to that server."""
    if target.http_url:
        return HttpLine(target.http_url, target.namespace)
    from worker.connection import connect

    return ClientLine(await connect(target))


class ClientLine:
    """A line through Temporal's own client, which knows TLS, keys and profiles."""

    def __init__(self, client: "Client") -> None:
        self._client = client

    async def start(self, start: Start) -> None:
        """Start it; where the answer to an earlier try was lost, that try counts."""
        from temporalio.common import WorkflowIDReusePolicy
        from temporalio.exceptions import WorkflowAlreadyStartedError

        try:
            with _told():
                await self._client.start_workflow(
                    SESSION_TYPE,
                    start.given,
                    id=start.workflow,
                    task_queue=start.queue,
                    task_timeout=TASK_TIMEOUT,
                    memo=start.memo,
                    search_attributes=_typed(start.attributes),
                    id_reuse_policy=WorkflowIDReusePolicy.REJECT_DUPLICATE,
                    rpc_timeout=LIMIT,
                )
        except WorkflowAlreadyStartedError as error:
            with _told():
                found = await self._handle(start.workflow).describe(rpc_timeout=LIMIT)
                if await found.memo_value("request", "") != start.request:
                    raise AlreadyThere(str(error)) from error

    async def update(self, workflow: str, name: str, request: str, given: Json, seconds: float) -> Json:
        """Have an update taken."""
        from temporalio.client import WorkflowUpdateFailedError

        try:
            with _told():
                answer = await self._handle(workflow).execute_update(
                    name, given, id=request, result_type=dict, rpc_timeout=timedelta(seconds=seconds)
                )
                return dict(answer)
        except WorkflowUpdateFailedError as error:
            raise Refused(getattr(error.cause, "message", str(error.cause))) from error

    async def query(self, workflow: str, name: str, seconds: float) -> Json:
        """Ask it."""
        with _told():
            answer = await self._handle(workflow).query(
                name, result_type=dict, rpc_timeout=timedelta(seconds=seconds)
            )  # fmt: skip
            return dict(answer)

    async def describe(self, workflow: str) -> Listed:
        """Look at one."""
        with _told():
            return await _listed(await self._handle(workflow).describe(rpc_timeout=LIMIT))

    async def sessions(self, query: str, most: int) -> list[Listed]:
        """List them."""
        with _told():
            found = self._client.list_workflows(query, limit=most, rpc_timeout=LIMIT)
            return [await _listed(execution) async for execution in found]

    async def result(self, workflow: str, seconds: float) -> Json:
        """Wait for it."""
        from temporalio.client import WorkflowFailureError

        handle = self._client.get_workflow_handle(workflow, result_type=dict)
        try:
            with _told():
                return dict(await handle.result(rpc_timeout=timedelta(seconds=seconds)))
        except WorkflowFailureError as error:
            raise Refused(_telling(error)) from error

    async def cancel(self, workflow: str, reason: str) -> None:
        """Ask for its end."""
        with _told():
            await self._handle(workflow).cancel(reason=reason, rpc_timeout=LIMIT)

    async def attributes(self) -> frozenset[str]:
        """Ask the operator service."""
        from temporalio.api.operatorservice.v1 import ListSearchAttributesRequest

        with _told():
            request = ListSearchAttributesRequest(namespace=self._client.namespace)
            answer = await self._client.operator_service.list_search_attributes(request, timeout=LIMIT)
            return frozenset(answer.custom_attributes)

    def _handle(self, workflow: str) -> "WorkflowHandle[object, object]":
        return self._client.get_workflow_handle(workflow)


def _telling(error: BaseException) -> str:
    """The message of the first failure that is the session's own: what stands around it only says where it was."""
    from temporalio.exceptions import ApplicationError

    while not isinstance(error, ApplicationError) and (cause := getattr(error, "cause", None)) is not None:
        error = cause
    return str(getattr(error, "message", "") or error)


@contextmanager
def _told() -> Iterator[None]:
    """The client's errors as a line's."""
    from temporalio.client import RPCTimeoutOrCancelledError, WorkflowQueryFailedError
    from temporalio.service import RPCError, RPCStatusCode

    try:
        yield
    except (RPCTimeoutOrCancelledError, TimeoutError) as error:
        raise Late(str(error)) from error
    except WorkflowQueryFailedError as error:
        raise Refused(str(error)) from error
    except RPCError as error:
        match error.status:
            case RPCStatusCode.NOT_FOUND:
                raise (Ended if "already completed" in error.message else NotThere)(error.message) from error
            case RPCStatusCode.DEADLINE_EXCEEDED | RPCStatusCode.CANCELLED:
                raise Late(error.message) from error
            case RPCStatusCode.FAILED_PRECONDITION if "no poller" in error.message:
                raise Late(error.message) from error
            case RPCStatusCode.UNAVAILABLE | RPCStatusCode.RESOURCE_EXHAUSTED:
                raise Silent(error.message) from error
        raise Refused(error.message) from error


def _typed(attributes: Mapping[str, str | float]) -> "TypedSearchAttributes":
    from temporalio.common import SearchAttributeKey, SearchAttributePair, TypedSearchAttributes

    pairs: list[SearchAttributePair[str] | SearchAttributePair[float]] = []
    for name, value in attributes.items():
        if isinstance(value, str):
            pairs.append(SearchAttributePair(SearchAttributeKey.for_keyword(name), value))
        else:
            pairs.append(SearchAttributePair(SearchAttributeKey.for_float(name), value))
    return TypedSearchAttributes(pairs)


async def _listed(found: "WorkflowExecution") -> Listed:
    fields: Json = {pair.key.name: pair.value for pair in found.typed_search_attributes}
    fields |= await found.memo()
    status = found.status.name if found.status else "RUNNING"
    times = (_iso(found.start_time), _iso(found.close_time))
    return as_listed(found.id, found.run_id, times, status, fields)


def _iso(moment: datetime | None) -> str:
    return moment.astimezone(UTC).isoformat().replace("+00:00", "Z") if moment else ""
