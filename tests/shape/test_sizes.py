"""Small enough to see: sizes of files and functions."""

import ast
from pathlib import Path

import pytest

from tests.shape.tree import modules, syntax, text

FILE_LINES = 350
FUNCTION_LINES = 60
"""The hard limit; under 40 is what is meant, under 10 what is usual."""


@pytest.mark.parametrize("module", modules(), ids=str)
def test_a_file_is_under_350_lines(module: Path) -> None:
    assert len(text(module).splitlines()) < FILE_LINES


@pytest.mark.parametrize("module", modules(), ids=str)
def test_a_function_is_under_60_lines(module: Path) -> None:
    too_long = [
        f"{node.name}, line {node.lineno}"
        for node in ast.walk(syntax(module))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        and (node.end_lineno or node.lineno) - node.lineno + 1 >= FUNCTION_LINES
    ]
    assert too_long == []
