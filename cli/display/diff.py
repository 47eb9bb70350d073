"""Edits as diffs."""

import re
from collections.abc import Iterable

from cli.display.theme import Theme

_HUNK = re.compile(r"^@@ -\d+(,\d+)? \+\d+(,\d+)? @@", re.MULTILINE)


def is_diff(text: str) -> bool:
    """Whether this text is a unified diff."""
    return _HUNK.search(text) is not None


def painted(rows: Iterable[str], theme: Theme) -> list[str]:
    """Rows of a unified diff, what came green and what went red."""
    return [theme.paint(_style(row), row) for row in rows]


def _style(row: str) -> str:
    match row[:1]:
        case "+":
            return "added"
        case "-":
            return "removed"
        case _:
            return "dim"
