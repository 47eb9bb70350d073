"""Hooks whose script the agent could change are named."""

import pytest

from activities.settings.scripts import exposed_scripts
from tests.activities.settings.conftest import Machine


@pytest.mark.parametrize(
    ("handler", "is_named"),
    [
        ({"command": "./check.sh --strict"}, True),
        ({"command": "bash 'check.sh'"}, True),
        ({"command": '"$CLAUDE_PROJECT_DIR"/check.sh'}, True),
        ({"command": "python3", "args": ["${PERDURE_PROJECT_DIR}/check.sh"]}, True),
        ({"command": ".perdure/hooks/check.sh"}, False),
        ({"command": "echo hi"}, False),
        ({"command": "unclosed 'quote check.sh"}, False),
        ({"url": "http://127.0.0.1/check.sh"}, False),
    ],
)
def test_a_script_of_the_folder_that_is_not_protected_is_named(
    machine: Machine, handler: dict[str, object], is_named: bool
) -> None:
    for name in ("check.sh", ".perdure/hooks/check.sh"):
        machine.write(name, "exit 0")
    machine.write(".claude/settings.json", {"hooks": {"PreToolUse": [{"hooks": [{"type": "command", **handler}]}]}})
    found = exposed_scripts(machine.load())
    assert [f"runs {machine.folder}/check.sh, which the agent may change" in line for line in found] == [
        True
    ] * is_named
