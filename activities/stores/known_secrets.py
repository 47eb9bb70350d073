"""Exact values that are secret on this host: keys of this home and of the model, secret variables of environments."""

import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from urllib.parse import quote

from pydantic import JsonValue

from activities.stores.home import Home
from activities.stores.journal import sorted_names
from activities.stores.secret_names import is_placeholder

_NAME = re.compile(r"KEY|TOKEN|SECRET|PASSW|PASSPHRASE|CREDENTIAL|AUTH$|_PASS$|_PWD$|HEADERS$", re.IGNORECASE)
_NO_SECRET = re.compile(
    r"(?:_|^)(?:FILE|PATH|DIR|ID|NAME|URL|URI|USER|TYPE|ALGORITHM|SOCK|LIMIT|COUNT)$", re.IGNORECASE
)
_CLASSES = (r"[a-z]", r"[A-Z]", r"\d", r"[^\w\s]")
_LEAST, _MOST = 8, 16_384
_SURE = 6
"""Characters of a key that is known to be one."""
_LARGEST_FILE = 1024 * 1024


def known_secrets(home: Home, *environments: Mapping[str, str]) -> dict[str, str]:
    """Each value and its kind, also as it stands in a URL or in JSON."""
    found = dict.fromkeys(_kept_keys(home.keys), "key")
    for environment in environments:
        for name, value in environment.items():
            if is_secret_variable(name, value):
                found |= dict.fromkeys(_pieces(name, value), "env")
    written = {form: kind for value, kind in found.items() for form in (quote(value, safe=""), json.dumps(value)[1:-1])}
    return written | found


def is_secret_variable(name: str, value: str) -> bool:
    """Whether a variable's name and value together say that it is a secret."""
    if _NAME.search(name) is None or _NO_SECRET.search(name) is not None:
        return False
    if name.upper().startswith(("ANTHROPIC_", "PERDURE_")):
        return len(value) >= _SURE
    is_long = _LEAST <= len(value) <= _MOST
    is_mixed = sum(re.search(kind, value) is not None for kind in _CLASSES) >= 2
    # A path is no secret, a variable that names another is none, and a common word would be masked everywhere.
    return is_long and is_mixed and not value.startswith(("/", "~", "./")) and not is_placeholder(value)


def _pieces(name: str, value: str) -> Iterator[str]:
    yield value
    if name.upper().endswith("HEADERS"):
        for line in value.splitlines():
            content = line.partition(":")[2].strip()
            if len(content) >= _LEAST:
                yield content
                yield from (word for word in content.split() if len(word) >= 2 * _LEAST)


def _kept_keys(folder: Path) -> Iterator[str]:
    """Texts of the files in the folder of keys, and of the values in those that are JSON."""
    for name in sorted_names(folder):
        path = folder / name
        try:
            text = path.read_text("utf-8", "replace") if path.stat().st_size <= _LARGEST_FILE else ""
        except OSError:
            continue
        if name.endswith(".pub"):
            continue
        if name.endswith(".json"):
            yield from _values(text)
        elif len(text.strip()) >= 2 * _LEAST:
            yield text.strip()


def _values(text: str) -> Iterator[str]:
    try:
        yield from _texts(json.loads(text), "")
    except (ValueError, RecursionError):
        return


def _texts(value: JsonValue, name: str) -> Iterator[str]:
    match value:
        case str():
            if _NAME.search(name) and len(value) >= _SURE:
                yield from _pieces(name, value)
        case dict():
            for inner, each in value.items():
                yield from _texts(each, inner)
        case list():
            for each in value:
                yield from _texts(each, name)
