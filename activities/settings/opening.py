"""What settings files are to a session that opens: the hooks that count, and what its first entry tells of them."""

from collections import Counter
from pathlib import Path

from pydantic import JsonValue

from activities.settings.load import load_settings
from activities.settings.places import places_of
from activities.settings.scripts import scripts_of
from activities.settings.trust import digest_of_grants
from activities.world import World
from workflows.contracts.extensions import HookRule
from workflows.contracts.settings import SessionSettings
from workflows.contracts.settings_files import FolderTrust, LoadedSettings, ValueState
from workflows.core.hook_rules import parse_hooks

MOST_TOLD = 40
"""Lines of one kind in the first entry."""


def settings_of(world: World, folder: Path, settings: SessionSettings) -> LoadedSettings:
    """The settings files of a session, as this worker sees them now."""
    return load_settings(places_of(world), folder, settings.roots)


def hooks_of(loaded: LoadedSettings) -> tuple[tuple[HookRule, ...], tuple[str, ...]]:
    """The hooks that count, managed ones first, each with its file; and a sentence for what of them has no effect."""
    rules: dict[HookRule, None] = {}
    problems: dict[str, None] = {}
    for value in loaded.counting("hooks"):
        found = parse_hooks({value.key.removeprefix("hooks."): [value.value]}, value.file)
        for rule in found.rules:
            rules[rule.model_copy(update={"scripts": scripts_of(loaded, value, rule)})] = None
        problems |= dict.fromkeys(found.problems)
    return tuple(rules), tuple(problems)


def told(loaded: LoadedSettings) -> dict[str, JsonValue]:
    """For the session's first entry: which files, which folders were trusted in what, what was left out."""
    return {
        "settings_files": [{"file": layer.file, "source": layer.source.value} for layer in loaded.layers],
        "trust": [_trust(loaded, folder) for folder in loaded.folders],
        "settings_problems": [problem[:300] for problem in loaded.problems[:MOST_TOLD]],
        "settings_broken": loaded.broken[:300],
    }


def _trust(loaded: LoadedSettings, folder: FolderTrust) -> JsonValue:
    # Keys alone: what hooks, variables and even rules hold may be secret, and the first entry leaves the host.
    keys = Counter(
        value.key for value in loaded.values if value.root == folder.root and value.state == ValueState.UNTRUSTED
    )
    ignored = [f"{key} ({count})" if count > 1 else key for key, count in keys.items()]
    return {
        "folder": folder.root,
        "is_trusted": folder.is_trusted,
        "digest": digest_of_grants(folder.grants),
        "ignored": [*ignored[:MOST_TOLD]],
    }
