"""current_policy: all permission rules that count now, read afresh when a file has changed."""

import time
from dataclasses import dataclass
from pathlib import Path

from activities.settings.load import load_settings
from activities.settings.places import Places, roots_of
from activities.settings.reading import Stamp, stamp_of
from activities.settings.trust import stamped_paths
from workflows.contracts.permissions import Decision, Policy, Rules, Source, SourcedRule
from workflows.contracts.settings import SessionSettings
from workflows.contracts.settings_files import LoadedSettings
from workflows.contracts.transcript import canonical, digest_of
from workflows.core.settings import WEIGHT

MOST_KEPT = 64
"""Policies kept, the one used last at the end."""

_SETTLED_NS = 50_000_000
"""A file that was changed so lately may change again without another stamp."""

_ACTIONS = {
    "permissions.deny": Decision.DENY,
    "permissions.ask": Decision.ASK,
    "permissions.allow": Decision.ALLOW,
}

_Key = tuple[Places, tuple[str, ...], Rules, tuple[str, ...]]


@dataclass(frozen=True)
class _Kept:
    stamps: tuple[Stamp, ...]
    paths: tuple[Path, ...]
    policy: Policy


_KEPT: dict[_Key, _Kept] = {}
"""What the files said when they had these stamps: a memory of the disk, nothing that decides."""


def current_policy(places: Places, folder: Path, settings: SessionSettings) -> Policy:
    """The rules of every source that count now, with those of the session's command line.

    Costs a stat of each file while nothing has changed. A rule that is written at 3 a.m. acts on the next call.
    """
    roots = settings.roots or roots_of(folder)
    key = places, roots, settings.rules, settings.added_folders
    kept = _KEPT.pop(key, None)
    if kept is None or kept.stamps != tuple(map(stamp_of, kept.paths)):
        kept = _read(places, folder, roots, settings)
    if not _is_fresh(kept.stamps):
        _KEPT[key] = kept
        while len(_KEPT) > MOST_KEPT:
            _KEPT.pop(next(iter(_KEPT)), None)
    return kept.policy


def _read(places: Places, folder: Path, roots: tuple[str, ...], settings: SessionSettings) -> _Kept:
    paths = (*(place.path for place in places.files(roots)), *stamped_paths(places.home, roots))
    stamps = tuple(map(stamp_of, paths))
    return _Kept(stamps, paths, policy_of(load_settings(places, folder, roots), settings.rules, settings.added_folders))


def _is_fresh(stamps: tuple[Stamp, ...]) -> bool:
    edge = time.time_ns() - _SETTLED_NS
    return any(moment > edge for stamp in stamps for moment in stamp[3:])


def policy_of(loaded: LoadedSettings, rules: Rules = Rules(), added: tuple[str, ...] = ()) -> Policy:  # noqa: B008 - frozen
    """The policy that these settings, and rules and added folders of the command line, make."""
    permissions = loaded.settings.permissions
    found = [*_from_files(loaded), *_from_command_line(loaded, rules)]
    found.sort(key=lambda rule: WEIGHT.index(rule.source))
    policy = Policy(
        rules=tuple(found),
        default_mode=permissions.default_mode,
        disable_bypass=bool(permissions.disable_bypass_permissions_mode),
        disable_auto=bool(permissions.disable_auto_mode),
        additional_directories=tuple(dict.fromkeys((*permissions.additional_directories, *added))),
        only_managed=loaded.settings.allow_managed_permission_rules_only is True,
        broken=loaded.broken,
    )
    return policy.model_copy(update={"digest": digest_of(canonical(policy.model_dump(mode="json")))})


def _from_files(loaded: LoadedSettings) -> list[SourcedRule]:
    return [
        SourcedRule(text=str(value.value), action=action, source=value.source, file=value.file, root=value.root)
        for key, action in _ACTIONS.items()
        for value in loaded.counting(key)
    ]


def _from_command_line(loaded: LoadedSettings, rules: Rules) -> list[SourcedRule]:
    is_closed = loaded.settings.allow_managed_permission_rules_only
    given = ((Decision.DENY, rules.deny), (Decision.ASK, rules.ask), (Decision.ALLOW, () if is_closed else rules.allow))
    return [SourcedRule(text=text, action=action, source=Source.CLI) for action, texts in given for text in texts]
