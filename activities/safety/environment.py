"""The environment of an agent's command: the person's, without the agent's own keys, and calm."""

from activities.stores.environments import kept_environment, without_keys
from activities.tool import Call

_CALM = {"PAGER": "cat", "GIT_PAGER": "cat", "GIT_TERMINAL_PROMPT": "0", "TERM": "dumb", "PERDURE": "1"}
"""No program shall wait for a terminal that is not there."""

READS = "PERDURE_READS"
"""Set for a command that runs because it only reads."""

_GIT_OBEYS = {
    "core.fsmonitor": "false",
    "core.pager": "cat",
    "core.hooksPath": "/dev/null",
    "diff.external": "",
    "safe.bareRepository": "explicit",
}
_LEADING = ("GIT_CONFIG", "GIT_SSH", "GIT_EXTERNAL_DIFF", "GIT_PROXY_COMMAND", "GIT_EDITOR", "GIT_ASKPASS", "GIT_TRACE")
"""Variables by which git runs other programs, or writes."""

_STARTS_SHELL = {"BASH_ENV", "ENV", "SHELLOPTS", "BASHOPTS", "PS4", "PROMPT_COMMAND"}
"""Variables by which bash runs or reads otherwise than its command says; so do functions handed down."""


def reading_only() -> dict[str, str]:
    """What git is told where a command runs unasked because it only reads (corpora README §1)."""
    pairs = enumerate(_GIT_OBEYS.items())
    numbered = {
        f"GIT_CONFIG_{name}_{place}": text
        for place, pair in pairs
        for name, text in zip(("KEY", "VALUE"), pair, strict=True)
    }
    return {READS: "1", "GIT_OPTIONAL_LOCKS": "0", "GIT_CONFIG_COUNT": str(len(_GIT_OBEYS)), **numbered}


def command_environment(call: Call) -> dict[str, str]:
    """The environment kept for the session when it was started here, else the worker's."""
    kept = kept_environment(call.world.home, call.session)
    given = without_keys(call.world.environment) if kept is None else kept
    environment = {name: text for name, text in given.items() if not _changes_shell(name)} | _CALM
    if not call.is_proved:
        return environment
    led = {name: text for name, text in environment.items() if not name.startswith(_LEADING)}
    return led | reading_only()


def _changes_shell(name: str) -> bool:
    return name in _STARTS_SHELL or name.startswith("BASH_FUNC_")
