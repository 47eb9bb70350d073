"""Layers and trust -> what counts, and of each value why it does or does not."""

from collections.abc import Iterable, Mapping, Sequence

from pydantic import JsonValue

from workflows.contracts.permissions import Mode, Source
from workflows.contracts.sandbox import SandboxSettings
from workflows.contracts.settings_files import (
    FolderTrust,
    LoadedSettings,
    SettingsFile,
    SettingsLayer,
    SettingsValue,
    ValueState,
)
from workflows.core.settings_keys import KEYS, Kind, mode_of
from workflows.core.settings_parse import FOLDER_SOURCES

WEIGHT = (Source.MANAGED, Source.CLI, Source.COMMAND, Source.LOCAL, Source.PROJECT, Source.USER, Source.SESSION)
"""Sources, the one of most weight first."""

_MERGED = frozenset({Kind.RULES, Kind.TEXTS, Kind.HOOKS, Kind.DISABLE})
"""Kinds of which every file's values count."""

_MOST_SHOWN = 400
"""Characters of what a hook runs."""

_NOT_SHARED_MODES = frozenset({Mode.BYPASS, Mode.AUTO})


def key_of(value: SettingsValue) -> str:
    """The known key that a value belongs to: `hooks` of `hooks.PreToolUse`."""
    return value.key if value.key in KEYS else value.key.partition(".")[0]


def merge(
    layers: Sequence[SettingsLayer], agreed: Mapping[str, frozenset[str] | None], roots: Iterable[str] = ()
) -> LoadedSettings:
    """All layers together. `agreed`: of each folder the grants that the person signed; None for no record.

    Managed before local before project before user for single values; lists of all files together; what restricts
    counts from every file, what gives something from a folder's own files only when it was trusted.
    """
    ordered = sorted(layers, key=lambda layer: WEIGHT.index(layer.source))
    every = [_allowed(value, agreed) for layer in ordered for value in layer.values]
    every = _weighed(_without_closed(every))
    folders = tuple(_folder(root, every, agreed) for root in roots)
    problems = [problem for layer in ordered for problem in layer.problems]
    problems += [f"{v.file}: {v.key} is ignored: {v.why}" for v in every if v.state == ValueState.IGNORED]
    return LoadedSettings(
        layers=tuple(ordered),
        values=tuple(every),
        settings=_settings(every),
        folders=folders,
        problems=tuple(problems),
        hints=tuple(hint for layer in ordered for hint in layer.hints),
        broken=next((layer.broken for layer in ordered if layer.broken), ""),
    )


def shown(value: SettingsValue) -> str:
    """A value for people: what `env` and headers hold stays out of sight."""
    match KEYS[key_of(value)].kind:
        case Kind.NAMED | Kind.SERVERS | Kind.HOOKS:
            return _short(value)
        case _:
            return f"{value.key} {value.value if isinstance(value.value, str) else str(value.value).lower()}"


def _short(value: SettingsValue) -> str:
    held = value.value
    if not isinstance(held, dict):
        return value.key
    handlers = held.get("hooks")
    runs = [_runs(one) for one in (handlers if isinstance(handlers, list) else [held])]
    matcher = held.get("matcher")
    of = f"({matcher})" if isinstance(matcher, str) and matcher else ""
    return f"{value.key}{of} {', '.join(filter(None, runs))}".rstrip()


def _runs(handler: JsonValue) -> str:
    """What a hook or server runs, with its arguments: whoever trusts it shall know where its end is not shown."""
    if not isinstance(handler, dict):
        return ""
    named = (handler.get(name) for name in ("command", "url", "prompt", "tool"))
    text = next((text for text in named if isinstance(text, str)), "")
    args = handler.get("args")
    words = [text, *(str(word) for word in args)] if isinstance(args, list) else [text]
    whole = " ".join(words)
    more = len(whole) - _MOST_SHOWN
    return whole if more <= 0 else f"{whole[:_MOST_SHOWN]} … and {more} more characters, which only the file shows"


def _left_out(value: SettingsValue, why: str, state: ValueState = ValueState.IGNORED) -> SettingsValue:
    return value.model_copy(update={"state": state, "why": why})


def _allowed(value: SettingsValue, agreed: Mapping[str, frozenset[str] | None]) -> SettingsValue:
    """Whether it may stand where it stands, and is trusted."""
    known = KEYS[key_of(value)]
    if known.managed_only and value.source != Source.MANAGED:
        return _left_out(value, "only managed settings may say it")
    is_strong = known.kind == Kind.MODE and mode_of(value.value) in _NOT_SHARED_MODES
    if value.source == Source.PROJECT and (known.is_not_shared or is_strong):
        return _left_out(value, "a file that a project shares may not say it")
    if value.grant:
        grants = agreed.get(value.root)
        if grants is None:
            return _left_out(value, "the folder is not trusted", ValueState.UNTRUSTED)
        if value.grant not in grants:
            return _left_out(value, "new since you trusted the folder", ValueState.UNTRUSTED)
    return value


def _without_closed(values: list[SettingsValue]) -> list[SettingsValue]:
    """Without what managed settings, or `disableAllHooks`, leave out."""
    counting = [value for value in values if value.state == ValueState.COUNTS]
    managed = {value.key for value in counting if value.source == Source.MANAGED and value.value is True}
    closed = {
        "permissions.allow": "allowManagedPermissionRulesOnly",
        "sandbox.network.allowedDomains": "sandbox.network.allowManagedDomainsOnly",
        "hooks": "allowManagedHooksOnly",
    }
    off = next((value for value in counting if value.key == "disableAllHooks"), None)

    def judged(value: SettingsValue) -> SettingsValue:
        key = key_of(value)
        if value.state != ValueState.COUNTS:
            return value
        if value.source != Source.MANAGED and closed.get(key) in managed:
            return _left_out(value, f"{closed[key]} is managed")
        # Whoever does not manage the machine turns off all hooks but the managed ones.
        if (
            key == "hooks"
            and off
            and off.value is True
            and (off.source == Source.MANAGED or value.source != Source.MANAGED)
        ):
            return _left_out(value, f"disableAllHooks in {off.file}")
        return value

    return [judged(value) for value in values]


def _weighed(values: list[SettingsValue]) -> list[SettingsValue]:
    """Of single values the first that counts; the same item of a list once."""
    first: dict[str, SettingsValue] = {}
    weighed = []
    for value in values:
        if value.state == ValueState.COUNTS and KEYS[key_of(value)].kind not in _MERGED:
            winner = first.setdefault(value.key, value)
            if winner is not value:
                weighed.append(_left_out(value, f"{winner.file} says it first", ValueState.OVERRIDDEN))
                continue
        weighed.append(value)
    return weighed


def _folder(root: str, values: Sequence[SettingsValue], agreed: Mapping[str, frozenset[str] | None]) -> FolderTrust:
    own = [value for value in values if value.root == root and value.source in FOLDER_SOURCES and value.grant]
    own = [value for value in own if value.state != ValueState.IGNORED]
    return FolderTrust(
        root=root,
        grants=tuple(sorted({value.grant for value in own})),
        is_trusted=agreed.get(root) is not None,
        untrusted=tuple(dict.fromkeys(shown(value) for value in own if value.state == ValueState.UNTRUSTED)),
    )


def _settings(values: Sequence[SettingsValue]) -> SettingsFile:
    held: dict[str, JsonValue] = {}
    for value in values:
        if value.state == ValueState.COUNTS:
            _put(held, value)
    return SettingsFile.model_validate(held)


def _put(held: dict[str, JsonValue], value: SettingsValue) -> None:
    key = key_of(value)
    kind = KEYS[key].kind
    path = [*key.split("."), *([value.key.removeprefix(f"{key}.")] if value.key != key else [])]
    for name in path[:-1]:
        inner = held.setdefault(name, {})
        if not isinstance(inner, dict):
            raise TypeError(f"{value.key} stands below something that is no object")
        held = inner
    if kind not in {Kind.RULES, Kind.TEXTS, Kind.HOOKS}:
        mode = mode_of(value.value) if kind == Kind.MODE else None
        held[path[-1]] = mode.value if mode else value.value
        return
    items = held.setdefault(path[-1], [])
    if isinstance(items, list) and value.value not in items:
        items.append(value.value)


def sandbox_of(settings: SettingsFile) -> SandboxSettings:
    """The sandbox that the files describe; where they are silent, the default. It opens additional directories too."""
    keys = settings.sandbox
    held = keys.model_dump(exclude_none=True)
    opened = (*keys.filesystem.allow_write, *settings.permissions.additional_directories)
    held["filesystem"] = {**keys.filesystem.model_dump(), "allow_write": opened}
    # Held by default, commands still ask; who turns the sandbox on by name means it to spare the questions.
    held.setdefault("auto_allow_bash_if_sandboxed", keys.enabled is True)
    return SandboxSettings.model_validate(held)
