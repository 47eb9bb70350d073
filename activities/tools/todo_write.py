"""TodoWrite: keep the session's own list of to-dos."""

from collections import Counter
from enum import StrEnum

from pydantic import Field

from activities.tool import Call, Tool, ToolInput
from workflows.contracts.messages import Text, clean_json
from workflows.contracts.tools import Repeat, ToolOutcome


class Status(StrEnum):
    PENDING = "pending"
    IN_PROGRESS = "in_progress"
    COMPLETED = "completed"


class Todo(ToolInput):
    content: str = Field(min_length=1, max_length=1_000, description="What is to be done, as an order: Run the tests.")
    status: Status = Field(description="pending, in_progress or completed.")
    activeForm: str = Field(  # noqa: N815 - the field's name as models know it
        min_length=1, max_length=1_000, description="The same while it is being done: Running the tests."
    )


class Input(ToolInput):
    todos: tuple[Todo, ...] = Field(max_length=200, description="The whole list; it replaces the one before.")


class TodoWrite(Tool[Input]):
    """Keep a list of to-dos for work of three steps or more, so that you and the person see where it stands.

    - Give the whole list each time: what is left out is gone. An empty list clears it.
    - At most one to-do should be in_progress. Mark one completed as soon as it is done, and only when it is wholly
      done; add what turns up on the way.
    - For a single simple step a list is a waste: just do it.
    """

    name = "TodoWrite"
    input = Input
    is_read_only = True
    repeat = Repeat.SAFE
    timeout = 30

    def summary(self, given: Input) -> str:
        done = sum(todo.status is Status.COMPLETED for todo in given.todos)
        return f"{done} of {len(given.todos)} completed"

    async def run(self, call: Call, given: Input) -> ToolOutcome:
        counts = Counter(todo.status for todo in given.todos)
        told = ", ".join(f"{counts[status]} {status}" for status in Status)
        text = f"The list has {len(given.todos)} to-dos now: {told}." if given.todos else "The list is empty now."
        if counts[Status.IN_PROGRESS] > 1:
            text += " More than one is in_progress: keep it to the one you work on."
        todos = [clean_json(todo.model_dump(mode="json")) for todo in given.todos]
        return ToolOutcome(content=(Text(text=text),), data={"todos": todos})
