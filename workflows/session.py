"""SessionWorkflow: one conversation; its updates, queries, continue-as-new."""

import asyncio
from datetime import timedelta

from temporalio import workflow
from temporalio.common import SearchAttributeKey
from temporalio.exceptions import ActivityError, ApplicationError, CancelledError

from workflows.contracts.activity_specs import ARCHIVE, OPEN
from workflows.contracts.errors import FailureKind
from workflows.contracts.ids import COST_ATTRIBUTE, STATE_ATTRIBUTE
from workflows.contracts.permissions import Answer, answer_bytes, signed_bytes
from workflows.contracts.session import (
    Close,
    Interrupt,
    SessionInput,
    SessionResult,
    SetMode,
    Snapshot,
    Submit,
    Taken,
    TurnEnd,
    UnreadableStart,
)
from workflows.contracts.session_steps import ArchiveRequest, OpenRequest, SettleRequest
from workflows.contracts.tasks import Delivery
from workflows.core import intake
from workflows.core.directives import delivered
from workflows.core.phase import phase_of
from workflows.core.signatures import is_signed
from workflows.steps.calls import failure_of, start, was_cancelled
from workflows.steps.directives import end_tasks
from workflows.steps.hooks import session_ends, session_started
from workflows.steps.running import Running, now
from workflows.steps.turn import end_turn, take_step, write

_BETWEEN_ROLLS = timedelta(seconds=3)
"""The server delays runs that follow each other faster than about a second."""

_AFTER_FAILED_ROLL = timedelta(minutes=1)
_ROLL_ATTEMPTS = 5
"""A run goes on when its history cannot be kept now; a session that ends waits until it can."""


# A start that cannot be read is the same at each try. All else is tried again: a worker that is older than the other
# cannot read what that one wrote, and may not end a session by it.
@workflow.defn(failure_exception_types=[UnreadableStart])
class SessionWorkflow:
    """One conversation with one agent, however many Temporal runs it takes.

    Handlers only record a request in the state; the loop does the work.
    """

    @workflow.init
    def __init__(self, given: SessionInput) -> None:
        self._running = Running(given)
        self._given = given
        self._updates = 0
        self._rolls_from = workflow.info().start_time + _BETWEEN_ROLLS
        self._told = ("idle" if given.start else "running", 0) if given.state is None else ("", -1)

    @workflow.run
    async def run(self, given: SessionInput) -> SessionResult:
        """Live until closed; rolls over into a new Temporal run by itself."""
        try:
            if given.test_fault:
                raise LookupError(given.test_fault)
            return await self._uncancelled()
        except (ApplicationError, CancelledError, asyncio.CancelledError, workflow.ContinueAsNewError):
            raise
        except ActivityError as error:
            if was_cancelled(error):
                raise
            # By itself it only says that an activity failed; whoever looks at the session wants to know why.
            kind, why = failure_of(error)
            message = f"{why}. The transcript is kept up to {self._head()}"
            raise ApplicationError(message, type=kind or FailureKind.BUG, non_retryable=True) from error
        except Exception as error:
            # An error of ours must end the session: as a task failure it would be tried again for ever.
            message = (
                f"perdure has a fault: {type(error).__name__}: {error}. The transcript is kept up to {self._head()}"
            )
            raise ApplicationError(message, type=FailureKind.BUG, non_retryable=True) from error

    async def _uncancelled(self) -> SessionResult:
        """Live in a task that no cancel reaches: it is only noted, as an interrupt is.

        A cancel that met an activity which must not be ended, such as the one that writes what waits, would be lost.
        """
        living = asyncio.ensure_future(self._live())
        try:
            await workflow.wait([living])
        except asyncio.CancelledError:
            self._running.is_cancelled = True
        return await living

    async def _live(self) -> SessionResult:
        if not self._running.state.context:
            await self._open()
        while await take_step(self._running):
            self._tell()
            if self._is_full():
                await self._roll()
            if self._running.is_cancelled:
                break
        return await self._close()

    async def _open(self) -> None:
        given = self._given
        request = OpenRequest(
            session=given.session,
            cwd=given.cwd,
            host=given.host,
            settings=given.settings,
            at=now(),
            store=given.store,
            public_key=given.public_key,
            start=given.start,
            start_of=given.start_of,
        )
        opened = await self._running.run_on_host(OPEN, request)
        if isinstance(opened, BaseException):
            if self._running.is_stopped():
                return
            raise opened
        update = {"context": opened.context, "head": opened.head, "hooks": opened.hooks, "turns": opened.turns}
        totals = self._running.state.totals.model_copy(update={"exchanges": opened.exchanges})
        self._running.state = self._running.state.model_copy(update={**update, "totals": totals})
        await session_started(self._running)

    def _is_full(self) -> bool:
        info = workflow.info()
        thresholds = self._given.thresholds
        too_many = thresholds.roll_events and info.get_current_history_length() >= thresholds.roll_events
        full = info.is_continue_as_new_suggested() or too_many or self._updates >= thresholds.roll_updates
        return bool(full) and workflow.now() >= self._rolls_from

    async def _roll(self) -> None:
        """Go on in a new Temporal run; a cancel that came meanwhile is for this one, which then stays.

        A history that cannot be kept now only puts it off.
        """
        if await self._archive(attempts=_ROLL_ATTEMPTS):
            self._rolls_from = workflow.now() + _AFTER_FAILED_ROLL
            return
        await workflow.wait_condition(workflow.all_handlers_finished)
        if self._running.is_cancelled:
            return
        state = self._running.state.model_copy(update={"runs": self._running.state.runs + 1})
        workflow.continue_as_new(self._given.model_copy(update={"state": state, "prompts": ()}))

    async def _archive(self, attempts: int | None = None) -> str:
        """Put this run's history into the store; why that failed for good, empty when it did not."""
        info = workflow.info()
        state = self._running.state
        request = ArchiveRequest(
            session=self._given.session,
            workflow_id=info.workflow_id,
            run_id=info.run_id,
            head=state.head,
            at=now(),
            context=state.context,
        )
        try:
            archived = await start(ARCHIVE, request, attempts=attempts)
        except ActivityError as error:
            if was_cancelled(error):
                raise
            return failure_of(error)[1]
        self._running.state = self._running.state.model_copy(update={"head": archived.head})
        return ""

    async def _close(self) -> SessionResult:
        running = self._running
        # Before anything is awaited: a prompt that comes from now on is refused, since nobody would run it.
        running.state = running.state.model_copy(update={"closing": True})
        if running.state.turn:
            await end_turn(running, TurnEnd.INTERRUPTED)
        left = await end_tasks(running) if running.state.tasks else ()
        reason = running.state.close_reason or ("cancelled" if running.is_cancelled else "done")
        why = await session_ends(running, reason)
        request = SettleRequest(
            session=self._given.session,
            head=running.state.head,
            at=now(),
            context=running.state.context,
            prompts=tuple(prompt.digest for prompt in running.state.queue),
            what="closed",
            text=reason,
            totals=running.state.totals,
            turn=running.state.turns,
            notices=running.state.notices,
            unkept=running.state.unkept,
            left=left,
            why=why,
        )
        running.state = running.state.model_copy(
            update={"head": await write(request), "queue": (), "notices": (), "unkept": 0}
        )
        self._tell("closed")
        unarchived = await self._archive()
        await workflow.wait_condition(workflow.all_handlers_finished)
        if running.is_cancelled:
            raise asyncio.CancelledError
        state = running.state
        return SessionResult(
            head=state.head,
            end=state.last_end,
            error=state.last_error,
            reason=reason,
            unarchived=unarchived[:300],
            totals=state.totals,
            turns=state.turns,
        )

    def _tell(self, word: str = "") -> None:
        """Let lists show the state: one history event, only when it changed."""
        state = self._running.state
        told = (word or phase_of(state).word, state.totals.cost if state.turn is None else self._told[1])
        if told == self._told or (state.turn and told[0] == self._told[0]):
            return
        self._told = told
        if not self._given.has_attributes:
            workflow.upsert_memo({"state": told[0], "cost": state.totals.cost})
            return
        workflow.upsert_search_attributes(
            [
                SearchAttributeKey.for_keyword(STATE_ATTRIBUTE).value_set(told[0]),
                SearchAttributeKey.for_float(COST_ATTRIBUTE).value_set(state.totals.cost / 1_000_000),
            ]
        )

    def _head(self) -> str:
        return self._running.state.head or "its start"

    def _take(self, request: str) -> bool:
        """Count an update; False when a request of this id was taken before."""
        self._updates += 1
        if intake.is_repeat(self._running.state, request):
            return False
        self._running.state = intake.seen(self._running.state, request, self._given.thresholds)
        return True

    def _taken(self, *, repeated: bool = False) -> Taken:
        return Taken(turn=self._running.state.turns, repeated=repeated)

    @workflow.update
    def submit(self, given: Submit) -> Taken:
        """Another prompt; it gets its turn after those that wait."""
        if not self._take(given.request):
            return self._taken(repeated=True)
        self._running.state = intake.submitted(self._running.state, given)
        return Taken(turn=self._running.state.turns + len(self._running.state.queue))

    @submit.validator
    def _may_submit(self, given: Submit) -> None:
        _refuse(intake.refuse_submit(self._running.state, given, self._given.thresholds))

    @workflow.update
    def answer(self, given: Answer) -> Taken:
        """A person's answer to an open question."""
        if not self._take(given.request):
            return self._taken(repeated=True)
        self._running.state = intake.answered(self._running.state, given)
        return self._taken()

    @answer.validator
    def _may_answer(self, given: Answer) -> None:
        _refuse(intake.refuse_answer(self._running.state, given))
        self._check_signed(answer_bytes(self._given.session, given), given.signature)

    @workflow.update
    def set_mode(self, given: SetMode) -> Taken:
        """Another standing permission setting, from the next call on."""
        if not self._take(given.request):
            return self._taken(repeated=True)
        self._running.state = intake.mode_set(self._running.state, given)
        return self._taken()

    @set_mode.validator
    def _may_set_mode(self, given: SetMode) -> None:
        _refuse(intake.refuse_mode(self._running.state, given))
        if intake.gives_more(self._running.state.mode, given.mode):
            said = signed_bytes(self._given.session, "set_mode", given.request, given.mode, given.by)
            self._check_signed(said, given.signature)

    @workflow.update
    def interrupt(self, given: Interrupt) -> Taken:
        """End what the turn does; the session goes on."""
        if not self._take(given.request):
            return self._taken(repeated=True)
        self._running.state = intake.interrupted(self._running.state)
        return self._taken()

    @interrupt.validator
    def _may_interrupt(self, given: Interrupt) -> None:
        _refuse(intake.refuse_interrupt(self._running.state, given))

    @workflow.update
    def close(self, given: Close) -> Taken:
        """End the session."""
        if not self._take(given.request):
            return self._taken(repeated=True)
        self._running.state = intake.closed(self._running.state, given)
        return self._taken()

    @close.validator
    def _may_close(self, given: Close) -> None:
        _refuse(intake.refuse_form(given))
        said = signed_bytes(self._given.session, "close", given.request, given.reason, given.by)
        self._check_signed(said, given.signature)

    @workflow.signal
    def deliver(self, given: Delivery) -> None:
        """What a background task tells."""
        self._running.state = delivered(self._running.state, given)

    @workflow.query
    def snapshot(self) -> Snapshot:
        """What the session says of itself now."""
        given, state = self._given, self._running.state
        return Snapshot(
            session=given.session,
            title=state.title,
            cwd=given.cwd,
            host=given.host,
            host_name=given.host_name,
            phase=phase_of(state).text,
            state=state,
            approvals=intake.open_approvals(state),
            history_events=workflow.info().get_current_history_length(),
            thresholds=given.thresholds,
        )

    def _check_signed(self, said: bytes, signature: str) -> None:
        if not is_signed(self._given.public_key, said, signature):
            _refuse("this act needs a person's signature; use perdure as the user who started the session")


def _refuse(why: str) -> None:
    if why:
        raise ApplicationError(why, type="refused", non_retryable=True)
