"""The tree as the shape tests see it: its packages, modules and their syntax."""

import ast
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PACKAGES = ("workflows", "activities", "worker", "cli")


@cache
def modules() -> tuple[Path, ...]:
    """Every module of the four packages that holds something, as a path from the root."""
    found = (path for package in PACKAGES for path in sorted((ROOT / package).rglob("*.py")))
    return tuple(path.relative_to(ROOT) for path in found if path.stat().st_size)


@cache
def text(module: Path) -> str:
    """The source of one module."""
    return (ROOT / module).read_text(encoding="utf-8")


@cache
def syntax(module: Path) -> ast.Module:
    """The syntax tree of one module."""
    return ast.parse(text(module))
