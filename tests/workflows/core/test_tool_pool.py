"""A session sees the tools it names, else the usual ones, and what the provider runs only where that is allowed."""

import pytest

from workflows.contracts.permissions import Mode, Policy, Rules
from workflows.contracts.settings import SessionContext, SessionSettings
from workflows.contracts.tools import ToolSpec
from workflows.contracts.web import WebSettings
from workflows.core.permissions import policy_of_rules
from workflows.core.tool_pool import pool, without_withdrawn

SPECS = (
    ToolSpec(name="MultiEdit", description="", input_schema={}, by_default=False),
    ToolSpec(name="Read", description="", input_schema={}),
    ToolSpec(name="WebSearch", description="", input_schema={}, server={"type": "web_search_20250305"}),
)


def names(**settings: object) -> list[str]:
    given = SessionSettings.model_validate(settings)
    return [spec.name for spec in pool(SPECS, given, policy_of_rules(given.rules))]


def test_a_session_that_names_no_tools_sees_the_usual_ones() -> None:
    assert names() == ["Read"]


def test_a_session_that_names_tools_sees_these() -> None:
    assert names(tools=("MultiEdit",)) == ["MultiEdit"]


@pytest.mark.parametrize("settings", [{"rules": Rules(allow=("WebSearch",))}, {"tools": ("Read", "WebSearch")}])
def test_what_the_provider_runs_is_there_where_it_is_named_or_allowed(settings: dict[str, object]) -> None:
    assert "WebSearch" in names(**settings)


@pytest.mark.parametrize(
    "settings",
    [
        {"mode": Mode.BYPASS},
        {"rules": Rules(allow=("WebSearch",), deny=("WebSearch",))},
        {"rules": Rules(ask=("WebSearch",)), "tools": ("WebSearch",)},
    ],
)
def test_what_the_provider_runs_is_not_there_where_somebody_would_have_to_be_asked(settings: dict[str, object]) -> None:
    assert "WebSearch" not in names(**settings)


def test_while_the_rules_cannot_be_read_the_provider_runs_nothing() -> None:
    settings = SessionSettings(tools=("Read", "WebSearch"))
    assert [spec.name for spec in pool(SPECS, settings, Policy(broken="line 3 is no JSON"))] == ["Read"]


@pytest.mark.parametrize(
    ("rules", "is_there"),
    [
        (Rules(), True),
        (Rules(deny=("WebSearch",)), False),
        (Rules(ask=("WebSearch",)), False),
        (Rules(deny=("Read",)), True),
    ],
)
def test_what_a_rule_forbids_by_now_is_taken_out_of_a_session_that_has_it(rules: Rules, is_there: bool) -> None:
    context = SessionContext(session="s", cwd="/w", host="h", settings=SessionSettings(), system=(), tools=SPECS)
    left = without_withdrawn(context, policy_of_rules(rules))
    assert ("WebSearch" in [spec.name for spec in left.tools]) == is_there
    assert (left is context) == is_there


def test_a_search_is_declared_with_its_limits() -> None:
    settings = SessionSettings(tools=("WebSearch",), web=WebSettings(search_allowed=("example.com",), searches=3))
    (spec,) = pool(SPECS, settings, Policy())
    assert spec.server == {"type": "web_search_20250305", "max_uses": 3, "allowed_domains": ["example.com"]}


def test_a_blocked_domain_is_no_allowed_one_and_the_provider_gets_one_list() -> None:
    web = WebSettings(search_allowed=("a.com", "b.com"), search_blocked=("b.com", "c.com"))
    (spec,) = pool(SPECS, SessionSettings(tools=("WebSearch",), web=web), Policy())
    assert (spec.server["allowed_domains"], "blocked_domains" in spec.server) == (["a.com"], False)


def test_where_every_allowed_domain_is_blocked_there_is_no_search() -> None:
    web = WebSettings(search_allowed=("a.com",), search_blocked=("a.com",))
    assert pool(SPECS, SessionSettings(tools=("WebSearch",), web=web), Policy()) == ()
