"""Names that tell something, escapes from the types with a reason, and nothing left for later."""

import ast
import io
import re
import tokenize
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from tests.shape.tree import modules, syntax, text

EMPTY_WORDS = re.compile(r"(?:^|_)(utils?|helpers?|common|misc|managers?|handlers?|services?|base)(?:_|$)")
EMPTY_CLASSES = re.compile(r"(Utils?|Helper|Manager|Handler|Service)$|^_?Base[A-Z]")
CLASS = re.compile(r"^ *class (\w+)", re.MULTILINE)
ESCAPES = re.compile(r"type: ignore(\[[^\]]*\])?|noqa(: ?[A-Z0-9, ]+)?|pragma: no cover")
LATER = re.compile(r"\b(TODO|FIXME|XXX|HACK)\b")
SUSPECT = re.compile(f"{ESCAPES.pattern}|{LATER.pattern}|\\b(Any|cast|NotImplementedError)\\b")
"""What a module must hold somewhere for its syntax and comments to be looked at."""


def test_no_name_is_empty_of_meaning() -> None:
    parts = [str(module) for module in modules() if any(map(EMPTY_WORDS.search, module.with_suffix("").parts))]
    classes = [
        f"{module}: {name}"
        for module in modules()
        for name in CLASS.findall(text(module))
        if EMPTY_CLASSES.search(name)
    ]
    assert parts + classes == []


def test_an_escape_from_the_types_gives_its_reason_on_its_line() -> None:
    assert [f"{module}:{line}" for module in suspects() for line in _without_reason(module)] == []


def test_nothing_is_left_for_later() -> None:
    assert [f"{module}:{line}" for module in suspects() for line in _left_for_later(module)] == []


@cache
def suspects() -> list[Path]:
    return [module for module in modules() if SUSPECT.search(text(module))]


def _without_reason(module: Path) -> list[int]:
    reasons = {line for line, comment in _comments(module) if re.search(r"\w{3}", ESCAPES.sub("", comment))}
    return sorted(set(_escapes(module)) - reasons)


def _left_for_later(module: Path) -> list[int]:
    marks = [line for line, comment in _comments(module) if LATER.search(comment)]
    unwritten = [
        node.lineno
        for node in ast.walk(syntax(module))
        if isinstance(node, ast.Name) and node.id == "NotImplementedError"
    ]
    return marks + unwritten


def _escapes(module: Path) -> Iterator[int]:
    """Lines that say Any or cast, or silence the type checker."""
    for node in ast.walk(syntax(module)):
        if isinstance(node, ast.Name) and node.id in {"Any", "cast"}:
            yield node.lineno
    for line, comment in _comments(module):
        if "type: ignore" in comment:
            yield line


@cache
def _comments(module: Path) -> list[tuple[int, str]]:
    tokens = tokenize.generate_tokens(io.StringIO(text(module)).readline)
    return [(token.start[0], token.string) for token in tokens if token.type == tokenize.COMMENT]
