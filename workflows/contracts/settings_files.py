"""What settings files may hold, by the names that people have in them already, and what became of each value."""

from enum import StrEnum

from pydantic import ConfigDict, JsonValue
from pydantic.alias_generators import to_camel

from workflows.contracts.contract import Contract
from workflows.contracts.extensions import HookScript
from workflows.contracts.permissions import Mode, Source


class _Keys(Contract):
    """Keys of a file, written in camelCase there."""

    model_config = ConfigDict(alias_generator=to_camel, populate_by_name=True)


class PermissionKeys(_Keys):
    """`permissions`: rules, and what goes with them."""

    allow: tuple[str, ...] = ()
    ask: tuple[str, ...] = ()
    deny: tuple[str, ...] = ()
    default_mode: Mode | None = None
    additional_directories: tuple[str, ...] = ()
    """Absolute by now."""
    disable_bypass_permissions_mode: str = ""
    """`disable`, or nothing."""
    disable_auto_mode: str = ""


class FilesystemKeys(_Keys):
    """`sandbox.filesystem`: paths, absolute by now; in files they count from the file's root (spec 06 §7)."""

    allow_write: tuple[str, ...] = ()
    deny_write: tuple[str, ...] = ()
    allow_read: tuple[str, ...] = ()
    deny_read: tuple[str, ...] = ()


class NetworkKeys(_Keys):
    """`sandbox.network`: hosts and sockets."""

    allowed_domains: tuple[str, ...] = ()
    denied_domains: tuple[str, ...] = ()
    allow_unix_sockets: tuple[str, ...] = ()
    allow_all_unix_sockets: bool | None = None
    allow_managed_domains_only: bool | None = None
    strict_allowlist: bool | None = None
    """No person is asked about a host that is not on the list."""


class SandboxKeys(_Keys):
    """`sandbox`; None where no file says anything, so that whoever reads it has the default."""

    enabled: bool | None = None
    fail_if_unavailable: bool | None = None
    auto_allow_bash_if_sandboxed: bool | None = None
    allow_unsandboxed_commands: bool | None = None
    excluded_commands: tuple[str, ...] = ()
    environment: tuple[str, ...] = ()
    """Names of variables that commands get although they look like secrets."""
    tier: int | None = None
    filesystem: FilesystemKeys = FilesystemKeys()
    network: NetworkKeys = NetworkKeys()


class WebKeys(_Keys):
    """`web`: what WebFetch and WebSearch may reach."""

    allow_private_hosts: tuple[str, ...] = ()
    small_model: str = ""
    search_allowed_domains: tuple[str, ...] = ()
    search_blocked_domains: tuple[str, ...] = ()


class AutoModeKeys(_Keys):
    """`autoMode`: what the classifier is told beside its own text (spec 06 §6)."""

    environment: tuple[str, ...] = ()
    allow: tuple[str, ...] = ()
    soft_deny: tuple[str, ...] = ()


class SettingsFile(_Keys):
    """What counts of one file, or of all files together."""

    permissions: PermissionKeys = PermissionKeys()
    hooks: dict[str, tuple[JsonValue, ...]] = {}
    """Event to its groups `{matcher?, hooks[]}`, as written."""
    sandbox: SandboxKeys = SandboxKeys()
    auto_mode: AutoModeKeys = AutoModeKeys()
    web: WebKeys = WebKeys()
    env: dict[str, str] = {}
    """For the session's commands; never leaves the host."""
    model: str = ""
    mcp_servers: dict[str, JsonValue] = {}
    disable_all_hooks: bool | None = None
    allow_managed_hooks_only: bool | None = None
    allow_managed_permission_rules_only: bool | None = None
    allowed_http_hook_urls: tuple[str, ...] | None = None
    http_hook_allowed_env_vars: tuple[str, ...] | None = None
    language_servers: tuple[str, ...] = ()
    """`.go=gopls serve`: programs that run beside the sandbox, so no folder's without trust."""


class ValueState(StrEnum):
    """What became of one value."""

    COUNTS = "counts"
    UNTRUSTED = "untrusted"
    """It would give something, and the person has not trusted it."""
    OVERRIDDEN = "overridden"
    """A file of more weight says otherwise."""
    IGNORED = "ignored"
    """It may not stand there, or something managed leaves it out."""


class SettingsValue(Contract):
    """One value of one file."""

    key: str
    """With dots: `permissions.allow`, `env.CI`, `hooks.PreToolUse`."""
    value: JsonValue
    source: Source
    file: str
    root: str = ""
    """Folder that relative things in it count from."""
    grant: str = ""
    """Digest that trust is bound to; empty for a value that needs none."""
    state: ValueState = ValueState.COUNTS
    why: str = ""


class SettingsLayer(Contract):
    """One file that was read."""

    source: Source
    file: str
    root: str = ""
    values: tuple[SettingsValue, ...] = ()
    problems: tuple[str, ...] = ()
    """What is wrong with it, a line each, with the file's name."""
    hints: tuple[str, ...] = ()
    """What a person may want to know of it, a line each; nothing that must be mended."""
    broken: str = ""
    """Why its deny or ask rules cannot be known: then nothing may run."""


class FolderTrust(Contract):
    """What a folder's own files would give, and whether the person agreed."""

    root: str
    grants: tuple[str, ...] = ()
    """Digests of all that its files would give, sorted."""
    is_trusted: bool = False
    """There is a record of the person's, whatever has been added since."""
    untrusted: tuple[str, ...] = ()
    """What is ignored now, for people: `permissions.allow Bash(make)`."""
    scripts: tuple[HookScript, ...] = ()
    """Its files that hooks run, each with its digest if it is trusted."""


class LoadedSettings(Contract):
    """All files together."""

    layers: tuple[SettingsLayer, ...] = ()
    """Those that are there, the one of most weight first."""
    values: tuple[SettingsValue, ...] = ()
    """Every value with what became of it."""
    settings: SettingsFile = SettingsFile()
    """What counts."""
    folders: tuple[FolderTrust, ...] = ()
    """Each folder whose own files were looked for."""
    problems: tuple[str, ...] = ()
    hints: tuple[str, ...] = ()
    broken: str = ""

    def counting(self, key: str) -> tuple[SettingsValue, ...]:
        """The values of a key, or below it, that count, the one of most weight first."""
        return tuple(
            value
            for value in self.values
            if value.state == ValueState.COUNTS and (value.key == key or value.key.startswith(f"{key}."))
        )


class TrustRecord(Contract):
    """A person's word that what a folder's own files give now may count."""

    folder: str
    """Real path."""
    grants: tuple[str, ...] = ()
    """Digests, sorted; what is not among them does not count."""
    digest: str = ""
    """SHA-256 of the canonical list of grants."""
    id: str
    """16 hex digits of chance; a revoked one never counts again."""
    at: str
    by: str = ""
    signature: str = ""
    """Ed25519 over `trust_bytes`, hex."""
