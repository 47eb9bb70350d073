"""SandboxSettings: what an agent's commands may touch."""

from workflows.contracts.contract import Contract


class FilesystemRules(Contract):
    """Paths beside the workspace; absolute, or with `~`, or relative to the workspace."""

    allow_write: tuple[str, ...] = ()
    deny_write: tuple[str, ...] = ()
    """Read-only though the workspace or `allow_write` holds them."""
    deny_read: tuple[str, ...] = ()
    allow_read: tuple[str, ...] = ()
    """Seen although the home folder, /tmp and /run are not."""


class NetworkRules(Contract):
    """Hosts that commands may reach: a name, or `*.name` for all below it; ports 80 and 443 unless one is said."""

    allowed_domains: tuple[str, ...] = ()
    denied_domains: tuple[str, ...] = ()
    allow_unix_sockets: tuple[str, ...] = ()
    """Paths of sockets that commands may talk to; one is enough for programs to make sockets of their own too."""
    allow_all_unix_sockets: bool = False
    """Programs may make and use sockets wherever they see a folder."""


class SandboxSettings(Contract):
    """The sandbox of a session's commands."""

    enabled: bool = True
    fail_if_unavailable: bool = False
    """Refuse commands where neither tier 1 nor tier 2 works."""
    auto_allow_bash_if_sandboxed: bool = False
    """What tier 1 holds needs no question; true where a person's settings turn the sandbox on."""
    excluded_commands: tuple[str, ...] = ()
    """First words of simple commands that run outside."""
    allow_unsandboxed_commands: bool = True
    """Whether the model may ask a person to run a command outside."""
    filesystem: FilesystemRules = FilesystemRules()
    network: NetworkRules = NetworkRules()
    environment: tuple[str, ...] = ()
    """Names of variables that commands get although they look like secrets."""
    tier: int = 0
    """1 or 2: this tier and no other; 0: the best that works."""
