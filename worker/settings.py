"""What a command may know and do about settings files and trust, without an engine."""

import os
import secrets
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path

from activities.settings.load import load_settings
from activities.settings.places import Places, roots_of
from activities.settings.policy import current_policy, policy_of
from activities.settings.scripts import exposed_scripts
from activities.settings.trust import put_record, records, revoke
from activities.stores.environments import without_keys
from activities.stores.home import Home
from worker.person_key import signature
from workflows.contracts.settings_files import FolderTrust, LoadedSettings, TrustRecord, ValueState
from workflows.contracts.transcript import stamp
from workflows.core.settings import shown

__all__ = [
    "Places",
    "counting_of",
    "current_policy",
    "is_passed_on",
    "loaded_settings",
    "policy_of",
    "records",
    "revoke",
    "roots_of_folder",
    "trust",
]


def loaded_settings(home: Home, folder: str, environment: Mapping[str, str] = os.environ) -> LoadedSettings:
    """Every settings file of the folder, merged, as a worker of this home sees them now."""
    loaded = load_settings(Places.from_environment(home, environment), Path(folder))
    return loaded.model_copy(update={"hints": (*loaded.hints, *exposed_scripts(loaded))})


def trust(home: Home, folder: FolderTrust, by: str) -> TrustRecord:
    """Sign, as the person, that exactly what the folder's files gave when they were read may count."""
    return put_record(home, _record(folder.root, folder.grants, by), lambda said: signature(home, said))


def roots_of_folder(folder: str) -> tuple[str, ...]:
    """The folders whose own files count for a session there."""
    return roots_of(Path(folder))


def counting_of(loaded: LoadedSettings, folder: FolderTrust) -> tuple[str, ...]:
    """What counts, for people, of the things that trust in this folder gives."""
    own = (value for value in loaded.values if value.root == folder.root and value.grant)
    return tuple(
        dict.fromkeys(shown(value) for value in own if value.state in {ValueState.COUNTS, ValueState.OVERRIDDEN})
    )


def is_passed_on(name: str) -> bool:
    """Whether a variable of that name reaches the session's commands."""
    return bool(without_keys({name: ""}))


def _record(root: str, grants: tuple[str, ...], by: str) -> TrustRecord:
    return TrustRecord(folder=root, grants=grants, id=secrets.token_hex(8), at=stamp(datetime.now(UTC)), by=by)
