"""Which keys a settings file may hold: what fits each, and what it takes for it to count."""

import re
from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum, auto

from pydantic import JsonValue

from workflows.contracts.permissions import Mode
from workflows.core.permission_rules import parse

MODE_ALIASES = {"manual": Mode.DEFAULT}
"""Other names of modes in people's files."""


class Kind(Enum):
    """What a key holds."""

    TEXT = auto()
    BOOL = auto()
    NUMBER = auto()
    MODE = auto()
    DISABLE = auto()
    RULES = auto()
    TEXTS = auto()
    NAMED = auto()
    """An object of texts, each with a weight of its own."""
    SERVERS = auto()
    """An object of objects."""
    HOOKS = auto()
    """An object of lists."""


@dataclass(frozen=True)
class Key:
    """One known key."""

    kind: Kind
    restricts: bool = False
    """It only takes away: it counts from every file, and a file in which it cannot be read closes everything."""
    restricting: JsonValue = None
    """The one value of a scalar that only takes away; None when none or all do."""
    managed_only: bool = False
    is_not_shared: bool = False
    """Never from a file that a project shares, trusted or not."""
    is_read_out: bool = False
    """A model reads it as the person's own words: it restricts, and yet needs trust where a folder says it."""


_RESTRICTING_RULES = Key(Kind.RULES, restricts=True)
_RESTRICTING_TEXTS = Key(Kind.TEXTS, restricts=True)
_DISABLE = Key(Kind.DISABLE, restricts=True)
_WHEN_ON = Key(Kind.BOOL, restricting=True)
_WHEN_OFF = Key(Kind.BOOL, restricting=False)
_MANAGED = Key(Kind.BOOL, managed_only=True)

# Turning the sandbox on by name also spares the questions of what it holds: a gift, so no folder's without trust.
KEYS: dict[str, Key] = {
    "permissions.allow": Key(Kind.RULES),
    "permissions.ask": _RESTRICTING_RULES,
    "permissions.deny": _RESTRICTING_RULES,
    "permissions.defaultMode": Key(Kind.MODE),
    "permissions.additionalDirectories": Key(Kind.TEXTS),
    "permissions.disableBypassPermissionsMode": _DISABLE,
    "permissions.disableAutoMode": _DISABLE,
    "hooks": Key(Kind.HOOKS),
    "disableAllHooks": Key(Kind.BOOL),
    "allowManagedHooksOnly": _MANAGED,
    "allowManagedPermissionRulesOnly": _MANAGED,
    "allowedHttpHookUrls": Key(Kind.TEXTS),
    "httpHookAllowedEnvVars": Key(Kind.TEXTS),
    "env": Key(Kind.NAMED),
    "model": Key(Kind.TEXT),
    "mcpServers": Key(Kind.SERVERS),
    "autoMode.environment": Key(Kind.TEXTS, is_not_shared=True),
    "autoMode.allow": Key(Kind.TEXTS, is_not_shared=True),
    "autoMode.softDeny": Key(Kind.TEXTS, restricts=True, is_read_out=True),
    "sandbox.enabled": Key(Kind.BOOL),
    "sandbox.failIfUnavailable": _WHEN_ON,
    "sandbox.autoAllowBashIfSandboxed": _WHEN_OFF,
    "sandbox.allowUnsandboxedCommands": _WHEN_OFF,
    "sandbox.excludedCommands": Key(Kind.TEXTS),
    "sandbox.filesystem.allowWrite": Key(Kind.TEXTS),
    "sandbox.filesystem.denyWrite": _RESTRICTING_TEXTS,
    "sandbox.filesystem.allowRead": Key(Kind.TEXTS),
    "sandbox.filesystem.denyRead": _RESTRICTING_TEXTS,
    "sandbox.network.allowedDomains": Key(Kind.TEXTS),
    "sandbox.network.deniedDomains": _RESTRICTING_TEXTS,
    "sandbox.network.allowUnixSockets": Key(Kind.TEXTS),
    "sandbox.network.allowAllUnixSockets": _WHEN_OFF,
    "sandbox.network.allowManagedDomainsOnly": _MANAGED,
    "sandbox.network.strictAllowlist": _WHEN_ON,
    "sandbox.environment": Key(Kind.TEXTS),
    "sandbox.tier": Key(Kind.NUMBER),
    "languageServers": Key(Kind.TEXTS, is_not_shared=True),
    "web.allowPrivateHosts": Key(Kind.TEXTS),
    "web.smallModel": Key(Kind.TEXT),
    "web.searchAllowedDomains": Key(Kind.TEXTS),
    "web.searchBlockedDomains": _RESTRICTING_TEXTS,
}

ALIASES = {
    "disableAutoMode": "permissions.disableAutoMode",
    "disableBypassPermissionsMode": "permissions.disableBypassPermissionsMode",
    "permissions.allowManagedPermissionRulesOnly": "allowManagedPermissionRulesOnly",
    "autoMode.soft_deny": "autoMode.softDeny",
}
"""Places and spellings in which people's files hold the same key."""

GROUPS = frozenset(key.rpartition(".")[0] for key in KEYS if "." in key) | {"sandbox"}
"""Keys that hold keys."""

WITHOUT_EFFECT = frozenset({
    "$schema", "alwaysThinkingEnabled", "attribution", "autoMemoryDirectory", "autoMemoryEnabled", "autoUpdatesChannel",
    "availableModels", "awsAuthRefresh", "awsCredentialExport", "cleanupPeriodDays", "companyAnnouncements",
    "disabledMcpjsonServers", "effortLevel", "enableAllProjectMcpServers", "enabledMcpjsonServers", "enabledPlugins",
    "extraKnownMarketplaces", "fastMode", "feedbackSurveyRate", "fileSuggestion", "forceLoginMethod",
    "forceLoginOrgUUID", "includeCoAuthoredBy", "includeGitInstructions", "language", "otelHeadersHelper",
    "outputStyle", "sandbox.enableWeakerNestedSandbox", "sandbox.ignoreViolations", "sandbox.network.allowLocalBinding",
    "sandbox.network.httpProxyPort", "sandbox.network.socksProxyPort",
    "plansDirectory", "prefersReducedMotion", "respectGitignore", "showTurnDuration",
    "skipDangerousModePermissionPrompt", "skillOverrides", "spinnerTipsEnabled", "spinnerTipsOverride",
    "spinnerVerbs", "statusLine", "syntaxHighlightingDisabled", "teammateMode", "terminalProgressBarEnabled", "theme",
    "voiceEnabled", "worktree",
})  # fmt: skip
"""Keys of other programs that read the same file; told once, all together."""

PATHS = frozenset({
    "permissions.additionalDirectories", "sandbox.filesystem.allowWrite", "sandbox.filesystem.denyWrite",
    "sandbox.filesystem.allowRead", "sandbox.filesystem.denyRead", "sandbox.network.allowUnixSockets",
})  # fmt: skip
"""Lists of paths that count from the folder of their file."""

REFUSED = {
    "apiKeyHelper": "no program is run for a key; set ANTHROPIC_API_KEY in the environment instead",
}
"""Keys that are left out on purpose, and what to do instead."""

_ENVIRONMENT_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


def misfit(kind: Kind, value: JsonValue) -> str:
    """What is wrong with one scalar, or one item of a list; empty when it fits."""
    fits, wrong = _FITS[kind]
    return "" if fits(value) else wrong


def mode_of(value: JsonValue) -> Mode | None:
    """The mode that a file names; None for none."""
    if not isinstance(value, str):
        return None
    if value in MODE_ALIASES:
        return MODE_ALIASES[value]
    return Mode(value) if value in set(Mode) else None


def may_be_name(kind: Kind, name: str) -> bool:
    """Whether an object of that kind may hold this name."""
    return kind != Kind.NAMED or _ENVIRONMENT_NAME.fullmatch(name) is not None


def _is_text(value: JsonValue) -> bool:
    return isinstance(value, str) and bool(value.strip())


_FITS: dict[Kind, tuple[Callable[[JsonValue], bool], str]] = {
    Kind.TEXT: (_is_text, "is no text"),
    Kind.TEXTS: (_is_text, "is no text"),
    Kind.NAMED: (lambda value: isinstance(value, str), "is no text"),
    Kind.BOOL: (lambda value: isinstance(value, bool), "is neither true nor false"),
    Kind.NUMBER: (lambda value: isinstance(value, int) and not isinstance(value, bool), "is no whole number"),
    Kind.MODE: (lambda value: mode_of(value) is not None, f"is none of {', '.join(mode.value for mode in Mode)}"),
    Kind.DISABLE: (lambda value: value == "disable", 'may only be "disable"'),
    Kind.RULES: (
        lambda value: isinstance(value, str) and parse(value) is not None,
        "is no rule; write Tool or Tool(what)",
    ),
    Kind.HOOKS: (lambda value: isinstance(value, dict), "is no object {matcher, hooks}"),
    Kind.SERVERS: (lambda value: isinstance(value, dict), "is no object"),
}
"""Of each kind what fits it, and what is said of the rest."""
