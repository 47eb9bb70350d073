"""Calls as the permission decision sees them, their commands read by the real parser."""

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

from activities.safety.bash.syntax import parse
from workflows.contracts.commands import Judgement, Reason
from workflows.contracts.permissions import Decision, Policy, Source, SourcedRule
from workflows.core.path_rules import Bases, NamedPath
from workflows.core.rule_matching import Asked

WORK, HOME = "/home/dev/project", "/home/dev"
BASES = Bases(WORK, HOME)
UNPROVED = Reason("unproved", Decision.ASK, "it is not proved to be read-only")


def bash(command: str, *reasons: Reason, proved: Iterable[int] = (), **changed: Any) -> Asked:
    """A command, with what the static layers are made to say of it; unproved where they are made to say nothing."""
    script, known = parse(command, {"HOME": HOME}), frozenset(proved)
    unproved = (replace(UNPROVED, span=one.span) for place, one in enumerate(script.commands) if place not in known)
    judged = Judgement(Decision.ASK, reasons or tuple(unproved), script, known)
    given = {"tool": "Bash", "content": command, "judged": judged, "bases": BASES, "folders": (WORK,)}
    return Asked(**{**given, **changed})


def reading(command: str) -> Asked:
    """A command that is proved to read only."""
    script = parse(command, {"HOME": HOME})
    judged = Judgement(Decision.ALLOW, (), script, frozenset(range(len(script.commands))))
    return Asked(tool="Bash", content=command, judged=judged, bases=BASES, folders=(WORK,))


def on_file(tool: str, path: str, real: str = "", **changed: Any) -> Asked:
    """A call of a tool that names one file."""
    inside = all(one.startswith(f"{WORK}/") for one in (path, real or path))
    given = {
        "tool": tool,
        "content": path,
        "is_read_only": tool in {"Read", "Grep", "Glob"},
        "edits_files": tool in {"Edit", "Write", "MultiEdit", "NotebookEdit"},
        "is_inside": inside,
        "paths": (NamedPath(path, real or path),),
        "bases": BASES,
        "folders": (WORK,),
    }
    return Asked(**{**given, **changed})


def policy(
    allow: Iterable[str] = (), ask: Iterable[str] = (), deny: Iterable[str] = (), root: str = "", **changed: Any
) -> Policy:
    """The policy that these rules of a local settings file make."""
    texts = [(Decision.DENY, deny), (Decision.ASK, ask), (Decision.ALLOW, allow)]
    rules = tuple(
        SourcedRule(text=text, action=action, source=Source.LOCAL, file="/f/settings.local.json", root=root)
        for action, given in texts
        for text in given
    )
    return Policy(rules=rules, **changed)
