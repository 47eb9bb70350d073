"""The environment that an agent's commands get: the person's, without the agent's own keys."""

import json
import re
from collections.abc import Mapping

from activities.tool import Call

_OURS = re.compile(
    r"(ANTHROPIC|CLAUDE_CODE|TEMPORAL)_.*|PERDURE_(?!HOME$).*|.*_API_KEY|AWS_(SECRET|SESSION|BEARER).*|GOOGLE_APPLICATION_CREDENTIALS"
)
"""Names of the model's and the engine's credentials and settings."""

_CALM = {"PAGER": "cat", "GIT_PAGER": "cat", "GIT_TERMINAL_PROMPT": "0", "TERM": "dumb", "PERDURE": "1"}
"""No program shall wait for a terminal that is not there."""


def command_environment(call: Call) -> dict[str, str]:
    """The environment kept for the session when it was started here, else the worker's."""
    return {**without_keys(_kept(call) or call.world.environment), **_CALM}


def without_keys(environment: Mapping[str, str]) -> dict[str, str]:
    """The same environment without keys of ours."""
    return {name: value for name, value in environment.items() if not _OURS.fullmatch(name)}


def _kept(call: Call) -> dict[str, str]:
    path = call.world.home.sessions / f"{call.session}.env.json"
    try:
        kept = json.loads(path.read_bytes())
    except (OSError, ValueError):
        return {}
    return {str(name): str(value) for name, value in kept.items()} if isinstance(kept, dict) else {}
