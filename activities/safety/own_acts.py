"""An agent may not do a person's acts: approve its own calls, close sessions, talk to the engine, read the keys."""

import re

from activities.tool import Call
from workflows.contracts.permissions import Decision, Finding

_PERSONS = re.compile(r"\bperdure\b[^;&|\n]*\b(approve|deny|close|up|down|stop|worker)\b")
_ENGINE = re.compile(r"(^|[\s;&|/(`'\"])temporal\s")


def own_act_findings(call: Call, command: str) -> tuple[Finding, ...]:
    """Denies a command whose text does one of these openly.

    A hidden one is stopped further on: the command line refuses below an agent's command, and the session takes no
    answer without the person's signature.
    """
    keys = str(call.world.home.keys)
    seen = (
        (_PERSONS.search(command), "a person's act: only a person may do this, outside the agent's commands"),
        (_ENGINE.search(command), "it talks to the engine that runs this session"),
        (keys in command, "it names the folder of the person's keys"),
    )
    return tuple(Finding(check="own-acts", action=Decision.DENY, text=text) for found, text in seen if found)
