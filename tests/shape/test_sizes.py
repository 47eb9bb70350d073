"""Small enough to see: sizes of files and functions."""

import ast
import re
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

from tests.shape.tree import modules, syntax, text

FILE_LINES = 350
FUNCTION_LINES = 60
"""The hard limit; under 40 is what is meant, under 10 what is usual."""

BEGIN = re.compile(r"[@A-Za-z]")


def test_a_file_is_under_350_lines() -> None:
    assert [str(module) for module in modules() if len(text(module).splitlines()) >= FILE_LINES] == []


def blocks(module: Path) -> Iterator[int]:
    """Lines of each block that begins at the margin: a function, or what holds some."""
    begins = [number for number, line in enumerate(text(module).splitlines()) if BEGIN.match(line)]
    return (after - before for before, after in pairwise([*begins, len(text(module).splitlines())]))


def test_a_function_is_under_60_lines() -> None:
    too_long = [
        f"{module}:{node.lineno} {node.name}"
        for module in modules()
        if max(blocks(module), default=0) >= FUNCTION_LINES
        for node in ast.walk(syntax(module))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        and (node.end_lineno or node.lineno) - node.lineno + 1 >= FUNCTION_LINES
    ]
    assert too_long == []
