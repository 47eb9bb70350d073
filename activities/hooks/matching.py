"""Which hooks a moment concerns: matchers, `if`, duplicates."""

import re
from collections.abc import Callable, Sequence

from workflows.contracts.extensions import HookKind, HookRule
from workflows.core.hook_events import facts_of

_LIST = re.compile(r"[A-Za-z0-9_\-, |]*")

Applies = Callable[[str], bool]
"""Whether a permission rule speaks of the call; True for a text that is no rule."""


def matching_hooks(
    rules: Sequence[HookRule], event: str, target: str, applies: Applies | None = None, also: str = ""
) -> list[HookRule]:
    """The hooks that run, in the order of the settings; of equal ones the last.

    `applies` tells whether the `if` of a hook speaks of the call; None at moments that are no call's. `also` is another
    name that a matcher may have: of the tool whose rules count for this one.
    """
    found: dict[object, HookRule] = {}
    for rule in rules:
        if not _may_match(rule, event, target, also) or not _condition_holds(rule, applies):
            continue
        name = _name(rule)
        found.pop(name, None)
        found[name] = rule
    return list(found.values())


def may_match(rules: Sequence[HookRule], event: str, target: str, also: str = "") -> bool:
    """Whether some hook may run here, whatever its `if` says."""
    return any(_may_match(rule, event, target, also) for rule in rules)


def _may_match(rule: HookRule, event: str, target: str, also: str) -> bool:
    return rule.event == event and (_concerns(rule, target) or (bool(also) and _concerns(rule, also)))


def matches(matcher: str, target: str) -> bool:
    """Empty and `*` match all; names between commas and bars match exactly; all else is a regular expression.

    Raises re.error for an expression that is none.
    """
    if matcher.strip() in {"", "*"}:
        return True
    if _LIST.fullmatch(matcher):
        return target in {name.strip() for name in re.split(r"[,|]", matcher)}
    return re.search(matcher, target) is not None


def matcher_fault(rule: HookRule) -> str:
    """What is wrong with its matcher; empty when nothing is."""
    try:
        matches(rule.matcher, "")
    except re.error as error:
        return f"the matcher {rule.matcher!r} is no regular expression: {error}"
    return ""


def _concerns(rule: HookRule, target: str) -> bool:
    if not facts_of(rule.event).target:
        return True
    try:
        return matches(rule.matcher, target)
    except re.error:
        # A guard whose matcher cannot be read refuses; nobody knows what it was to let pass.
        return facts_of(rule.event).guards


def _condition_holds(rule: HookRule, applies: Applies | None) -> bool:
    if rule.kind == HookKind.HTTP and rule.event == "SessionStart":
        return False
    if not rule.condition:
        return True
    return applies is not None and applies(rule.condition)


def _name(rule: HookRule) -> object:
    what = (rule.command, rule.args, rule.shell, rule.url, rule.prompt)
    return (rule.kind, rule.root, what, rule.condition)
