"""Arithmetic of literal integers, as the shell computes it."""

import ast
import operator
import re

_BASED = re.compile(r"\b(?:(\d+)#([0-9a-zA-Z]+)|0[xX]([0-9a-fA-F]+)|0([0-7]+))\b", re.ASCII)
_LITERAL = re.compile(r"[\d\s+\-*/%()<>]+", re.ASCII)
_SUMS = {ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul}
_POWERS = {ast.Pow: operator.pow, ast.LShift: operator.lshift, ast.RShift: operator.rshift}


def evaluated(text: str) -> int | None:
    """The value of a sum of literal integers, or nothing where it is none."""
    if len(text) > 100:
        return None
    decimal = _BASED.sub(_decimal, text)
    if not _LITERAL.fullmatch(decimal):
        return None
    try:
        tree = ast.parse(decimal.strip(), mode="eval").body
    except (SyntaxError, ValueError, MemoryError, RecursionError):
        return None
    return _number(tree)


def _decimal(found: re.Match[str]) -> str:
    """`16#ff`, `0x1f` and `017` as Python writes them; what is no number stays none."""
    base, digits = (found[1], found[2]) if found[1] else ("16", found[3]) if found[3] else ("8", found[4])
    try:
        return str(int(digits, int(base))) if 2 <= int(base) <= 36 else "#"
    except ValueError:
        return "#"


def _number(node: ast.expr) -> int | None:
    match node:
        case ast.Constant(value=int() as value):
            return value if abs(value) < 2**63 else None
        case ast.UnaryOp(op=ast.USub(), operand=inner) if not isinstance(inner, ast.BinOp):
            # Only `-(1+2)` and `-2**2` hold a sum below the sign, and the shell reads the second as `(-2)**2`.
            number = _number(inner)
            return None if number is None else -number
        case ast.BinOp(left=left, op=sign, right=right):
            first, second = _number(left), _number(right)
            return None if first is None or second is None else _joined(first, sign, second)
    return None


def _joined(first: int, sign: ast.operator, second: int) -> int | None:
    result: int | None = None
    if type(sign) in _SUMS:
        result = int(_SUMS[type(sign)](first, second))
    elif type(sign) in _POWERS and first >= 0 and 0 <= second < 63:
        result = int(_POWERS[type(sign)](first, second))
    elif isinstance(sign, ast.FloorDiv | ast.Div | ast.Mod) and second:
        quotient = abs(first) // abs(second) * (1 if (first < 0) == (second < 0) else -1)
        result = first - quotient * second if isinstance(sign, ast.Mod) else quotient
    return result if result is None or abs(result) < 2**63 else None
