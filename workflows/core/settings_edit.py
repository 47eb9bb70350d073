"""What a settings file holds and one typed value -> what it holds then."""

import copy
import difflib
import re

from pydantic import JsonValue

from workflows.contracts.errors import UsageError
from workflows.core.settings_keys import ALIASES, KEYS, REFUSED, WITHOUT_EFFECT, Key, Kind, may_be_name, misfit

Held = dict[str, JsonValue]
"""The JSON object of a settings file."""

LISTS = frozenset({Kind.RULES, Kind.TEXTS})
"""Kinds of which one item is added or taken out."""

_NUMBER = re.compile(r"-?[0-9]{1,18}")
_BY_HAND = frozenset({Kind.HOOKS, Kind.SERVERS})
_WORDS: dict[str, JsonValue] = {"true": True, "false": False}


def key_of(name: str) -> str:
    """The key that a person typed, by its first name: `model`, `permissions.allow`, `env.NAME`.

    UsageError for one that is not known, counts in managed settings alone or is written by hand.
    """
    key = ALIASES.get(name, name)
    if (why := REFUSED.get(key)) is not None:
        raise UsageError(f"{key} is not taken: {why}.")
    if key in WITHOUT_EFFECT:
        raise UsageError(f"{key} has no effect here.")
    known = _known(key)
    if known.managed_only:
        raise UsageError(f"{key} counts in managed settings alone.")
    if known.kind in _BY_HAND:
        raise UsageError(f"{key} holds whole objects: write them into the file.")
    return key


def value_of(key: str, text: str) -> JsonValue:
    """What a typed text is for that key. UsageError when it does not fit."""
    kind = _known(key).kind
    value: JsonValue = text
    if kind == Kind.BOOL:
        value = _WORDS.get(text.lower(), text)
    elif kind == Kind.NUMBER and _NUMBER.fullmatch(text):
        value = int(text)
    if wrong := misfit(kind, value):
        raise UsageError(f"{key}: {text!r} {wrong}.")
    return value


def with_value(held: Held, key: str, value: JsonValue) -> Held:
    """With it: in the place of another one, or as one more item of a list. UsageError where there is no room for it."""
    changed = copy.deepcopy(held) if _known(key).kind in LISTS else _without_key(held, key)
    inner, last = _inner(changed, key)
    if _known(key).kind not in LISTS:
        inner[last] = value
        return changed
    listed = inner.setdefault(last, [])
    if not isinstance(listed, list):
        raise UsageError(f"{key} is no list in that file: mend it by hand.")
    if value not in listed:
        listed.append(value)
    return changed


def without_value(held: Held, key: str, value: JsonValue | None = None) -> Held:
    """Without the key, or without that item of its list; what is not there is not taken out."""
    if value is None:
        return _without_key(held, key)
    changed = copy.deepcopy(held)
    for name in _names(key):
        *groups, last = name.split(".")
        inner = _found(changed, groups) or {}
        listed = inner.get(last)
        if isinstance(listed, list) and value in listed:
            inner[last] = [item for item in listed if item != value]
    return changed


def items_of(held: Held, key: str) -> tuple[JsonValue, ...]:
    """The items of a key's list; none where there is no list."""
    *groups, last = key.split(".")
    listed = (_found(held, groups) or {}).get(last)
    return tuple(listed) if isinstance(listed, list) else ()


_SUCH = "; there are such as model, permissions.allow, sandbox.enabled, env.NAME."


def _known(key: str) -> Key:
    group, _, name = key.partition(".")
    if group in KEYS and KEYS[group].kind == Kind.NAMED and may_be_name(Kind.NAMED, name):
        return KEYS[group]
    if key in KEYS and KEYS[key].kind != Kind.NAMED:
        return KEYS[key]
    if key in KEYS:
        raise UsageError(f"{key} holds several values: name one, such as {key}.NAME.")
    near = difflib.get_close_matches(key, KEYS, n=1, cutoff=0.6)
    raise UsageError(f"There is no key {key!r}{f': did you mean {near[0]}?' if near else _SUCH}")


def _names(key: str) -> tuple[str, ...]:
    """The spellings under which files hold a key."""
    return (key, *(alias for alias, name in ALIASES.items() if name == key))


def _without_key(held: Held, key: str) -> Held:
    changed = copy.deepcopy(held)
    for name in _names(key):
        *groups, last = name.split(".")
        inner = _found(changed, groups)
        if inner is not None:
            inner.pop(last, None)
    return changed


def _found(held: Held, groups: list[str]) -> Held | None:
    inner: JsonValue = held
    for name in groups:
        inner = inner.get(name) if isinstance(inner, dict) else None
    return inner if isinstance(inner, dict) else None


def _inner(held: Held, key: str) -> tuple[Held, str]:
    *groups, last = key.split(".")
    inner = held
    for name in groups:
        deeper = inner.setdefault(name, {})
        if not isinstance(deeper, dict):
            raise UsageError(f"{name} is no object in that file: mend it by hand.")
        inner = deeper
    return inner, last
