"""Hooks of a session's own moments: before a prompt is shown, after a batch of calls, when a turn or session ends."""

from pydantic import JsonValue

from workflows.contracts.activity_specs import RUN_HOOKS
from workflows.contracts.extensions import HookDone, HookEvent, HookMoment
from workflows.contracts.session import CallState, TurnEnd
from workflows.core import turn as turns
from workflows.core.turn import MOST_KEPT_GOING
from workflows.steps.calls import failure_of, start
from workflows.steps.running import Running, now

_TASKS = 20
_INTERRUPTED = "the turn was ended before its hooks had judged the prompt"


async def session_started(running: Running) -> None:
    """Hooks of the start; what they tell is in the chain before the first prompt."""
    await _asked(running, HookEvent.SESSION_START, "fork" if running.given.start else "startup")


async def prompt_submitted(running: Running) -> None:
    """A prompt that its hooks refuse, or that nobody judged, never reaches the model."""
    if not running.turn.prompt or not _has(running, HookEvent.USER_PROMPT_SUBMIT):
        return
    done = await _asked(running, HookEvent.USER_PROMPT_SUBMIT)
    why = _INTERRUPTED if running.is_stopped() else done.blocked or done.stopped
    if why:
        running.state = turns.erased(running.state, why)


async def batch_done(running: Running) -> None:
    """After the last call of a reply: hooks may end the turn before the model hears of the results."""
    turn = running.turn
    is_open = any(call.state != CallState.DONE for call in turn.calls)
    if is_open or running.is_stopped() or turn.end or not _has(running, HookEvent.POST_TOOL_BATCH):
        return
    done = await _asked(running, HookEvent.POST_TOOL_BATCH)
    if done.stopped:
        running.state = turns.failed(running.state, TurnEnd.HOOK, done.stopped)


async def keeps_going(running: Running, end: TurnEnd) -> bool:
    """Whether a hook has something left to do for a turn that would end; hooks of a failed one are only told."""
    if end in {TurnEnd.DONE, TurnEnd.DENIED}:
        if not _has(running, HookEvent.STOP):
            return False
        times = running.turn.kept_going
        done = await _asked(running, HookEvent.STOP, number=times, facts=_stop_facts(running, times))
        if not done.blocked or done.stopped or running.is_stopped() or times >= MOST_KEPT_GOING:
            return False
        running.state = turns.kept_going(running.state, f"[Stop hook] {done.blocked}")
        return True
    if end not in {TurnEnd.INTERRUPTED, TurnEnd.HOOK}:
        facts: dict[str, JsonValue] = {"error": end.value, "error_details": running.turn.error}
        await _asked(running, HookEvent.STOP_FAILURE, end.value, facts=facts)
    return False


async def session_ends(running: Running, reason: str) -> str:
    """Hooks of the end, which hold nothing up; why they could not be run, empty when they were."""
    if not _has(running, HookEvent.SESSION_END):
        return ""
    request = _moment(running, HookEvent.SESSION_END, "other", facts={"reason": "other", "why": reason[:300]})
    done = await running.outlast(start(RUN_HOOKS, request, host=running.given.host))
    if isinstance(done, BaseException):
        return _not_run(HookEvent.SESSION_END, done)
    running.state = running.state.model_copy(update={"head": done.head})
    return ""


def _not_run(event: HookEvent, error: BaseException) -> str:
    return f"the hooks of {event} could not be run: {failure_of(error)[1] or 'they were not ended in time'}"[:300]


def _has(running: Running, event: HookEvent) -> bool:
    return event in running.state.hooks


def _stop_facts(running: Running, times: int) -> dict[str, JsonValue]:
    tasks: list[JsonValue] = [{"id": task.id, "title": task.title} for task in running.state.tasks[:_TASKS]]
    return {"stop_hook_active": times > 0, "background_tasks": tasks, "session_crons": []}


async def _asked(
    running: Running,
    event: HookEvent,
    target: str = "",
    *,
    number: int = 0,
    facts: dict[str, JsonValue] | None = None,
) -> HookDone:
    """What the hooks of a moment decided. Where they could not be run, a guard's answer is no."""
    if not _has(running, event):
        return HookDone(head=running.state.head)
    request = _moment(running, event, target, number=number, facts=facts or {})
    result = await running.run_on_host(RUN_HOOKS, request)
    if not isinstance(result, BaseException):
        totals = running.state.totals
        totals = totals.model_copy(update={"cost": totals.cost + result.cost})
        running.state = running.state.model_copy(update={"head": result.head, "totals": totals})
        return result
    why = _not_run(event, result)
    guards = event in {HookEvent.USER_PROMPT_SUBMIT, HookEvent.POST_TOOL_BATCH}
    if running.state.turn and not guards and not running.is_stopped():
        running.state = turns.warned(running.state, why)
    return HookDone(head=running.state.head, stopped=why if guards else "")


def _moment(
    running: Running, event: HookEvent, target: str, *, facts: dict[str, JsonValue], number: int = 0
) -> HookMoment:
    state, turn = running.state, running.state.turn
    return HookMoment(
        session=running.given.session,
        context=state.context,
        head=state.head,
        at=now(),
        event=event,
        target=target,
        turn=turn.number if turn else state.turns,
        exchange=state.totals.exchanges,
        number=number,
        mode=state.mode,
        cwd=state.cwd or state.workspace,
        prompt=turn.prompt if turn else "",
        entry=turn.entry if turn else "",
        outcomes=turns.waiting(turn) if turn and event == HookEvent.POST_TOOL_BATCH else (),
        facts=facts,
    )
