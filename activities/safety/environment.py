"""The environment of an agent's command: the person's, without the agent's own keys, and calm."""

from activities.stores.environments import kept_environment, without_keys
from activities.tool import Call

_CALM = {"PAGER": "cat", "GIT_PAGER": "cat", "GIT_TERMINAL_PROMPT": "0", "TERM": "dumb", "PERDURE": "1"}
"""No program shall wait for a terminal that is not there."""


def command_environment(call: Call) -> dict[str, str]:
    """The environment kept for the session when it was started here, else the worker's."""
    kept = kept_environment(call.world.home, call.session)
    return (without_keys(call.world.environment) if kept is None else kept) | _CALM
