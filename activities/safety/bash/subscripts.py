"""Subscripts that builtins evaluate although they stand in quotes: `let 'a[$(x)]=1'`, `test -v 'a[$(x)]'`."""

from collections.abc import Iterator

from activities.safety.bash.interpreted import Inner
from activities.safety.bash.names import named
from workflows.contracts.commands import Reach

EVALUATING = named("let printf test [ [[ unset read declare typeset local export readonly mapfile readarray wait ((")
_NAMES_FOLLOW = named("-v -R")
_SUMS = named("-eq -ne -lt -le -gt -ge")


def evaluated(values: list[str]) -> Iterator[Inner]:
    """What such a builtin runs, as a text that expands."""
    name, given = values[0], values[1:]
    if name == "printf":
        given = given[:2] if given and given[0].startswith("-v") else []
    elif name in {"test", "[", "[["}:
        evaluating = _NAMES_FOLLOW | _SUMS if name == "[[" else _NAMES_FOLLOW
        given = [] if evaluating.isdisjoint(given) else given
    for value in given:
        subscript = value[value.find("[") :] if "[" in value else ""
        if "$(" in subscript or "`" in subscript:
            yield Inner('echo "' + subscript.replace('"', '\\"') + '"', reach=Reach.DECODED)
