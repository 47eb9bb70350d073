"""apply(state, directive) -> state; what tasks tell a session, and what the model must hear of its mode."""

from typing import assert_never

from workflows.contracts.directives import ChangeMode, Directive, DropTask, Move, StartTask
from workflows.contracts.permissions import Mode
from workflows.contracts.session import SessionState, SetMode
from workflows.contracts.tasks import MOST_NOTICES, MOST_TASKS, Delivery, Task
from workflows.core.intake import mode_set


def apply(state: SessionState, directive: Directive) -> SessionState:
    """The state after a tool asked for this."""
    match directive:
        case ChangeMode():
            return _mode_changed(state, directive)
        case Move(workspace=workspace):
            return state.model_copy(update={"workspace": workspace, "cwd": ""})
        case StartTask(task=task):
            return _begun(state, task)
        case DropTask(task=task):
            return state.model_copy(update={"tasks": tuple(each for each in state.tasks if each.id != task)})
        case _:
            assert_never(directive)


def _mode_changed(state: SessionState, asked: ChangeMode) -> SessionState:
    """A plan that was approved after the person had left plan mode themselves changes nothing."""
    mode = asked.mode
    if mode != Mode.PLAN:
        if state.mode != Mode.PLAN:
            return state
        mode = mode or state.before_plan or Mode.DEFAULT
    change = SetMode(request="", mode=mode, by=asked.by[:80], approval=asked.approval[:40])
    return mode_set(state, change).model_copy(update={"told_mode": mode})


def _begun(state: SessionState, task: Task) -> SessionState:
    if any(each.id == task.id for each in state.tasks) or len(state.tasks) >= MOST_TASKS:
        return state
    return state.model_copy(update={"tasks": (*state.tasks, task.model_copy(update={"key": ""}))})


def delivered(state: SessionState, given: Delivery) -> SessionState:
    """What a task tells waits for the model, once; of a task that is not open any more nothing is heard."""
    task = next((each for each in state.tasks if each.id == given.task), None)
    if task is None or given.number <= task.heard:
        return state
    heard = () if given.has_ended else (task.model_copy(update={"heard": given.number}),)
    tasks = tuple(new for each in state.tasks for new in (heard if each.id == task.id else (each,)))
    # The end of a task is never left out: there are at most MOST_TASKS of them.
    is_kept = bool(given.notice) and (given.has_ended or len(state.notices) < MOST_NOTICES)
    return state.model_copy(
        update={
            "tasks": tasks,
            "notices": (*state.notices, given.notice) if is_kept else state.notices,
            "unkept": state.unkept + (not is_kept),
        }
    )


def told(state: SessionState, notices: int, unkept: int) -> SessionState:
    """The first of the notices are in the chain now; what came later still waits."""
    return state.model_copy(update={"notices": state.notices[notices:], "unkept": state.unkept - unkept})


def reminder(state: SessionState) -> str:
    """What the model must hear of its mode with the next request; empty when it knows."""
    if state.mode == Mode.PLAN:
        return "" if state.told_mode == Mode.PLAN else "plan"
    return "left_plan" if state.told_mode == Mode.PLAN else ""
