"""The bytes of a settings file -> its values, and what is wrong with it, a line each."""

import difflib
import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from pydantic import JsonValue

from workflows.contracts.permissions import Decision, Source
from workflows.contracts.settings_files import SettingsLayer, SettingsValue
from workflows.contracts.transcript import canonical, digest_of
from workflows.core.permission_rules import problem
from workflows.core.settings_keys import ALIASES, GROUPS, KEYS, REFUSED, WITHOUT_EFFECT, Key, Kind, may_be_name, misfit

FOLDER_SOURCES = frozenset({Source.LOCAL, Source.PROJECT})
"""Sources whose files come with a folder, whoever made it."""

_LISTS = frozenset({Kind.RULES, Kind.TEXTS})
_OBJECTS = frozenset({Kind.NAMED, Kind.SERVERS, Kind.HOOKS})
_MAY_RESTRICT = re.compile(rb"deny|denied|ask|disable|hooks|sandbox", re.IGNORECASE)
"""What a file that cannot be read might have held."""


class _NotReadable(ValueError):
    """The text is no JSON object; says why."""


@dataclass
class _Reading:
    source: Source
    file: str
    root: str
    closes: bool
    values: list[SettingsValue] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)
    broken: str = ""
    strange: list[str] = field(default_factory=list)
    hints: list[str] = field(default_factory=list)

    def problem(self, text: str, *, closes: bool = False) -> None:
        """Note what is wrong; `closes` when something that restricts is lost by it."""
        self.problems.append(f"{self.file}: {text}")
        if closes and self.closes and not self.broken:
            self.broken = f"{self.file}: {text}"

    def value(self, key: str, known: Key, value: JsonValue) -> None:
        """Keep one value."""
        needs = self.source in FOLDER_SOURCES and (known.is_read_out or not known.restricts)
        needs = needs and (known.restricting is None or value != known.restricting)
        self.values.append(
            SettingsValue(
                key=key, value=value, source=self.source, file=self.file, root=self.root,
                grant=grant_of(key, value) if needs else "",
            )
        )  # fmt: skip


def grant_of(key: str, value: JsonValue) -> str:
    """The digest that trust in a value is bound to."""
    return digest_of(canonical([key, value]))


def read_layer(data: bytes, source: Source, file: str, root: str = "", *, closes: bool = True) -> SettingsLayer:
    """The values of a file that fit, and a line for each thing that does not.

    `broken` is set when a rule or key that restricts may be lost by it; `closes` is false for files that hold none.
    """
    reading = _Reading(source, file, root, closes)
    try:
        held = json_object(data)
    except _NotReadable as error:
        reading.problem(f"it is left out: {error}", closes=_MAY_RESTRICT.search(data) is not None)
    else:
        for key, value in _keys(reading, held):
            _take(reading, key, value)
        if reading.strange:
            reading.hints.append(f"{file}: without effect here: {', '.join(sorted(reading.strange))}")
    return SettingsLayer(
        source=source, file=file, root=root, values=tuple(reading.values), problems=tuple(reading.problems),
        hints=tuple(reading.hints), broken=reading.broken,
    )  # fmt: skip


def unreadable_layer(why: str, source: Source, file: str, root: str = "", *, closes: bool = True) -> SettingsLayer:
    """A file that is there and cannot be read: what it would restrict is not known."""
    text = f"{file}: it cannot be read: {why}"
    return SettingsLayer(source=source, file=file, root=root, problems=(text,), broken=text if closes else "")


def json_object(data: bytes) -> dict[str, JsonValue]:
    """The JSON object that a file holds, empty for an empty one. Raises ValueError that says what is wrong with it."""
    try:
        text = data.decode("utf-8-sig")
        if not text.strip():
            return {}
        held = json.loads(text, object_pairs_hook=_once, parse_constant=_refuse)
        canonical(held)
    except _NotReadable:
        raise
    except json.JSONDecodeError as error:
        raise _NotReadable(f"{error.msg}, line {error.lineno} column {error.colno}") from error
    except UnicodeDecodeError as error:
        raise _NotReadable(f"byte {error.start} is no UTF-8") from error
    except UnicodeEncodeError as error:
        raise _NotReadable("a text holds half a character") from error
    except RecursionError as error:
        raise _NotReadable("it is nested too deep") from error
    except ValueError as error:
        raise _NotReadable(str(error)[:100]) from error
    if not isinstance(held, dict):
        raise _NotReadable("it is no JSON object")
    return held


def _once(pairs: list[tuple[str, JsonValue]]) -> dict[str, JsonValue]:
    """Python would keep the last of two, and so drop a list of rules in silence."""
    held = dict(pairs)
    if len(held) < len(pairs):
        names = [name for name, _value in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise _NotReadable(f'"{twice}" stands twice')
    return held


def _refuse(word: str) -> JsonValue:
    raise _NotReadable(f"{word} is no JSON")


def _keys(reading: _Reading, held: dict[str, JsonValue], before: str = "") -> Iterator[tuple[str, JsonValue]]:
    for name, value in held.items():
        key = ALIASES.get(f"{before}{name}", f"{before}{name}")
        if key in KEYS:
            yield key, value
        elif key in GROUPS:
            if isinstance(value, dict):
                yield from _keys(reading, value, f"{key}.")
            else:
                reading.problem(f"{key} is no object", closes=True)
        elif key in REFUSED:
            reading.problem(f"{key} is left out: {REFUSED[key]}")
        elif key in WITHOUT_EFFECT:
            reading.strange.append(key)
        else:
            near = difflib.get_close_matches(key, KEYS, n=1, cutoff=0.8)
            meant = f"; did you mean {near[0]}?" if near else ""
            # A slip of the pen in a key that restricts would leave out what the person wanted to forbid.
            reading.problem(f"the key {key[:80]} is not known{meant}", closes=bool(near) and _restricts(near[0]))


def _restricts(key: str) -> bool:
    known = KEYS[key]
    return known.restricts or known.restricting is not None


def _take(reading: _Reading, key: str, value: JsonValue) -> None:
    known = KEYS[key]
    if known.kind in _LISTS:
        _take_list(reading, key, known, value)
    elif known.kind in _OBJECTS:
        _take_object(reading, key, known, value)
    elif wrong := misfit(known.kind, value):
        reading.problem(f"{key} {wrong}", closes=_restricts(key))
    else:
        reading.value(key, known, value)


def _take_list(reading: _Reading, key: str, known: Key, value: JsonValue) -> None:
    if not isinstance(value, list):
        reading.problem(f"{key} is no list", closes=known.restricts)
        return
    for item in value:
        if wrong := misfit(known.kind, item):
            shown = json.dumps(item, ensure_ascii=False)[:80]
            reading.problem(f"{shown} in {key} {wrong}", closes=known.restricts)
        else:
            reading.value(key, known, item)
            if known.kind == Kind.RULES and (hint := problem(str(item), Decision(key.rpartition(".")[2]))):
                reading.hints.append(f"{reading.file}: {hint}")


def _take_object(reading: _Reading, key: str, known: Key, value: JsonValue) -> None:
    is_hooks = known.kind == Kind.HOOKS
    if not isinstance(value, dict):
        reading.problem(f"{key} is no object", closes=is_hooks)
        return
    for name, held in value.items():
        if not may_be_name(known.kind, name):
            reading.problem(f"{name[:80]!r} in {key} can be no name")
        elif not is_hooks:
            _take_named(reading, f"{key}.{name}", known, held)
        elif isinstance(held, list):
            for group in held:
                _take_named(reading, f"{key}.{name}", known, group)
        else:
            reading.problem(f"{key}.{name} is no list", closes=True)


def _take_named(reading: _Reading, key: str, known: Key, value: JsonValue) -> None:
    if wrong := misfit(known.kind, value):
        reading.problem(f"{key} {wrong}", closes=known.kind == Kind.HOOKS)
    else:
        reading.value(key, known, value)
