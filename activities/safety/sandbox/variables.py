"""Variables: the environment of a held command, without secrets and without ways to what it may not reach."""

import re
from collections.abc import Mapping
from pathlib import Path

from activities.safety.sandbox.network import proxy_environment

_SECRET = re.compile(
    r"(?i)(.*[_-])?(token|secret|secrets|password|passwd|passphrase|credential|credentials|apikey|api[_-]?key"
    r"|private[_-]?key|access[_-]?key([_-]id)?|auth|authorization|cookie|dsn|connection[_-]?string)([_-].*)?"
)
_WAYS_OUT = re.compile(
    r"SSH_(AUTH_SOCK|AGENT_PID|ASKPASS)|GPG_AGENT_INFO|DBUS_.*|XDG_RUNTIME_DIR|DISPLAY|WAYLAND_DISPLAY|XAUTHORITY"
    r"|DOCKER_HOST|TMUX|STY|BASH_ENV|ENV|BASH_FUNC_.*|LD_PRELOAD|LD_AUDIT|GIT_(SSH.*|CONFIG.*|EXTERNAL_DIFF|ASKPASS)"
    r"|(?i:(https?|all|no|ftp)_proxy)"
)


def held_environment(
    environment: Mapping[str, str], allowed: tuple[str, ...], temporary: str, caches: str, *, has_proxy: bool
) -> dict[str, str]:
    """The same for inside: no secrets but those allowed by name, caches and /tmp where they may be written."""
    kept = {name: value for name, value in environment.items() if name in allowed or not is_left_out(name)}
    return kept | places_of_caches(temporary, caches) | (proxy_environment() if has_proxy else {})


def is_left_out(name: str) -> bool:
    """Whether a variable looks like a secret, or leads to something outside."""
    return bool(_SECRET.fullmatch(name) or _WAYS_OUT.fullmatch(name))


def places_of_caches(temporary: str, caches: str) -> dict[str, str]:
    """Where package managers keep what they fetched: a folder of the workspace's own."""
    below = Path(caches)
    return {
        "TMPDIR": temporary,
        "XDG_CACHE_HOME": caches,
        "PIP_CACHE_DIR": str(below / "pip"),
        "UV_CACHE_DIR": str(below / "uv"),
        "UV_LINK_MODE": "copy",
        "npm_config_cache": str(below / "npm"),
        "YARN_CACHE_FOLDER": str(below / "yarn"),
        "CARGO_HOME": str(below / "cargo"),
        "GOPATH": str(below / "go"),
        "GOCACHE": str(below / "go-build"),
        "GRADLE_USER_HOME": str(below / "gradle"),
    }
