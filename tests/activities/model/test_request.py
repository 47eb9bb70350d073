"""What is sent: breakpoints, caps, and a prefix that stays the same byte for byte."""

import json
from typing import Any

import pytest

from activities.model.request import MARKER, Asking, body_bytes, head_bytes, is_thoughtless, message_bytes
from workflows.contracts.messages import Block, Message, Role, Text, Thinking, ToolResult, ToolUse
from workflows.contracts.model import ModelRequest
from workflows.contracts.settings import SessionContext, SessionSettings
from workflows.contracts.tools import ToolSpec

TOOLS = tuple(ToolSpec(name=name, description="d", input_schema={"type": "object"}) for name in ("A", "B"))


def context(**settings: Any) -> SessionContext:
    given = SessionSettings.model_validate(settings)
    return SessionContext(session="s", cwd="/", host="h", settings=given, system=("one", "two"), tools=TOOLS)


def asking(given: SessionContext, **changes: Any) -> Asking:
    request = ModelRequest.model_validate(
        {"session": "s", "exchange": 1, "head": "", "context": "", "at": "", **changes}
    )
    return Asking.of(request, given)


def message(role: Role, *blocks: Block) -> bytes:
    return message_bytes(Message(role=role, blocks=blocks), {})


def talk(turns: int) -> list[bytes]:
    call = ToolUse(id="c", name="A", input={"x": 1})
    result = ToolResult(id="c", content=(Text(text="é"),), is_error=True)
    pairs = [[message(Role.ASSISTANT, call), message(Role.USER, result)] for _ in range(turns)]
    return [message(Role.USER, Text(text="go")), *(each for pair in pairs for each in pair)]


def body(messages: list[bytes], **settings: Any) -> Any:
    given = context(**settings)
    return json.loads(body_bytes(head_bytes(given, asking(given)), messages))


def marked(value: Any) -> int:
    return json.dumps(value).count('"cache_control"')


def test_the_last_system_block_the_last_tool_and_the_last_two_user_messages_are_marked() -> None:
    sent = body(talk(5))
    assert [marked(block) for block in sent["system"]] == [0, 1]
    assert [marked(tool) for tool in sent["tools"]] == [0, 1]
    assert [place for place, each in enumerate(sent["messages"]) if marked(each)] == [8, 10]
    assert marked(sent) == 4
    assert "cache_control" in sent["messages"][-1]["content"][-1]


@pytest.mark.parametrize("turns", [0, 1, 7])
def test_a_request_begins_with_the_bytes_of_the_one_before_but_for_the_moving_marks(turns: int) -> None:
    given = context()
    head = head_bytes(given, asking(given))
    before, after = (body_bytes(head, talk(count)).replace(MARKER, b"") for count in (turns, turns + 1))
    assert after.startswith(before[: -len(b"]}")])


def test_the_request_names_another_cap_and_model_when_it_is_given_one() -> None:
    given = context(model="m", max_tokens=5)
    assert asking(given) == Asking("m", 5, 0)
    assert asking(given, model="n", max_tokens=9) == Asking("n", 9, 0)
    assert asking(given, max_tokens=3) == Asking("m", 5, 0), "a higher cap of the session is never lowered"


def test_a_thinking_budget_comes_on_top_of_the_output_cap() -> None:
    sent = body(talk(0), max_tokens=5_000, thinking_tokens=2_000)
    assert sent["thinking"] == {"type": "enabled", "budget_tokens": 2_000}
    assert sent["max_tokens"] == 7_000


def test_thinking_is_not_asked_for_behind_calls_whose_thought_is_not_shown() -> None:
    call, thought = ToolUse(id="c", name="A"), Thinking(text="hm", signature="s")
    assert is_thoughtless([Message(role=Role.ASSISTANT, blocks=(call,))])
    assert not is_thoughtless([Message(role=Role.ASSISTANT, blocks=(thought, call))])
    assert not is_thoughtless([Message(role=Role.ASSISTANT, blocks=(Text(text="a"),))])


def test_names_and_ids_that_the_provider_would_refuse_are_mended_alike_in_call_and_result() -> None:
    use = json.loads(message(Role.ASSISTANT, ToolUse(id="call:1", name="my tool")))["content"][0]
    result = json.loads(message(Role.USER, ToolResult(id="call:1")))["content"][0]
    assert (use["name"], use["id"]) == ("my_tool", "call_1")
    assert result == {"type": "tool_result", "tool_use_id": "call_1"}
