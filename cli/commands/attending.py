"""Watch a session until a turn or the session ends: draw or print, answer questions, leave by Ctrl-C."""

import asyncio
import signal
import sys
import time
from collections.abc import AsyncIterator
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Self

from cli.commands.answering import Answering, Reply
from cli.commands.following import Following
from cli.commands.keyboard import keys
from cli.display.cells import one_line
from cli.display.results import (
    Outcome,
    denials_of,
    exit_code_of,
    final_text,
    json_line,
    outcome_of,
    outcome_of_error,
    result_object,
    stop_of,
    text_lines,
)
from cli.display.screen import view_for, watch_events
from cli.display.stream import StreamJson
from cli.reader import Reader
from cli.sessions import Sessions
from cli.signing import new_request, signed_answer
from cli.watch import Screen
from worker.engine import Home
from workflows.contracts.errors import ExitCode, PerdureError, UserError, reason_of
from workflows.contracts.events import ApprovalAnswered, ApprovalAsked, Event, ExchangeEnded, ModelRetry, Notice
from workflows.contracts.permissions import Approval
from workflows.contracts.session import Interrupt, TurnEnd

TWICE_S = 2.0
"""A second Ctrl-C within this time interrupts the turn."""
INTERRUPT_LIMIT_S = 10.0
"""How long the end of an interrupted turn is waited for."""
CLOSED_LIMIT_S = 5.0
ASKED_LIMIT_S = 10.0
LONG_RETRY_S = 1.5
"""A wait for the model's next attempt from which on a watcher without a view is told."""
FORMATS = ("", "text", "json", "stream-json")


@dataclass(frozen=True)
class Attended:
    """Who watches what, and how it is shown."""

    home: Home
    sessions: Sessions
    session: str
    turn: int = 0
    """The turn whose end is waited for; 0 for the end of the session."""
    output: str = ""
    """One of FORMATS; empty for a view as people read it."""
    partial: bool = False
    """stream-json tells tokens as they come."""
    may_answer: bool = False
    """The person at the keyboard may answer questions by a key."""
    once: bool = False
    """The session closes itself after its turn: wait for that."""
    from_seq: int = 0
    started: float = field(default_factory=time.monotonic)


async def attend(attended: Attended) -> int:
    """Watch it; the exit code."""
    reader = Reader(attended.home)
    following = Following(
        reader, attended.sessions, attended.session, turn=attended.turn, from_seq=attended.from_seq
    )  # fmt: skip
    showing = asyncio.create_task(_show(attended, reader, following))
    with _Leaving() as leaving:
        try:
            why = await leaving.wait(showing)
            if why:
                await _cancelled(showing)
                return await _left(attended, leaving, following, why)
            await showing
        except PerdureError as error:
            return await _failed(attended, error)
        finally:
            await _cancelled(showing)
    if attended.once:
        with suppress(UserError):
            await attended.sessions.result(attended.session, CLOSED_LIMIT_S)
    return await _finished(attended, reader, following)


class _Leaving:
    """Ctrl-C and SIGTERM while something is watched."""

    def __init__(self) -> None:
        self.interrupts = 0
        self._why = ""
        self._news = asyncio.Event()

    def __enter__(self) -> Self:
        loop = asyncio.get_running_loop()
        loop.add_signal_handler(signal.SIGINT, self._interrupted)
        loop.add_signal_handler(signal.SIGTERM, self._terminated)
        return self

    def __exit__(self, *_: object) -> None:
        loop = asyncio.get_running_loop()
        loop.remove_signal_handler(signal.SIGINT)
        loop.remove_signal_handler(signal.SIGTERM)

    def _interrupted(self) -> None:
        self.interrupts += 1
        if self.interrupts > 2:
            raise KeyboardInterrupt
        self._why = "interrupted"
        self._news.set()

    def _terminated(self) -> None:
        self._why = "terminated"
        self._news.set()

    async def wait(self, task: "asyncio.Task[None] | None", seconds: float | None = None) -> str:
        """The signal that came, `interrupted` or `terminated`; empty when the task is done or that time is over."""
        self._why = ""
        self._news.clear()
        news = asyncio.create_task(self._news.wait())
        try:
            await asyncio.wait({news, task} if task else {news}, timeout=seconds, return_when="FIRST_COMPLETED")
        finally:
            news.cancel()
        return "" if task and task.done() else self._why


async def _show(attended: Attended, reader: Reader, following: Following) -> None:
    """Everything up to the end, in the format that was chosen."""
    events = _answering(attended, following) if attended.may_answer else following.events()
    match attended.output:
        case "":
            view = view_for(sys.stdout, attended.session)
            screen = Screen(session=attended.session)
            await watch_events(
                events, sys.stdout, following.is_last, screen=screen, status_source=following.status, view=view
            )
        case "stream-json":
            stream = StreamJson(attended.session, reader.entries, partial=attended.partial)
            async for line in stream.lines(_told_aside(attended, events), following.is_last):
                print(line, flush=True)
        case _:
            async for _event in _told_aside(attended, events):
                pass


async def _told_aside(attended: Attended, events: AsyncIterator[Event]) -> AsyncIterator[Event]:
    """The same events; where standard output belongs to a program, what it waits for is said on standard error."""
    is_waiting = False
    async for event in events:
        match event:
            case ApprovalAsked():
                whole = " perdure approvals shows all of it." if event.content else ""
                say(f"Session {attended.session} asks: {one_line(event.tool)} {one_line(event.summary)}.{whole} "
                    f"Answer: perdure approve {attended.session} {event.approval}, or deny.")  # fmt: skip
            case Notice(what="engine"):
                say(one_line(event.text))
            case ModelRetry(final=False) if event.seconds >= LONG_RETRY_S and not is_waiting:
                is_waiting = True
                say(f"Waiting for the model: {one_line(event.text)}. It is asked again, with longer and longer pauses.")
            case ExchangeEnded():
                is_waiting = False
        yield event


async def _answering(attended: Attended, following: Following) -> AsyncIterator[Event]:
    """The same events, while keys answer the oldest open question."""
    answering = Answering(say)
    answers: set[asyncio.Task[None]] = set()

    def pressed(text: str) -> None:
        for key in text:
            if (reply := answering.press(key)) is not None:
                task = asyncio.create_task(_answer(attended, reply))
                answers.add(task)
                task.add_done_callback(answers.discard)

    with keys(pressed):
        async for event in following.events():
            match event:
                case ApprovalAsked():
                    answering.asked(event)
                case ApprovalAnswered(approval=approval):
                    answering.answered(approval)
            yield event


async def _answer(attended: Attended, reply: Reply) -> None:
    """Answer the question; it is shown a moment before the session itself knows that it asks."""
    approval = reply.approval
    deadline = time.monotonic() + ASKED_LIMIT_S
    while time.monotonic() < deadline:
        try:
            snapshot = await attended.sessions.snapshot(attended.session)
            for one in snapshot.approvals if snapshot else ():
                if one.id == approval:
                    await _send(attended, one, reply)
                    return
        except PerdureError as error:
            say(str(error))
            return
        await asyncio.sleep(0.2)
    say(f"Question {approval} is not open any more.")


async def _send(attended: Attended, approval: Approval, reply: Reply) -> None:
    """The person's answer, signed. What they saw is what is saved: UserError where that is not so any more."""
    if reply.always and reply.always != await Reader(attended.home).offered(approval):
        raise UserError(
            f"Other rules would be saved by now: perdure approve {attended.session} {approval.id} --always shows them."
        )
    answer = signed_answer(
        attended.home,
        attended.session,
        approval,
        allow=reply.allow,
        chosen=reply.chosen,
        mode=reply.mode,
        always=bool(reply.always),
    )
    await attended.sessions.answer(attended.session, answer)


async def _left(attended: Attended, leaving: _Leaving, following: Following, why: str) -> int:
    """The person left, or was made to; the session goes on unless they said so twice."""
    session = attended.session
    if why == "interrupted" and not attended.turn:
        say(f"Session {session} goes on. Come back: perdure watch {session}")
        return ExitCode.STILL_RUNNING
    if why == "interrupted":
        say(
            f"Detached; session {session} goes on. Come back: perdure watch {session}. "
            "Ctrl-C again interrupts the turn."
        )
        if leaving.interrupts < 2:
            why = await leaving.wait(None, TWICE_S)
        if leaving.interrupts >= 2:
            return await _interrupt(attended, following)
    if why == "terminated":
        say(f"Terminated; session {session} goes on. Come back: perdure watch {session}")
        return ExitCode.TERMINATED
    return ExitCode.STILL_RUNNING


async def _interrupt(attended: Attended, following: Following) -> int:
    try:
        await attended.sessions.interrupt(attended.session, Interrupt(request=new_request()))
    except UserError as error:
        say(str(error))
        return ExitCode.INTERRUPTED
    say("Interrupting the turn …")
    try:
        async with asyncio.timeout(INTERRUPT_LIMIT_S):
            async for _event in following.events():
                pass
        say(f"Interrupted; session {attended.session} is open: perdure send {attended.session} gives it a prompt.")
    except TimeoutError:
        say(f"What runs is still being ended: perdure show {attended.session}")
    except PerdureError as error:
        say(str(error))
    return ExitCode.INTERRUPTED


async def _finished(attended: Attended, reader: Reader, following: Following) -> int:
    ended = following.ended
    seconds = time.monotonic() - attended.started
    if ended is None:
        end, outcome = None, Outcome(attended.session, "closed", ExitCode.DONE, seconds=seconds)
    else:
        end = _as_end(ended.reason)
        outcome = outcome_of(attended.session, end, ended.error, ended.totals, seconds)
        if attended.output:
            outcome = await _with_text(outcome, reader, ended.head, ended.turn)
    print_outcome(attended.output, outcome)
    if end not in {None, TurnEnd.DONE, TurnEnd.INTERRUPTED} and not attended.once:
        say(f"Session {attended.session} is kept and open: perdure send {attended.session} goes on with it.")
    return exit_code_of(end) if end else ExitCode.DONE


async def _with_text(outcome: Outcome, reader: Reader, head: str, turn: int) -> Outcome:
    try:
        entries = await reader.entries(head)
    except PerdureError as error:
        say(f"perdure: the transcript cannot be read: {error}")
        return outcome
    return replace(
        outcome, text=final_text(entries, turn), stop=stop_of(entries), denials=denials_of(entries)
    )  # fmt: skip


async def _failed(attended: Attended, error: PerdureError) -> int:
    known = error if isinstance(error, UserError) else UserError(str(error), reason=reason_of(error))
    outcome = outcome_of_error(known, attended.session, time.monotonic() - attended.started)
    print_outcome(attended.output, outcome)
    if not attended.output:
        say(f"perdure: {error}")
    return known.exit_code


def print_outcome(output: str, outcome: Outcome) -> None:
    """How it ended, in the format that was chosen; a view has shown it already."""
    match output:
        case "json" | "stream-json":
            print(json_line(result_object(outcome)), flush=True)
        case "text":
            said, told = text_lines(outcome)
            sys.stdout.write(said)
            sys.stdout.flush()
            sys.stderr.write(told)
        case _:
            return


def say(text: str) -> None:
    """One line for the person, on standard error."""
    print(text, file=sys.stderr, flush=True)


def _as_end(reason: str) -> TurnEnd:
    try:
        return TurnEnd(reason)
    except ValueError:
        return TurnEnd.FAILED


async def _cancelled(task: "asyncio.Task[None]") -> None:
    if not task.done():
        task.cancel()
    with suppress(asyncio.CancelledError, PerdureError):
        await task
