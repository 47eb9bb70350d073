"""Running: the session while it lives, as its steps see it."""

import asyncio
from contextlib import suppress
from datetime import timedelta
from typing import TypeVar

from temporalio import workflow
from temporalio.exceptions import ApplicationError
from temporalio.workflow import ActivityHandle

from workflows.contracts.activity_specs import ActivitySpec
from workflows.contracts.contract import Contract
from workflows.contracts.session import SessionInput, SessionState, Turn
from workflows.contracts.transcript import stamp
from workflows.steps.calls import nobody_came, start

In = TypeVar("In", bound=Contract)
Out = TypeVar("Out", bound=Contract)


class Running:
    """Input and state of one session; request handlers replace the state between two awaits of a step."""

    def __init__(self, given: SessionInput) -> None:
        self.given = given
        self.state = given.state or SessionState(queue=given.prompts, mode=given.mode, title=_title(given))
        self.is_cancelled = False
        """The workflow itself was cancelled."""

    @property
    def turn(self) -> Turn:
        """The turn that runs; only asked for inside one."""
        if self.state.turn is None:
            raise ValueError("no turn runs")
        return self.state.turn

    def is_stopped(self) -> bool:
        """Whether what the turn does now shall end."""
        return self.state.interrupt or self.state.closing or self.is_cancelled

    def is_leaving(self) -> bool:
        """Whether the session itself shall end."""
        return self.state.closing or self.is_cancelled

    def waits_for(self, what: str) -> None:
        """Say what the session waits for."""
        if self.state.waiting_for != what:
            self.state = self.state.model_copy(update={"waiting_for": what})

    async def run(
        self, spec: ActivitySpec[In, Out], given: In, *, attempts: int | None = None, is_patient: bool = True
    ) -> Out | BaseException:
        """Result or error of one activity of the turn, which may also be too large to be asked for."""
        try:
            handle = start(spec, given, host=self.given.host, attempts=attempts, is_patient=is_patient)
        except ApplicationError as error:
            return error
        return await self.settle(handle)

    async def run_on_host(self, spec: ActivitySpec[In, Out], given: In) -> Out | BaseException:
        """The same for one that needs the host: while no worker of it comes, the state says that the session waits."""
        result = await self.run(spec, given, is_patient=False)
        if not (isinstance(result, BaseException) and nobody_came(result)) or self.is_stopped():
            return result
        self.waits_for(f"waiting for host {self.given.host_name or self.given.host}")
        result = await self.run(spec, given)
        self.waits_for("")
        return result

    async def outlast(self, handle: ActivityHandle[Out]) -> Out | BaseException:
        """Result or error of an activity that no interrupt ends; one whose session ends is waited for a while only."""
        leaving = asyncio.ensure_future(workflow.wait_condition(self.is_leaving))
        await workflow.wait([handle, leaving], return_when=asyncio.FIRST_COMPLETED)
        leaving.cancel()
        if not handle.done():
            with suppress(TimeoutError):
                patience = timedelta(seconds=self.given.thresholds.end_patience)
                await workflow.wait_condition(handle.done, timeout=patience)
        if not handle.done():
            handle.cancel()
            await workflow.wait([handle])
        return _result(handle)

    async def settle(self, handle: ActivityHandle[Out]) -> Out | BaseException:
        """Result or error of the activity; it is cancelled, and its end awaited, once the session is stopped."""
        watch = asyncio.ensure_future(workflow.wait_condition(self.is_stopped))
        await workflow.wait([handle, watch], return_when=asyncio.FIRST_COMPLETED)
        if not handle.done():
            handle.cancel()
            await workflow.wait([handle])
        watch.cancel()
        return _result(handle)

    async def wait(self) -> None:
        """Wait until somebody says something."""
        before = self.state
        await workflow.wait_condition(lambda: self.is_cancelled or self.state is not before)


def _result(handle: ActivityHandle[Out]) -> Out | BaseException:
    if handle.cancelled():
        return asyncio.CancelledError()
    return handle.exception() or handle.result()


def now() -> str:
    """The workflow's time, ISO 8601 UTC in milliseconds."""
    return stamp(workflow.now())


def _title(given: SessionInput) -> str:
    return given.prompts[0].title if given.prompts else ""
