"""What a person's request changes in the state, and which requests cannot be."""

from workflows.contracts.permissions import Answer, Approval, Mode
from workflows.contracts.session import (
    CallState,
    Close,
    Interrupt,
    Prompt,
    SessionState,
    SetMode,
    Submit,
)
from workflows.contracts.settings import Thresholds

_RIGHTS = {Mode.PLAN: 0, Mode.DONT_ASK: 1, Mode.DEFAULT: 1, Mode.ACCEPT_EDITS: 2, Mode.BYPASS: 3}


def gives_more(old: Mode, new: Mode) -> bool:
    """Whether the new mode lets the agent do more than the old one."""
    return _RIGHTS[new] > _RIGHTS[old]


def is_repeat(state: SessionState, request: str) -> bool:
    """Whether a request of this id was taken before."""
    return request in state.seen


def seen(state: SessionState, request: str, thresholds: Thresholds) -> SessionState:
    """The request id is remembered."""
    return state.model_copy(update={"seen": (*state.seen, request)[-thresholds.seen :]})


def open_approvals(state: SessionState) -> tuple[Approval, ...]:
    """Questions that wait for a person."""
    calls = state.turn.calls if state.turn else ()
    return tuple(call.approval for call in calls if call.state == CallState.ASKED and call.approval)


def refuse_submit(state: SessionState, submit: Submit, thresholds: Thresholds) -> str:
    """Why this prompt cannot be taken; empty when it can."""
    if state.closing:
        return "the session is closing; start a new one with perdure run"
    if not is_repeat(state, submit.request) and len(state.queue) >= thresholds.queued:
        return f"{len(state.queue)} prompts wait already; send it again when some are done"
    return ""


def submitted(state: SessionState, submit: Submit) -> SessionState:
    """The prompt waits for its turn."""
    prompt = Prompt(request=submit.request, digest=submit.digest)
    return state.model_copy(update={"queue": (*state.queue, prompt), "title": state.title or submit.title})


def refuse_answer(state: SessionState, answer: Answer) -> str:
    """Why this answer cannot be taken; empty when it can."""
    if is_repeat(state, answer.request):
        return ""
    found = next((item for item in open_approvals(state) if item.id == answer.approval), None)
    if found is None:
        return f"no question {answer.approval} is open; perdure approvals lists those that are"
    if found.digest != answer.digest:
        return f"question {answer.approval} is now about something else; look at it again with perdure approvals"
    if len(answer.text.encode()) > 1024:
        return "the answer's text is over 1 KB; say it shorter, or send it as a prompt"
    return ""


def answered(state: SessionState, answer: Answer) -> SessionState:
    """The call goes on, with this answer and only for what was asked."""
    turn = state.turn
    if turn is None:
        return state
    calls = tuple(
        call.model_copy(update={"state": CallState.ANSWERED, "answer": answer})
        if call.approval and call.state == CallState.ASKED and call.approval.id == answer.approval
        else call
        for call in turn.calls
    )
    return state.model_copy(update={"turn": turn.model_copy(update={"calls": calls})})


def refuse_interrupt(state: SessionState, interrupt: Interrupt) -> str:
    """Why there is nothing to interrupt; empty when there is."""
    if is_repeat(state, interrupt.request):
        return ""
    if state.turn is None:
        return "no turn runs; there is nothing to interrupt"
    if interrupt.turn and interrupt.turn != state.turn.number:
        return f"turn {interrupt.turn} has ended; turn {state.turn.number} runs now"
    return ""


def interrupted(state: SessionState) -> SessionState:
    """The turn that runs shall end."""
    return state.model_copy(update={"interrupt": True})


def mode_set(state: SessionState, request: SetMode) -> SessionState:
    """The new mode counts from the next call on."""
    if request.mode == state.mode:
        return state
    return state.model_copy(update={"mode": request.mode, "modes": (*state.modes, request.mode)[-20:]})


def closed(state: SessionState, request: Close) -> SessionState:
    """The session ends after what runs was ended."""
    return state.model_copy(update={"closing": True, "close_reason": request.reason[:300]})
