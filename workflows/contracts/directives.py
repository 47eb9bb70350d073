"""Directive kinds: what a tool may ask of its workflow, by value, so each is a few hundred bytes."""

from typing import Annotated, Literal

from pydantic import Field

from workflows.contracts.contract import Contract
from workflows.contracts.permissions import Mode
from workflows.contracts.tasks import Task


class ChangeMode(Contract):
    """Another standing permission setting, as a person allowed when they answered the call."""

    kind: Literal["change_mode"] = "change_mode"
    mode: Mode | None = None
    """None for the one before plan mode."""
    approval: str = ""
    """The question that the person answered; their signature stands in the outcome of its call."""
    by: str = ""


class Move(Contract):
    """Work in another folder from the next call on."""

    kind: Literal["move"] = "move"
    workspace: str = ""
    """Absolute path; empty for the folder that the session was started in."""


class StartTask(Contract):
    """A task has been started; watch it."""

    kind: Literal["start_task"] = "start_task"
    task: Task


class DropTask(Contract):
    """A task was ended by the model itself, which has read of it: nothing more is told of it."""

    kind: Literal["drop_task"] = "drop_task"
    task: str


Directive = Annotated[ChangeMode | Move | StartTask | DropTask, Field(discriminator="kind")]
