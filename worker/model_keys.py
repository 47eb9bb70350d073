"""What the model's endpoint needs and history must never hold: kept on this host for a worker that runs already."""

import json
from collections.abc import Iterator, Mapping
from pathlib import Path

from activities.stores.files import make_folder, write_atomic
from activities.stores.home import Home

NAMES = (
    "ANTHROPIC_API_KEY",
    "ANTHROPIC_AUTH_TOKEN",
    "ANTHROPIC_BASE_URL",
    "ANTHROPIC_CUSTOM_HEADERS",
)
"""Environment variables that lead to a model; the ones that are set count together."""

NEEDED = ("ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "ANTHROPIC_BASE_URL")
"""One of these at least leads to a model."""


def keys_path(home: Home) -> Path:
    """The file, 0600; a worker asks it again when its time of change differs."""
    return home.keys / "model.json"


def leads_to_a_model(environment: Mapping[str, str]) -> bool:
    """Whether a key or another endpoint is set."""
    return any(environment.get(name) for name in NEEDED)


def remember(home: Home, environment: Mapping[str, str]) -> None:
    """Keep what this environment sets, instead of what was kept; one that sets none changes nothing."""
    if not leads_to_a_model(environment):
        return
    found = {name: environment[name] for name in NAMES if environment.get(name)}
    if found == recall(home):
        return
    make_folder(home.keys)
    write_atomic(keys_path(home), json.dumps(found).encode())


def recall(home: Home) -> dict[str, str]:
    """What was kept last, by the names of the environment; empty when nothing was, or it cannot be read."""
    try:
        kept = json.loads(keys_path(home).read_bytes())
    except (OSError, ValueError):
        return {}
    found = kept.items() if isinstance(kept, dict) else ()
    return {name: value for name, value in found if name in NAMES and isinstance(value, str)}


class ModelEnvironment(Mapping[str, str]):
    """The worker's environment, with what a person kept since it started: their newest key counts."""

    def __init__(self, home: Home, environment: Mapping[str, str]) -> None:
        self._home = home
        self._environment = environment
        self._kept: dict[str, str] = {}
        self._changed = -1

    def __getitem__(self, name: str) -> str:
        return self._now()[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._now())

    def __len__(self) -> int:
        return len(self._now())

    def _now(self) -> dict[str, str]:
        try:
            changed = keys_path(self._home).stat().st_mtime_ns
        except OSError:
            changed = -1
        if changed != self._changed:
            self._kept, self._changed = recall(self._home), changed
        if not self._kept:
            return dict(self._environment)
        return {name: value for name, value in self._environment.items() if name not in NAMES} | self._kept
