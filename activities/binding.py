"""bind(spec, function, world): one activity; the type checker compares the two."""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from contextlib import suppress
from contextvars import ContextVar
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any, Generic, TypeVar

from pydantic import ValidationError
from temporalio import activity
from temporalio.exceptions import ApplicationError

from activities.stores.claims import Claims
from activities.world import World
from workflows.contracts.activity_specs import PAYLOAD_LIMIT, ActivitySpec
from workflows.contracts.contract import Contract
from workflows.contracts.errors import ChainError, FailureKind, MissingObject, StepFailure, StoreError, UserError
from workflows.contracts.events import Notice

log = logging.getLogger(__name__)

In = TypeVar("In", bound=Contract)
Out = TypeVar("Out", bound=Contract)

BEAT_EVERY = 0.4
"""Seconds between two beats: a cancel reaches an activity with the answer to the next one."""

WATCH_EVERY = 1.5
"""The same where something is only watched, for hours or days: each beat is a write of the server's."""


@dataclass
class ActivityBeat:
    """How a running activity tells that it lives, and learns that it shall stop."""

    attempt: int
    worker: str
    details: tuple[str, ...] = ()
    cancelled: asyncio.Event = field(default_factory=asyncio.Event)
    said: tuple[str, ...] = ()
    is_beating: bool = False

    def say(self, *details: str) -> None:
        """Tell the engine these details with the next beat: at once, after the first one."""
        self.said = details
        if self.is_beating:
            activity.heartbeat(*details)

    async def keep(self, every: float = BEAT_EVERY) -> None:
        """Beat until cancelled."""
        while True:
            # Slept first: each beat is a write of the server's, and most activities end sooner.
            await asyncio.sleep(every)
            self.is_beating = True
            activity.heartbeat(*self.said)


_BEAT: ContextVar[ActivityBeat] = ContextVar("beat")


def current_beat() -> ActivityBeat:
    """The beat of the activity that runs now."""
    return _BEAT.get()


@dataclass(frozen=True)
class Binding(Generic[In, Out]):
    """A spec and the function that does it."""

    spec: ActivitySpec[In, Out]
    function: Callable[[World, In], Awaitable[Out]]

    def as_activity(
        self, world: World, identity: str, claims: Claims
    ) -> Callable[..., Any]:  # Any: Temporal reads its own marks
        """What the worker registers."""
        spec, function = self.spec, self.function

        async def run(given: In) -> Out:
            try:
                return await function(world, given)
            except MissingObject as error:
                if await _is_in_another_store(world, given):
                    raise await _other_store(world, given) from error
                raise

        async def activity_function(given: Contract) -> Contract:
            if not isinstance(given, spec.takes):
                raise ApplicationError(f"{spec.name} takes {spec.takes.__name__}", non_retryable=True)
            info = activity.info()
            with claims.held(info.workflow_id or "", info.task_token):
                every = 0.0 if spec.heartbeat is None else WATCH_EVERY if spec.watches else BEAT_EVERY
                return _checked(
                    spec.name, await _beating(_leaving(run) if spec.watches else run, given, identity, every)
                )

        activity_function.__annotations__ = {"given": spec.takes, "return": spec.gives}
        return activity.defn(name=spec.name)(activity_function)


def _leaving(run: Callable[[In], Awaitable[Out]]) -> Callable[[In], Awaitable[Out]]:
    """The same, given up as soon as the worker is to stop: the next one goes on with it."""

    async def leaving(given: In) -> Out:
        stop = asyncio.ensure_future(activity.wait_for_worker_shutdown())
        working = asyncio.ensure_future(run(given))
        try:
            await asyncio.wait({stop, working}, return_when=asyncio.FIRST_COMPLETED)
            if working.done():
                return working.result()
            raise StepFailure(FailureKind.TRANSPORT, "the worker stops", 0.5, retryable=True)
        finally:
            stop.cancel()
            working.cancel()

    return leaving


async def _beating(run: Callable[[In], Awaitable[Out]], given: In, identity: str, every: float) -> Out:
    """Run in a task of its own: a cancel that the workflow asked for is told to it, and it returns what it has."""
    info = activity.info()
    beat = ActivityBeat(info.attempt, identity, tuple(str(detail) for detail in info.heartbeat_details))
    _BEAT.set(beat)
    keeping = asyncio.ensure_future(beat.keep(every)) if every else None
    working = asyncio.ensure_future(_failing_well(run, given))
    try:
        await asyncio.wait({working})
        return working.result()
    except asyncio.CancelledError:
        details = activity.cancellation_details()
        if details is None or not details.cancel_requested:
            working.cancel()
            with suppress(asyncio.CancelledError):
                await asyncio.wait({working}, timeout=5)
            raise
        beat.cancelled.set()
        await asyncio.wait({working})
        return working.result()
    finally:
        # Not done only when this attempt ends before its work: nothing of it may go on unseen.
        working.cancel()
        if keeping:
            keeping.cancel()


_PASSING = {kind.value: kind for kind in (FailureKind.DISK_FULL, FailureKind.STORE)}
"""Reasons of errors that pass when somebody frees the disk or the store answers again."""

_FAULTS = (
    ArithmeticError,
    AssertionError,
    AttributeError,
    LookupError,
    NameError,
    RecursionError,
    TypeError,
    ValueError,
)
"""What only a fault of ours raises: trying again gives the same."""


async def _failing_well(run: Callable[[In], Awaitable[Out]], given: In) -> Out:
    """The result, or a failure that names its kind and says whether trying again can help."""
    try:
        return await run(given)
    except StepFailure as error:
        delay = None if error.retry_after is None else timedelta(seconds=error.retry_after)
        raise ApplicationError(
            str(error), type=error.kind, non_retryable=not error.retryable, next_retry_delay=delay
        ) from error
    except StoreError as error:
        raise ApplicationError(str(error), type=FailureKind.STORE, non_retryable=True) from error
    except (ChainError, ValidationError) as error:
        raise ApplicationError(str(error), type=FailureKind.CHAIN, non_retryable=True) from error
    except UserError as error:
        kind = _PASSING.get(error.reason, FailureKind.PERSON)
        raise ApplicationError(str(error), type=kind, non_retryable=not _may_pass(error)) from error
    except _FAULTS as error:
        message = f"perdure has a fault: {type(error).__name__}: {error}"
        raise ApplicationError(message, type=FailureKind.BUG, non_retryable=True) from error


async def _is_in_another_store(world: World, given: Contract) -> bool:
    """Whether not even what a session is made of is in this worker's store: then nothing of the session is."""
    digest = getattr(given, "context", "") or getattr(given, "settings", "")
    if not digest:
        return False
    try:
        await world.store.get(digest)
    except MissingObject:
        return True
    return False


async def _other_store(world: World, given: Contract) -> StepFailure:
    """A failure that another worker need not have, nor this one once its setting is mended; watchers are told once."""
    mine, beat = await world.store.store_id(), world.beat()
    text = (
        f"nothing of this session is in the store {mine[:8]} ({world.store.url}) of the worker {beat.worker}: "
        "set PERDURE_STORE to the session's store there and start that worker again; the step is tried again"
    )
    log.warning("session %s: %s", getattr(given, "session", ""), text)
    if beat.attempt == 1:
        world.publish(getattr(given, "session", ""), Notice(what="other_store", text=text))
    return StepFailure(FailureKind.STORE, text, retryable=True)


def _may_pass(error: UserError) -> bool:
    """Whether the same step can work later: a disk or a limit stood in its way, or a store that did not answer."""
    return error.reason in _PASSING or isinstance(error.__cause__, OSError)


def _checked(name: str, result: Out) -> Out:
    size = len(result.model_dump_json().encode())
    if size <= PAYLOAD_LIMIT:
        return result
    written = result.model_dump(mode="json")
    largest = max(written, key=lambda field: len(str(written[field])))
    raise ApplicationError(
        f"result of {name} has {size} bytes, over the limit of {PAYLOAD_LIMIT}; its largest field is {largest!r}",
        type=FailureKind.PAYLOAD_TOO_LARGE,
        non_retryable=True,
    )


AnyBinding = Binding[Any, Any]  # Any: a table of bindings holds all of them
"""A binding, whatever it takes and gives."""
