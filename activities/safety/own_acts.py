"""An agent may not do a person's acts: approve its own calls, close sessions, talk to the engine, read the keys."""

import re

from activities.tool import Call
from workflows.contracts.permissions import Decision, Finding

_WRAPPERS = r"sudo|doas|env|exec|command|nohup|setsid|nice|time|timeout\s+\S+|xargs|run|then|do|else|\w+=\S*"
_BEGINS = rf"(?:^\s*|[;&|(){{}}`'\"/\\!]\s*|(?:{_WRAPPERS})\s+)"
"""Where a command begins: its name alone is a word that people write in texts too."""
_OPTIONS = r"(?:\s+-\S+(?:\s+[^-\s]\S*)?)*"
_PERSONS = re.compile(
    rf"{_BEGINS}perdure['\"]?{_OPTIONS}\s+['\"]?(approve|deny|trust|close|stop|up|down|worker)(?![\w.-])", re.MULTILINE
)
_ENGINE = re.compile(
    rf"{_BEGINS}temporal['\"]?{_OPTIONS}\s+['\"]?"
    r"(activity|batch|cloud|config|env|nexus|operator|schedule|server|task-queue|worker|workflow)(?![\w.-])",
    re.MULTILINE,
)
_KEYS = re.compile(r"(perdure|PERDURE_HOME\}?['\"]?)/+keys(?![\w.-])")


def own_act_findings(call: Call, command: str) -> tuple[Finding, ...]:
    """Denies a command whose text does one of these openly.

    A hidden one is stopped further on: the command line refuses below an agent's command, and the session takes no
    answer without the person's signature.
    """
    keys = str(call.world.home.keys)
    seen = (
        (_PERSONS.search(command), "a person's act: only a person may do this, outside the agent's commands"),
        (_ENGINE.search(command), "it talks to the engine that runs this session"),
        (keys in command or _KEYS.search(command), "it names the folder of the person's keys"),
    )
    return tuple(Finding(check="own-acts", action=Decision.DENY, text=text) for found, text in seen if found)
