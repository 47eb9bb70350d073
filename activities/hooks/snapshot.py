"""The hooks of a session, fixed when it starts: what may leave the host, what stays, what may not run."""

import fnmatch
import json
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from activities.hooks.session_file import session_file
from activities.stores.files import write_atomic
from activities.stores.home import Home
from workflows.contracts.extensions import HookHeader, HookKind, HookRule
from workflows.contracts.settings_files import SettingsFile


def frozen(home: Home, session: str, rules: Sequence[HookRule], settings: SettingsFile) -> tuple[HookRule, ...]:
    """The hooks as the session's context holds them; values of headers go into a file of this host alone."""
    kept: list[str] = []
    fixed = tuple(_without_values(_bounded(rule, settings), kept) for rule in rules)
    if kept:
        write_atomic(_path(home, session), json.dumps(kept).encode())
    return fixed


def kept_headers(home: Home, session: str) -> list[str]:
    """The values of headers that stayed on this host; none when they are not here."""
    try:
        kept = json.loads(_path(home, session).read_bytes())
    except (OSError, ValueError):
        return []
    return [str(value) for value in kept] if isinstance(kept, list) else []


def forget_hooks(home: Home, session: str) -> None:
    """Remove what was kept for the hooks of a session that is over. Raises OSError."""
    for path in (_path(home, session), session_file(home, session)):
        with suppress(FileNotFoundError):
            path.unlink()


def _path(home: Home, session: str) -> Path:
    return home.sessions / f"{session}.hooks.json"


def _bounded(rule: HookRule, settings: SettingsFile) -> HookRule:
    """The hook under what settings say of all http hooks."""
    if rule.kind != HookKind.HTTP:
        return rule
    urls, names = settings.allowed_http_hook_urls, settings.http_hook_allowed_env_vars
    if urls is not None and not any(fnmatch.fnmatchcase(rule.url, pattern) for pattern in urls):
        rule = rule.model_copy(update={"refused": f"allowedHttpHookUrls does not name {rule.url}"})
    if names is not None:
        rule = rule.model_copy(update={"allowed_env": tuple(name for name in rule.allowed_env if name in names)})
    return rule


def _without_values(rule: HookRule, kept: list[str]) -> HookRule:
    headers = []
    for header in rule.headers:
        headers.append(HookHeader(name=header.name, kept=len(kept) + 1))
        kept.append(header.value)
    return rule.model_copy(update={"headers": tuple(headers)}) if headers else rule
