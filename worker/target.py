"""Which Temporal server is meant: the embedded one, or what TEMPORAL_ADDRESS and client profiles name."""

import os
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from activities.stores.home import Home
from worker.engine_plan import EMBEDDED
from worker.engine_state import DamagedState, read_state
from worker.server_api import NAMESPACE, base_url
from workflows.contracts.errors import EngineUnreachable, UsageError

if TYPE_CHECKING:  # its import takes 300 ms, which most commands can do without
    from temporalio.envconfig import ClientConfigProfile
    from temporalio.service import TLSConfig


@dataclass(frozen=True, slots=True)
class Target:
    """How to reach one Temporal server."""

    address: str
    """Host and port of its gRPC API."""
    namespace: str = NAMESPACE
    source: str = "embedded"
    """What named it: `embedded`, `TEMPORAL_ADDRESS`, or `client profile NAME`."""
    http_url: str | None = None
    """Base of the HTTP API, known of the embedded server only."""
    api_key: str | None = field(default=None, repr=False)
    tls: "bool | TLSConfig | None" = field(default=None, repr=False)
    metadata: Mapping[str, str] = field(default_factory=dict, repr=False)
    """Headers of every call; they may hold secrets."""

    @property
    def is_embedded(self) -> bool:
        """Whether `perdure up` and `down` act on this server."""
        return self.source == "embedded"

    @property
    def engine(self) -> str:
        """A name for this server and its namespace that stays: the embedded one may change its ports."""
        return "embedded" if self.is_embedded else f"{self.address}/{self.namespace}"


def resolve_address(environment: Mapping[str, str], home: Home) -> Target:
    """The server that this environment means; the embedded one unless an address is set there or in a profile.

    UsageError for settings that cannot be read, EngineUnreachable when the embedded server was never started.
    `PERDURE_ENGINE=embedded` means the embedded one whatever else is set.
    """
    return named_server(environment) or embedded_server(home)


def embedded_server(home: Home) -> Target:
    """The embedded server of this home, where its state file says it listens."""
    try:
        state = read_state(home)
    except DamagedState as damage:
        raise EngineUnreachable(f"{damage}: `perdure up` makes it anew.") from damage
    if not state.ports.grpc:
        raise EngineUnreachable("The engine is not up: start it with `perdure up`, or set TEMPORAL_ADDRESS.")
    return Target(state.address, http_url=base_url(state.ports.http))


def named_server(environment: Mapping[str, str]) -> Target | None:
    """The server that TEMPORAL_ADDRESS or a client profile names; None when none does: the embedded one is meant."""
    if environment.get(EMBEDDED) == "embedded" or not _may_name_a_server(environment):
        return None
    profile = _load_profile(environment)
    if not profile.address:
        if environment.get("TEMPORAL_PROFILE"):
            raise UsageError(
                f"The client profile {environment['TEMPORAL_PROFILE']!r} has no address: add one, or unset "
                "TEMPORAL_PROFILE for the embedded engine."
            )
        return None
    name = environment.get("TEMPORAL_PROFILE") or "default"
    return Target(
        address=profile.address,
        namespace=profile.namespace or NAMESPACE,
        source="TEMPORAL_ADDRESS" if environment.get("TEMPORAL_ADDRESS") else f"client profile {name}",
        api_key=profile.api_key,
        tls=_tls(profile),
        metadata=dict(profile.grpc_meta),
    )


def _may_name_a_server(environment: Mapping[str, str]) -> bool:
    """A look that costs nothing: reading profiles needs the SDK, which takes longer than most commands."""
    if environment.get("TEMPORAL_ADDRESS") or environment.get("TEMPORAL_PROFILE"):
        return True
    named = environment.get("TEMPORAL_CONFIG_FILE")
    return bool(named) or _default_profiles(environment).is_file()


def _default_profiles(environment: Mapping[str, str]) -> Path:
    """Where Temporal's own tools keep their profiles on this system."""
    user = Path(environment.get("HOME") or Path.home())
    if sys.platform == "darwin":
        folder = user / "Library" / "Application Support"
    else:
        named = environment.get("XDG_CONFIG_HOME") or ""
        folder = Path(named) if named.startswith("/") else user / ".config"
    return folder / "temporalio" / "temporal.toml"


def _load_profile(environment: Mapping[str, str]) -> "ClientConfigProfile":
    from temporalio.envconfig import ClientConfigProfile

    settings = {name: value for name, value in environment.items() if name.startswith("TEMPORAL_")}
    file = Path(settings.setdefault("TEMPORAL_CONFIG_FILE", str(_default_profiles(environment))))
    if file.exists() and not os.access(file, os.R_OK):
        raise UsageError(f"The Temporal client profiles in {file} cannot be read: change its permissions.")
    try:
        return ClientConfigProfile.load(override_env_vars=settings)
    except (RuntimeError, ValueError, OSError) as error:
        first_line = str(error).strip().splitlines()[0]
        raise UsageError(f"Temporal's client settings ({file} and TEMPORAL_*) cannot be used: {first_line}.") from error


def _tls(profile: "ClientConfigProfile") -> "bool | TLSConfig | None":
    try:
        return profile.to_client_connect_config().get("tls")
    except OSError as error:
        raise UsageError(f"The TLS file {error.filename} cannot be read ({error.strerror}).") from error
