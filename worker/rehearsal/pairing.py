"""What the provider refuses of tool uses and their results: each call, one result, right after it."""

from worker.rehearsal.asked import Asked
from worker.rehearsal.scenario import Limits


def call_without_result(asked: Asked, _: Limits) -> str | None:
    """A tool use whose result is not in the next message."""
    for number, (calls, answers) in enumerate(zip(asked.calls, [*asked.answers[1:], []], strict=False)):
        if calls and (open_calls := [call for call in calls if call not in answers]):
            return (
                f"messages.{number}: `tool_use` ids were found without `tool_result` blocks immediately after: "
                f"{', '.join(open_calls)}. Each `tool_use` block must have a corresponding `tool_result` block in the "
                "next message."
            )
    return None


def result_without_call(asked: Asked, _: Limits) -> str | None:
    """A tool result whose call is not in the message before."""
    for number, (calls, answers) in enumerate(zip([[], *asked.calls], asked.answers, strict=False)):
        if strays := [answer for answer in answers if answer not in calls]:
            return (
                f"messages.{number}: unexpected `tool_use_id` found in `tool_result` blocks: {strays[0]}. Each "
                "`tool_result` block must have a corresponding `tool_use` block in the previous message."
            )
    return None


def call_id_twice(asked: Asked, _: Limits) -> str | None:
    """Two tool uses of one message under the same id; the same id in another message is no fault."""
    number = _first_double(asked.calls)
    return None if number is None else f"messages.{number}: `tool_use` ids must be unique"


def result_twice(asked: Asked, _: Limits) -> str | None:
    """Two results for one call."""
    if (number := _first_double(asked.answers)) is None:
        return None
    return f"messages.{number}: each tool_use must have a single result. Found multiple `tool_result` blocks"


def results_not_first(asked: Asked, _: Limits) -> str | None:
    """A tool result behind another kind of block."""
    for number, (blocks, answers) in enumerate(zip(asked.turns, asked.answers, strict=True)):
        if any(block["type"] != "tool_result" for block in blocks[: len(answers)]):
            return f"messages.{number}: `tool_result` blocks must come before any other content"
    return None


def _first_double(ids_of_messages: list[list[str]]) -> int | None:
    doubles = (number for number, ids in enumerate(ids_of_messages) if len(set(ids)) < len(ids))
    return next(doubles, None)
