"""The environment that a session's commands get: the one it was started in, without keys of ours."""

import json
import re
from collections.abc import Mapping
from pathlib import Path

from activities.stores.files import write_atomic
from activities.stores.home import Home
from activities.stores.vault import Vault
from workflows.contracts.errors import UserError

_OURS = re.compile(
    r"(ANTHROPIC|CLAUDE_CODE|TEMPORAL)_.*|PERDURE_(?!HOME$).*|.*_API_KEY|AWS_(SECRET|SESSION|BEARER).*"
    r"|GOOGLE_APPLICATION_CREDENTIALS"
)
"""Names of the model's, the store's and the engine's credentials and settings."""


def without_keys(environment: Mapping[str, str]) -> dict[str, str]:
    """The same environment without keys of ours."""
    return {name: value for name, value in environment.items() if not _OURS.fullmatch(name)}


def keep_environment(home: Home, session: str, environment: Mapping[str, str]) -> None:
    """Keep, for this host alone and encrypted, what the session's commands shall find: a worker may start elsewhere."""
    write_atomic(environment_path(home, session), Vault(home).lock(json.dumps(without_keys(environment)).encode()))


def kept_environment(home: Home, session: str) -> dict[str, str] | None:
    """What was kept; None for a session that was not started on this host, or when it cannot be read."""
    try:
        kept = json.loads(_read(home, session))
    except (OSError, ValueError, UserError):
        return None
    return without_keys({str(name): str(value) for name, value in kept.items()}) if isinstance(kept, dict) else None


def forget_environment(home: Home, session: str) -> None:
    """Remove what was kept for a session that is over. Raises OSError."""
    environment_path(home, session).unlink(missing_ok=True)
    _older_path(home, session).unlink(missing_ok=True)


def environment_path(home: Home, session: str) -> Path:
    """The file that keeps it."""
    return home.sessions / f"{session}.env"


def _older_path(home: Home, session: str) -> Path:
    """Where older versions kept it, in clear."""
    return home.sessions / f"{session}.env.json"


def _read(home: Home, session: str) -> bytes:
    try:
        return Vault(home).unlock(environment_path(home, session).read_bytes())
    except FileNotFoundError:
        return _older_path(home, session).read_bytes()
