"""A rule is a tool and what of it; what is wrong with one is told when it is loaded."""

import pytest

from workflows.contracts.permissions import Decision
from workflows.core.permission_rules import Rule, parse, problem, speaks_of


@pytest.mark.parametrize(
    ("text", "rule"),
    [
        ("Bash", Rule("Bash")),
        ("Bash(*)", Rule("Bash")),
        (" Bash( * ) ", Rule("Bash")),
        ("Bash(npm test:*)", Rule("Bash", "npm test:*")),
        ("Bash(echo (a) )", Rule("Bash", "echo (a) ")),
        ("mcp__git__log", Rule("mcp__git__log")),
        ("mcp__my-server.x__*", Rule("mcp__my-server.x__*")),
        ("Bash()", None),
        ("Bash( )", None),
        ("Bash(npm", None),
        ("Bash(:*)", None),
        ("Bash('open)", None),
        ('Bash("open)', None),
        ("", None),
        ("no rule at all", None),
        ("mcp__", None),
    ],
)
def test_a_rule_is_a_tool_and_perhaps_what_of_it(text: str, rule: Rule | None) -> None:
    assert parse(text) == rule


@pytest.mark.parametrize(
    ("rule", "tools", "others"),
    [
        ("Edit", ["Edit", "Write", "MultiEdit", "NotebookEdit"], ["Read", "Bash", "edit"]),
        ("Read", ["Read", "Grep", "Glob", "LSP"], ["Edit", "Write"]),
        ("Write", ["Write"], ["Edit"]),
        ("mcp__git", ["mcp__git", "mcp__git__log"], ["mcp__github__log", "mcp__gi"]),
        ("mcp__git__*", ["mcp__git__log"], ["mcp__github__log"]),
        ("mcp__git__log", ["mcp__git__log"], ["mcp__git__logs"]),
        ("mcp__*", ["mcp__git__log"], ["Bash"]),
    ],
)
def test_a_rule_speaks_of_its_tool_and_of_those_it_covers(rule: str, tools: list[str], others: list[str]) -> None:
    parsed = parse(rule)
    assert parsed is not None
    assert all(speaks_of(parsed, tool) for tool in tools)
    assert not any(speaks_of(parsed, tool) for tool in others)


@pytest.mark.parametrize(
    ("text", "action", "told"),
    [
        ("Bash()", Decision.ALLOW, "matches nothing"),
        ("Bash(ls", Decision.DENY, "matches nothing"),
        ("Bash(:*)", Decision.ALLOW, "matches nothing"),
        ("Bash(ls*)", Decision.ALLOW, "Bash(ls *)"),
        ("Bash(npm run test*)", Decision.ALLOW, "Bash(npm run test *)"),
        ("Write(src/**)", Decision.ALLOW, "Edit(src/**)"),
        ("Glob(src/**)", Decision.DENY, "Read(src/**)"),
        ("WebFetch(example.com)", Decision.ALLOW, "WebFetch(domain:example.com)"),
        ("mcp__*", Decision.ALLOW, "name the server"),
        ("Read(x\\)", Decision.DENY, "matches nothing"),
    ],
)
def test_what_is_wrong_with_a_rule_is_told_with_the_way_to_mend_it(text: str, action: Decision, told: str) -> None:
    assert told in problem(text, action)


@pytest.mark.parametrize(
    "text",
    ["Bash", "Bash(ls *)", "Bash(echo \\*)", "Edit(src/**)", "Read(.env)", "WebFetch(domain:*.example.com)",
     "mcp__git__log", "Agent(Explore)", "Skill(deploy *)", "Bash(npm run build-*)"],
)  # fmt: skip
def test_of_a_fine_rule_nothing_is_told(text: str) -> None:
    assert problem(text, Decision.ALLOW) == ""
