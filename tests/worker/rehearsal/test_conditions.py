"""A condition holds for the requests it means, and for no others."""

import json
from typing import Any

import pytest

from worker.rehearsal.asked import Asked
from worker.rehearsal.conditions import When

REQUEST = {
    "model": "claude-big-5",
    "max_tokens": 8000,
    "system": [{"type": "text", "text": "You summarize."}],
    "tools": [{"name": "Bash"}],
    "messages": [
        {"role": "user", "content": "count to 3"},
        {
            "role": "assistant",
            "content": [
                {"type": "tool_use", "id": "a", "name": "Bash", "input": {}},
                {"type": "tool_use", "id": "b", "name": "Read", "input": {}},
            ],
        },
        {
            "role": "user",
            "content": [
                {"type": "tool_result", "tool_use_id": "a", "content": "one two"},
                {
                    "type": "tool_result",
                    "tool_use_id": "b",
                    "content": [{"type": "text", "text": "no"}],
                    "is_error": True,
                },
                {"type": "text", "text": "go on"},
            ],
        },
    ],
}


@pytest.mark.parametrize(
    "when",
    [
        {},
        {"last_contains": "go on"},
        {"last_contains": "one two"},
        {"last_matches": "t.o"},
        {"tool_result": True},
        {"tool_result": {"tool": "Bash", "contains": "one", "is_error": False}},
        {"tool_result": {"tool": "Read", "is_error": True, "matches": "^no$"}},
        {"system_contains": "summarize"},
        {"any_contains": "count to"},
        {"model": "claude-.*"},
        {"offers": "Bash"},
        {"exchange": 1},
        {"exchange": {"at_least": 1}, "messages": {"at_most": 3}},
        {"max_tokens": {"at_most": 8000}},
        {"unless": {"exchange": 2}},
    ],
)
def test_a_condition_holds(when: dict[str, Any]) -> None:
    assert When.model_validate(when).holds(Asked(json.dumps(REQUEST).encode()))


@pytest.mark.parametrize(
    "when",
    [
        {"last_contains": "count to"},
        {"last_matches": "^two"},
        {"tool_result": False},
        {"tool_result": {"tool": "Bash", "is_error": True}},
        {"tool_result": {"tool": "Edit"}},
        {"system_contains": "plan"},
        {"any_contains": "count from"},
        {"model": "claude"},
        {"offers": "Read"},
        {"exchange": 0},
        {"messages": {"at_least": 4}},
        {"max_tokens": {"at_least": 64000}},
        {"exchange": 1, "last_contains": "stop"},
        {"unless": {"exchange": 1}},
    ],
)
def test_a_condition_does_not_hold(when: dict[str, Any]) -> None:
    assert not When.model_validate(when).holds(Asked(json.dumps(REQUEST).encode()))
