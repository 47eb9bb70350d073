"""What a model's endpoint needs and history must never hold: kept on this host for a worker that runs already."""

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TypedDict
from urllib.parse import urlsplit

from activities.settings.locking import locked_folder
from activities.stores.files import make_folder, write_atomic
from activities.stores.home import Home
from workflows.contracts.errors import UsageError

BASE_URL = "ANTHROPIC_BASE_URL"
NAMES = (
    "ANTHROPIC_API_KEY",
    "ANTHROPIC_AUTH_TOKEN",
    BASE_URL,
    "ANTHROPIC_CUSTOM_HEADERS",
)
"""Environment variables that lead to a model; the ones that are set count together."""

NEEDED = ("ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", BASE_URL)
"""One of these at least leads to a model."""

CLOUDS = ("CLAUDE_CODE_USE_BEDROCK", "CLAUDE_CODE_USE_VERTEX")
"""Switches of a cloud whose own credentials the worker finds where the SDK looks for them."""


def keys_path(home: Home) -> Path:
    """The file, 0600; a worker asks it again when its time of change differs."""
    return home.keys / "model.json"


def leads_to_a_model(environment: Mapping[str, str]) -> bool:
    """Whether a key, another endpoint or a cloud is set."""
    return any(environment.get(name) for name in (*NEEDED, *CLOUDS))


def base_url_of(environment: Mapping[str, str]) -> str:
    """The endpoint that this environment means, empty for Anthropic's own; UsageError for one that is no URL."""
    url = environment.get(BASE_URL, "").strip()
    if url and not url.startswith(("http://", "https://")):
        raise UsageError(f"{BASE_URL} is {url[:80]!r}: it must begin with http:// or https://.")
    if "@" in urlsplit(url).netloc:
        # Sessions keep the URL in the store, where no secret may be.
        raise UsageError(f"{BASE_URL} holds a user or password: set ANTHROPIC_API_KEY or ANTHROPIC_AUTH_TOKEN instead.")
    return url


def remember(home: Home, environment: Mapping[str, str]) -> None:
    """Keep what this environment sets for its endpoint; other endpoints keep theirs, and so do their sessions."""
    if not leads_to_a_model(environment):
        return
    found = {name: environment[name] for name in NAMES if environment.get(name)}
    url = base_url_of(environment)
    make_folder(home.keys)
    # Two commands at once, each with its own endpoint, keep both.
    with locked_folder(home.keys):
        kept = _read(home)
        changed = {"newest": url, "endpoints": {**kept["endpoints"], url: found}}
        if changed != kept:
            write_atomic(keys_path(home), json.dumps(changed).encode())


def recall(home: Home) -> dict[str, str]:
    """What was kept last, by the names of the environment; empty when nothing was, or it cannot be read."""
    kept = _read(home)
    return kept["endpoints"].get(kept["newest"], {})


class _Kept(TypedDict):
    newest: str
    endpoints: dict[str, dict[str, str]]
    """By base URL, what was set together with it."""


def _read(home: Home) -> _Kept:
    try:
        kept = json.loads(keys_path(home).read_bytes())
        endpoints = {str(url): _strings(found) for url, found in kept["endpoints"].items()}
        return {"newest": str(kept["newest"]), "endpoints": endpoints}
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return {"newest": "", "endpoints": {}}


def _strings(found: Mapping[str, object]) -> dict[str, str]:
    return {name: value for name, value in found.items() if name in NAMES and isinstance(value, str)}


class ModelEnvironment(Mapping[str, str]):
    """The worker's environment, with what a person kept since it started: their newest key counts."""

    def __init__(self, home: Home, environment: Mapping[str, str]) -> None:
        self._home = home
        self._environment = environment
        self._kept: _Kept = {"newest": "", "endpoints": {}}
        self._changed = -1

    def __getitem__(self, name: str) -> str:
        return self._joined(self._newest())[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._joined(self._newest()))

    def __len__(self) -> int:
        return len(self._joined(self._newest()))

    def leading_to(self, base_url: str) -> Mapping[str, str]:
        """The environment as it is meant for that endpoint, empty for Anthropic's own or the worker's."""
        self._look()
        return self._joined(self._kept["endpoints"].get(base_url, {}))

    def _newest(self) -> dict[str, str]:
        self._look()
        return self._kept["endpoints"].get(self._kept["newest"], {})

    def _look(self) -> None:
        try:
            changed = keys_path(self._home).stat().st_mtime_ns
        except OSError:
            changed = -1
        if changed != self._changed:
            self._kept, self._changed = _read(self._home), changed

    def _joined(self, kept: Mapping[str, str]) -> dict[str, str]:
        if not kept:
            return dict(self._environment)
        return {name: value for name, value in self._environment.items() if name not in NAMES} | dict(kept)
