"""Edits as diffs."""

import re
from collections.abc import Iterable
from difflib import unified_diff

from cli.display.theme import Theme

_HUNK = re.compile(r"^@@ -\d+(,\d+)? \+\d+(,\d+)? @@", re.MULTILINE)


def is_diff(text: str) -> bool:
    """Whether this text is a unified diff."""
    return _HUNK.search(text) is not None


def painted(rows: Iterable[str], theme: Theme) -> list[str]:
    """Rows of a unified diff, what came green and what went red."""
    return [theme.paint(_style(row), row) for row in rows]


def diff_rows(before: str, after: str, theme: Theme, around: int = 2) -> list[str]:
    """What changed between two safe texts, with that many lines around each change."""
    lines = unified_diff(before.splitlines(), after.splitlines(), lineterm="", n=around)
    return painted(list(lines)[2:], theme)


def _style(row: str) -> str:
    match row[:1]:
        case "+":
            return "added"
        case "-":
            return "removed"
        case _:
            return "dim"
