"""What a person's request changes in the state, and which requests cannot be."""

import re

from workflows.contracts.permissions import Answer, Approval, Choice, Chosen, Mode
from workflows.contracts.session import (
    CallState,
    Close,
    Interrupt,
    OpenCall,
    Prompt,
    SessionState,
    SetMode,
    Submit,
)
from workflows.contracts.settings import Thresholds
from workflows.contracts.transcript import digest_of

_MARK = 12
"""Hex digits that tell one request id from another, however long a client makes its ids."""

PLAN_TOOL = "ExitPlanMode"
"""The tool whose question shows a plan."""

_MODES = 4
"""Mode changes that wait to be written; of more the newest is kept, and says how many it crowded out."""

_DIGEST = re.compile(r"[0-9a-f]{64}")
_LONGEST = {"request": 40, "title": 80, "by": 80, "signature": 128}
"""Most characters of what a client gives: history and state stay small whoever asks."""


def refuse_form(request: Submit | Answer | SetMode | Interrupt | Close) -> str:
    """Why this request has no form that can be taken; empty when it has."""
    for name, most in _LONGEST.items():
        text = getattr(request, name, "")
        if len(text.encode("utf-8", errors="replace")) > most * 4 or len(text) > most:
            return f"the {name} of a request has at most {most} characters, not {len(text)}"
    if isinstance(request, Submit) and not _DIGEST.fullmatch(request.digest):
        return "a prompt is named by its digest, 64 hex digits in lower case; perdure send makes it"
    return ""


_RIGHTS = {Mode.PLAN: 0, Mode.DONT_ASK: 1, Mode.DEFAULT: 1, Mode.ACCEPT_EDITS: 2, Mode.AUTO: 3, Mode.BYPASS: 4}


def gives_more(old: Mode, new: Mode) -> bool:
    """Whether the new mode lets the agent do more than the old one."""
    return _RIGHTS[new] > _RIGHTS[old]


def is_repeat(state: SessionState, request: str) -> bool:
    """Whether a request of this id was taken before."""
    return _mark(request) in state.seen


def seen(state: SessionState, request: str, thresholds: Thresholds) -> SessionState:
    """The request id is remembered."""
    return state.model_copy(update={"seen": (*state.seen, _mark(request))[-thresholds.seen :]})


def _mark(request: str) -> str:
    return digest_of(request.encode("utf-8", errors="replace"))[:_MARK]


def open_approvals(state: SessionState) -> tuple[Approval, ...]:
    """Questions that wait for a person."""
    calls = state.turn.calls if state.turn else ()
    return tuple(call.approval for call in calls if call.state == CallState.ASKED and call.approval)


def refuse_submit(state: SessionState, submit: Submit, thresholds: Thresholds) -> str:
    """Why this prompt cannot be taken; empty when it can."""
    if is_repeat(state, submit.request):
        return ""
    if why := refuse_form(submit):
        return why
    if state.closing:
        return "the session is closing; start a new one with perdure run"
    if len(state.queue) >= thresholds.queued:
        return f"{len(state.queue)} prompts wait already; send it again when some are done"
    return ""


def submitted(state: SessionState, submit: Submit) -> SessionState:
    """The prompt waits for its turn."""
    queue = (*state.queue, Prompt(digest=submit.digest))
    return state.model_copy(update={"queue": queue, "title": state.title or submit.title[:80]})


def refuse_answer(state: SessionState, answer: Answer) -> str:
    """Why this answer cannot be taken; empty when it can."""
    if is_repeat(state, answer.request):
        return ""
    if why := refuse_form(answer):
        return why
    found = next((item for item in open_approvals(state) if item.id == answer.approval), None)
    if found is None:
        return f"no question {answer.approval} is open; perdure approvals lists those that are"
    if found.digest != answer.digest:
        return f"question {answer.approval} is now about something else; look at it again with perdure approvals"
    words = (answer.text, *(each.text for each in answer.chosen))
    if sum(len(text.encode("utf-8", errors="replace")) for text in words) > 1024:
        return "the answer's text is over 1 KB; say it shorter, or send it as a prompt"
    return _refuse_content(found, answer)


def _refuse_content(asked: Approval, answer: Answer) -> str:
    """Why this answer does not fit what was shown with the question; empty when it does."""
    if asked.content != answer.content:
        return f"question {asked.id} shows something else now; look at it again with perdure approvals"
    if answer.mode is not None and (asked.tool != PLAN_TOOL or answer.mode == Mode.PLAN or not answer.allow):
        return "a mode goes only with the approval of a plan, and is not plan"
    if not answer.allow or not asked.choices:
        return "" if not answer.chosen else f"question {asked.id} is answered by yes or no; use perdure approve or deny"
    if len(answer.chosen) != len(asked.choices):
        return f"question {asked.id} asks {len(asked.choices)} things; answer each of them with perdure answer"
    return next(filter(None, map(_refuse_chosen, asked.choices, answer.chosen)), "")


def _refuse_chosen(choice: Choice, chosen: Chosen) -> str:
    if any(not 1 <= number <= choice.options for number in chosen.options):
        return f"there are options 1 to {choice.options}; choose one of them, or say something else as text"
    if len(set(chosen.options)) < len(chosen.options) or (len(chosen.options) > 1 and not choice.several):
        return "only one option may be chosen here" if not choice.several else "an option is named twice"
    return "" if chosen.options or chosen.text.strip() else "choose an option, or say something else as text"


def answered(state: SessionState, answer: Answer) -> SessionState:
    """The call goes on, with this answer and only for what was asked."""
    turn = state.turn
    if turn is None:
        return state
    calls = tuple(_with_answer(call, answer) for call in turn.calls)
    return state.model_copy(update={"turn": turn.model_copy(update={"calls": calls})})


def _with_answer(call: OpenCall, answer: Answer) -> OpenCall:
    asked = call.approval
    if asked is None or call.state != CallState.ASKED or asked.id != answer.approval:
        return call
    # What a person reads of the question is not needed any more, and the state stays small.
    asked = asked.model_copy(update={"summary": "", "reason": "", "choices": ()})
    return call.model_copy(update={"state": CallState.ANSWERED, "approval": asked, "answer": answer})


def refuse_interrupt(state: SessionState, interrupt: Interrupt) -> str:
    """Why there is nothing to interrupt; empty when there is."""
    if is_repeat(state, interrupt.request):
        return ""
    if why := refuse_form(interrupt):
        return why
    if state.turn is None:
        return "no turn runs; there is nothing to interrupt"
    if interrupt.turn and interrupt.turn != state.turn.number:
        return f"turn {interrupt.turn} has ended; turn {state.turn.number} runs now"
    return ""


def interrupted(state: SessionState) -> SessionState:
    """The turn that runs shall end."""
    return state.model_copy(update={"interrupt": True})


def refuse_mode(state: SessionState, request: SetMode) -> str:
    """Why this mode cannot be set; empty when it can."""
    if is_repeat(state, request.request):
        return ""
    if state.closing:
        return "the session is closing; start a new one with perdure run"
    return refuse_form(request)


def mode_set(state: SessionState, request: SetMode) -> SessionState:
    """The new mode counts from the next call on."""
    if request.mode == state.mode:
        return state
    before = state.mode if request.mode == Mode.PLAN else None
    kept, crowded_out = state.modes[: _MODES - 1], state.modes[_MODES - 1 :]
    request = request.model_copy(update={"unkept": sum(1 + change.unkept for change in crowded_out)})
    return state.model_copy(update={"mode": request.mode, "modes": (*kept, request), "before_plan": before})


def closed(state: SessionState, request: Close) -> SessionState:
    """The session ends after what runs was ended."""
    return state.model_copy(update={"closing": True, "close_reason": request.reason[:300]})
