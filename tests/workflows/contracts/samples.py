"""A value of every contract, and one with every field filled; a new contract is found by itself."""

import importlib
import pkgutil
from collections.abc import Iterator
from enum import Enum
from types import UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin

from pydantic import JsonValue

import workflows.contracts
from workflows.contracts.contract import Contract


def contracts() -> list[type[Contract]]:
    """Every contract there is, by name."""
    for module in pkgutil.iter_modules(workflows.contracts.__path__):
        importlib.import_module(f"workflows.contracts.{module.name}")
    ours = {each for each in _below(Contract) if each.__module__.startswith("workflows.contracts.")}
    return sorted(ours, key=lambda each: (each.__module__, each.__name__))


def _below(parent: type[Contract]) -> Iterator[type[Contract]]:
    for child in parent.__subclasses__():
        yield child
        yield from _below(child)


def sample(contract: type[Contract], *, is_full: bool) -> Contract:
    """A value; with `is_full` no field holds its default, else only those without one are given."""
    fields = {
        name: _value(field.annotation, is_full=is_full)
        for name, field in contract.model_fields.items()
        if (is_full and name != "kind") or field.is_required()
    }
    return contract.model_validate(fields)


def _value(annotation: Any, *, is_full: bool) -> Any:  # Any: whatever a field may be annotated with
    origin, parts = get_origin(annotation), get_args(annotation)
    if origin in {Annotated, Union, UnionType}:
        return _value(parts[0], is_full=is_full)
    if origin is Literal:
        return parts[0]
    if origin is tuple:
        return (_value(parts[0], is_full=is_full),)
    if origin is dict:
        return {"name": _value(parts[1], is_full=is_full)}
    if annotation is JsonValue:
        return ["ü", 1, None]
    if isinstance(annotation, type) and issubclass(annotation, Contract):
        return sample(annotation, is_full=is_full)
    if isinstance(annotation, type) and issubclass(annotation, Enum):
        return list(annotation)[-1]
    return {str: "ü\n", int: 7, float: 0.25, bool: True}[annotation]
