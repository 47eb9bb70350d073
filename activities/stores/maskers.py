"""Maskers: what is secret for a session on this host, looked up again when it has changed."""

import os
import time
from collections.abc import Mapping
from dataclasses import dataclass, field

from activities.stores.environments import environment_path, kept_environment
from activities.stores.home import Home
from activities.stores.home_keys import MASKS, home_key
from activities.stores.known_secrets import known_secrets
from activities.stores.masking import Masker

_LOOK_EVERY = 1.0
"""Seconds after which keys and environments are looked at again."""
_HELD = 64


@dataclass
class _Held:
    masker: Masker
    state: tuple[int, ...]
    looked: float


@dataclass
class Maskers:
    """A masker for each session."""

    home: Home
    environment: Mapping[str, str]
    """The worker's, or the command line's."""
    _held: dict[str, _Held] = field(default_factory=dict)

    def of(self, session: str) -> Masker:
        """The session's masker; with an empty name one that knows this host's keys only."""
        now = time.monotonic()
        held = self._held.get(session)
        if held is not None and now - held.looked < _LOOK_EVERY:
            return held.masker
        state = self._state(session)
        if held is not None and held.state == state:
            held.looked = now
            return held.masker
        kept = (kept_environment(self.home, session) if session else None) or {}
        masker = Masker(home_key(self.home, MASKS), known_secrets(self.home, dict(self.environment), kept))
        self._held.pop(session, None)
        # Looked up after the key was made, which changes the folder.
        self._held[session] = _Held(masker, self._state(session), now)
        while len(self._held) > _HELD:
            self._held.pop(next(iter(self._held)))
        return masker

    def _state(self, session: str) -> tuple[int, ...]:
        """When what it is made of was changed last."""
        paths = [self.home.keys, self.home.keys / "model.json"]
        if session:
            paths.append(environment_path(self.home, session))
        return tuple(_changed(path) for path in paths)


def _changed(path: os.PathLike[str]) -> int:
    try:
        return os.stat(path).st_mtime_ns
    except OSError:
        return -1
