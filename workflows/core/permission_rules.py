"""parse and match one rule, such as Bash(npm test:*)."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

_RULE = re.compile(r"(?P<tool>[A-Za-z_][A-Za-z0-9_]*)(?:\((?P<content>.*)\))?", re.DOTALL)
_SEPARATORS = re.compile(r"[;|&\n(){}`$<>]+")
_SHELL = re.compile(r"[;&|<>`$(){}\n\\\"'*?\[\]~#!]")

_COVERS = {"Edit": {"Edit", "Write"}, "Read": {"Read", "Glob", "Grep"}}
"""Rules of one tool that count for others too (spec 06 §2)."""


@dataclass(frozen=True)
class Rule:
    """A parsed rule: the tool, and what of it; empty for all."""

    tool: str
    content: str = ""


def parse(text: str) -> Rule | None:
    """The rule, or None for a text that is no rule."""
    found = _RULE.fullmatch(text.strip())
    if found is None or found["content"] == "":
        return None
    content = found["content"] or ""
    return Rule(found["tool"], "" if content.strip() == "*" else content)


def matching(rules: Sequence[str], tool: str, content: str, *, gives_rights: bool) -> str:
    """The first rule that speaks of this call; empty when none does.

    `gives_rights`: a rule that allows must speak of the whole command, so it never matches one with shell syntax
    except letter by letter; one that asks or denies matches any part of it.
    """
    return next((text for text in rules if _matches(text, tool, content, gives_rights=gives_rights)), "")


def _matches(text: str, tool: str, content: str, *, gives_rights: bool) -> bool:
    rule = parse(text)
    if rule is None or tool not in _COVERS.get(rule.tool, {rule.tool}):
        return False
    if not rule.content or rule.content == content:
        return True
    if tool != "Bash":
        return False
    if gives_rights:
        return not _SHELL.search(content) and _speaks_of(rule.content, content)
    return any(_speaks_of(rule.content, part) for part in (content, *_SEPARATORS.split(content)))


def _speaks_of(pattern: str, command: str) -> bool:
    """`npm test:*` and `npm test *` are prefixes with a word boundary; any other `*` is any text, escaped a star."""
    pattern, command = " ".join(pattern.split()), " ".join(command.split())
    for ending in (":*", " *"):
        if pattern.endswith(ending):
            prefix = _with_stars(pattern.removesuffix(ending))
            return re.fullmatch(rf"{prefix}(?: .*)?", command) is not None
    return re.fullmatch(_with_stars(pattern), command) is not None


def _with_stars(pattern: str) -> str:
    """The regular expression of a pattern."""
    pieces = re.split(r"(?<!\\)\*", pattern)
    return ".*".join(re.escape(piece.replace(r"\*", "*")) for piece in pieces)
