"""Arithmetic of literal integers, as the shell computes it."""

import ast
import operator
import re

_LITERAL = re.compile(r"[\d\s+\-*/%()]+", re.ASCII)
_SUMS = {ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul}


def evaluated(text: str) -> int | None:
    """The value of a sum of literal integers, or nothing where it is none."""
    if len(text) > 100 or not _LITERAL.fullmatch(text):
        return None
    try:
        tree = ast.parse(text.strip(), mode="eval").body
    except (SyntaxError, ValueError, MemoryError, RecursionError):
        return None
    return _number(tree)


def _number(node: ast.expr) -> int | None:
    match node:
        case ast.Constant(value=int() as value):
            return value if abs(value) < 2**63 else None
        case ast.UnaryOp(op=ast.USub(), operand=inner):
            number = _number(inner)
            return None if number is None else -number
        case ast.BinOp(left=left, op=sign, right=right):
            first, second = _number(left), _number(right)
            if first is None or second is None:
                return None
            if type(sign) in _SUMS:
                result = int(_SUMS[type(sign)](first, second))
                return result if abs(result) < 2**63 else None
            if isinstance(sign, ast.FloorDiv | ast.Div | ast.Mod) and second:
                quotient = abs(first) // abs(second) * (1 if (first < 0) == (second < 0) else -1)
                return first - quotient * second if isinstance(sign, ast.Mod) else quotient
    return None
