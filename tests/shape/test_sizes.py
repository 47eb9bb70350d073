"""Small enough to see: sizes of files and functions."""

import ast

from tests.shape.tree import modules, syntax, text

FILE_LINES = 350
FUNCTION_LINES = 60
"""The hard limit; under 40 is what is meant, under 10 what is usual."""


def test_a_file_is_under_350_lines() -> None:
    assert [str(module) for module in modules() if len(text(module).splitlines()) >= FILE_LINES] == []


def test_a_function_is_under_60_lines() -> None:
    too_long = [
        f"{module}:{node.lineno} {node.name}"
        for module in modules()
        for node in ast.walk(syntax(module))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        and (node.end_lineno or node.lineno) - node.lineno + 1 >= FUNCTION_LINES
    ]
    assert too_long == []
