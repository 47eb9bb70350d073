"""What a person wants of sessions: start them, pass requests on until it is known, ask how they are."""

import asyncio
import sys
import time
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, TypeVar

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
)
from workflows.contracts.errors import EngineUnreachable, UsageError, UserError
from workflows.contracts.ids import ATTRIBUTES, SESSION_PREFIX, SHARED_QUEUE, session_workflow, task_workflow

if TYPE_CHECKING:  # reading contracts takes longer than listing sessions
    from workflows.contracts.permissions import Answer
    from workflows.contracts.session import (
        Close,
        Interrupt,
        SessionInput,
        SessionResult,
        SetMode,
        Snapshot,
        Submit,
        Taken,
    )

    Request = Submit | Answer | Interrupt | SetMode | Close

Given = TypeVar("Given")

UPDATE_LIMIT_S = 5.0
"""How long an update may wait before the person is told that it is not confirmed."""
QUERY_LIMIT_S = 5.0
SILENCE_LIMIT_S = 60.0
"""How long a server that went away is waited for, once it was reached."""
MOST_LISTED = 1_000
_NEWEST_RUNS = f'WorkflowType = "{SESSION_TYPE}" AND ExecutionStatus != "ContinuedAsNew"'


_ID_LETTERS = frozenset("abcdefghijklmnopqrstuvwxyz0123456789-")


class Sessions:
    """The sessions of one server; every method raises UserError, in words for the person."""

    def __init__(
        self,
        line: Line,
        where: str,
        patience_s: float = SILENCE_LIMIT_S,
        trouble: Callable[[], str] = str,
        advice: str = "",
    ) -> None:
        """`trouble` says, when the server is silent, what of its machine may be the cause; `advice` what to do else."""
        self._line = line
        self._where = where
        self._patience_s = patience_s
        self._trouble = trouble
        self._advice = f": {advice}" if advice else ""

    async def start_session(self, given: "SessionInput", *, model: str, title: str, started: str) -> None:
        """Start the session, its first prompt with it; UsageError when the id is taken."""
        known = await self._attributes()
        given = given.model_copy(update={"has_attributes": known >= ATTRIBUTES.keys()})
        memo: Json = {
            "title": title, "folder": given.cwd, "host": given.host, "host_name": given.host_name,
            "store": given.store, "model": model, "started": started,
        }  # fmt: skip
        request = given.prompts[0].request if given.prompts else given.session
        attributes: dict[str, str | float] = dict(
            zip(ATTRIBUTES, ("idle" if given.start else "running", given.cwd[:500], title, 0.0), strict=True)
            if given.has_attributes
            else ()
        )
        start = Start(
            workflow=session_workflow(given.session),
            request=request,
            queue=SHARED_QUEUE,
            given=given.model_dump(mode="json"),
            memo={**memo, "request": request},
            attributes=attributes,
        )
        try:
            with self._told(given.session):
                await self._patiently(lambda: self._line.start(start))
        except AlreadyThere as error:
            raise UsageError(
                f"There is a session {given.session} already: `perdure send {given.session} …` gives it a prompt.",
                reason="session_exists",
            ) from error

    async def submit(self, session: str, request: "Submit") -> "Taken":
        """Give the session another prompt."""
        return await self._update(session, "submit", request)

    async def answer(self, session: str, request: "Answer") -> "Taken":
        """Answer an open question."""
        return await self._update(session, "answer", request)

    async def interrupt(self, session: str, request: "Interrupt") -> "Taken":
        """End what the turn does."""
        return await self._update(session, "interrupt", request)

    async def set_mode(self, session: str, request: "SetMode") -> "Taken":
        """Give the session another standing permission setting."""
        return await self._update(session, "set_mode", request)

    async def close(self, session: str, request: "Close") -> "Taken":
        """End the session."""
        return await self._update(session, "close", request)

    async def stop_task(self, session: str, task: str, by: str) -> bool:
        """Have a background task ended; False when it has ended already."""
        with self._told(session):
            try:
                # The server takes a cancel of what has ended, too.
                if not (await self._line.describe(task_workflow(session, task))).is_open:
                    return False
                await self._line.cancel(task_workflow(session, task), by)
            except (Ended, NotThere):
                return False
        return True

    async def has_ended(self, session: str, task: str, seconds: float) -> bool:
        """Whether all that there was to do for a background task is done within that time."""
        with self._told(session):
            try:
                await self._line.result(task_workflow(session, task), seconds)
            except Late:
                return False
            except (NotThere, Refused):
                return True
        return True

    async def snapshot(self, session: str, seconds: float = QUERY_LIMIT_S) -> "Snapshot | None":
        """What the session says of itself; None when no worker answers for it in time."""
        from workflows.contracts.session import Snapshot

        with self._told(session):
            try:
                answer = await self._line.query(session_workflow(session), "snapshot", seconds)
            except Late:
                return None
        return Snapshot.model_validate(answer)

    async def result(self, session: str, seconds: float) -> "SessionResult | None":
        """What the closed session left; None while it runs. UserError with the reason when it failed."""
        from workflows.contracts.session import SessionResult

        with self._told(session):
            try:
                answer = await self._line.result(session_workflow(session), seconds)
            except Late:
                return None
        return SessionResult.model_validate(answer)

    async def describe(self, session: str) -> Listed:
        """The session as lists show it."""
        with self._told(session):
            return await self._line.describe(session_workflow(session))

    async def sessions(self, condition: str = "", most: int = MOST_LISTED) -> list[Listed]:
        """Sessions, newest first; `condition` narrows them, in Temporal's list filter language."""
        query = f"{_NEWEST_RUNS} AND ({condition})" if condition else _NEWEST_RUNS
        with self._told(""):
            return await self._line.sessions(query, most)

    async def find(self, word: str) -> Listed:
        """The session of that id, or the only one whose id begins so; UsageError when there is none or several."""
        session = word.strip().removeprefix(SESSION_PREFIX)
        if not session or not set(session) <= _ID_LETTERS:
            raise UsageError(_no_session(word), reason="no_session")
        with self._told(session):
            try:
                return await self._line.describe(session_workflow(session))
            except NotThere:
                query = f'{_NEWEST_RUNS} AND WorkflowId STARTS_WITH "{session_workflow(session)}"'
                found = await self._line.sessions(query, 6)
        if len(found) > 1:
            names = ", ".join(one.session for one in found[:5])
            raise UsageError(f"Several sessions begin with {session}: {names}. Give more of the id.")
        if not found:
            raise UsageError(_no_session(session), reason="no_session")
        return found[0]

    async def _attributes(self) -> frozenset[str]:
        with self._told(""):
            try:
                return await self._patiently(self._line.attributes)
            except Refused:
                return frozenset()

    async def _update(self, session: str, name: str, request: "Request") -> "Taken":
        """Repeat the update under its own id until it is known whether it was taken."""
        from workflows.contracts.session import Taken

        given = request.model_dump(mode="json")
        workflow, is_told, deadline = session_workflow(session), False, time.monotonic() + self._patience_s
        while True:
            with self._told(session):
                try:
                    answer = await self._line.update(workflow, name, request.request, given, UPDATE_LIMIT_S)
                    return Taken.model_validate(answer)
                except Late:
                    why, deadline = "no worker took it", time.monotonic() + self._patience_s
                except Silent:
                    # It may have been taken before the server went away: only the server knows.
                    if time.monotonic() >= deadline:
                        raise
                    why = "the server went away"
                    await asyncio.sleep(0.5)
            if not is_told:
                _say(f"Not yet confirmed ({why}); repeating until it is known. Ctrl-C stops asking.")
                is_told = True

    async def _patiently(self, ask: Callable[[], Awaitable[Given]]) -> Given:
        """Ask again for a few seconds when the server is silent, as one that just restarts is."""
        for pause in (0.2, 0.5, 1.0, 2.0):
            try:
                return await ask()
            except (Silent, Late):
                await asyncio.sleep(pause)
        return await ask()

    @contextmanager
    def _told(self, session: str) -> Iterator[None]:
        """LineError becomes the line for the person, but for what the caller looks for itself."""
        try:
            yield
        except NotThere as error:
            raise UsageError(_no_session(session), reason="no_session") from error
        except Ended as error:
            raise UserError(
                f"Session {session} has ended: `perdure show {session}` tells how; start another with `perdure run`.",
                reason="session_ended",
            ) from error
        except Refused as error:
            text = str(error)
            raise UserError(
                text[:1].upper() + text[1:] + ("" if text.endswith(".") else "."), reason="refused"
            ) from error
        except (Silent, Late) as error:
            trouble = self._trouble()
            silent = f"The Temporal server at {self._where} does not answer ({error})"
            raise EngineUnreachable(
                f"{silent}. {trouble}" if trouble else f"{silent}{self._advice}.",
                reason="disk_full" if trouble else "",
            ) from error


def _no_session(word: str) -> str:
    return f"There is no session {word[:80]}: `perdure ls` shows those that there are."


def _say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)
