"""Scenario files as YAML trees, so that a mistake is told with its line and field."""

from collections.abc import Iterator
from pathlib import Path

import yaml

from workflows.contracts.errors import UsageError

Loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


def load(path: Path) -> tuple[yaml.Node, object]:
    """A file's tree and its value (JSON is read as the YAML that it is); UsageError if there is neither."""
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"{path}: cannot be read: {error}") from error
    try:
        tree = yaml.compose(text, Loader=Loader)
        if tree is None:
            raise UsageError(f"{path}: is empty; a scenario has at least `replies`")
        _refuse_doubles(path, tree)
        return tree, yaml.load(text, Loader=Loader)  # noqa: S506 - both loaders are the safe one
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        line = f", line {mark.line + 1}" if mark else ""
        raise UsageError(f"{path}{line}: not YAML: {getattr(error, 'problem', None) or error}") from error


def place_of(tree: yaml.Node, loc: tuple[int | str, ...]) -> str:
    """The field a mistake is in, as in `replies[2].content[0].tool`."""
    name = ""
    for step, found in _steps(tree, loc):
        if isinstance(step, int):
            name += f"[{step}]" if found else ""
        elif not step.startswith("<"):
            name += f".{step}"
    return name.removeprefix(".")


def line_of(tree: yaml.Node, loc: tuple[int | str, ...]) -> int:
    """The line (from 1) of the innermost part of the file on the way to a mistake."""
    line = tree.start_mark.line
    for _, found in _steps(tree, loc):
        line = found.start_mark.line if found else line
    return line + 1


def _steps(tree: yaml.Node, loc: tuple[int | str, ...]) -> Iterator[tuple[int | str, yaml.Node | None]]:
    """Each step of a location with the node it leads to; None where the file has none (a tag, a missing field)."""
    node = tree
    for step in loc:
        found = _child(node, step)
        yield step, found
        node = found or node


def _child(node: yaml.Node, step: int | str) -> yaml.Node | None:
    if isinstance(node, yaml.MappingNode):
        return next((value for key, value in node.value if key.value == step), None)
    if isinstance(node, yaml.SequenceNode) and isinstance(step, int) and step < len(node.value):
        found: yaml.Node = node.value[step]
        return found
    return None


def _refuse_doubles(path: Path, node: yaml.Node) -> None:
    """A key given twice would be forgotten in silence."""
    if isinstance(node, yaml.MappingNode):
        seen = set()
        for key, value in node.value:
            if key.value in seen:
                raise UsageError(f"{path}, line {key.start_mark.line + 1}: {key.value}: given twice")
            seen.add(key.value)
            _refuse_doubles(path, value)
    elif isinstance(node, yaml.SequenceNode):
        for value in node.value:
            _refuse_doubles(path, value)
