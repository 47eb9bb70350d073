"""What a command may know and do about settings files and trust, without an engine."""

import os
import secrets
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from pydantic import JsonValue

from activities.settings.editing import edited
from activities.settings.load import load_settings
from activities.settings.places import LOCAL_NAME, OWN, SHARED_NAME, Places, roots_of
from activities.settings.policy import current_policy, policy_of
from activities.settings.scripts import exposed_scripts
from activities.settings.trust import put_record, records, revoke
from activities.stores.environments import without_keys
from activities.stores.home import Home
from worker.person_key import signature
from workflows.contracts.permissions import Source
from workflows.contracts.settings_files import FolderTrust, LoadedSettings, TrustRecord, ValueState
from workflows.contracts.transcript import stamp
from workflows.core.settings import shown
from workflows.core.settings_edit import with_value, without_value
from workflows.core.settings_parse import grant_of

__all__ = [
    "Change",
    "Places",
    "change_setting",
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


@dataclass(frozen=True)
class Change:
    """One value of a settings file that a person wants set or taken out."""

    scope: Source
    key: str
    value: JsonValue
    """None, where it is taken out, for the whole key."""
    by: str
    removes: bool = False


def change_setting(home: Home, folder: str, change: Change) -> Path:
    """Do it in the file of that scope for the folder; the file. What a folder's file gives then is signed for.

    UserError for a file that cannot be read or written; then it is as it was.
    """
    places, root = Places.from_environment(home), Path(roots_of(Path(folder))[-1])
    is_own = change.scope == Source.USER
    file = root / OWN / (LOCAL_NAME if change.scope == Source.LOCAL else SHARED_NAME)
    # A link of the person's own, into a folder where they keep such files, is followed.
    file = Path(os.path.realpath(places.user_files()[0])) if is_own else file
    make = without_value if change.removes else with_value
    edited(file, file.parent if is_own else root, lambda held: make(held, change.key, change.value), home)
    if not is_own and not change.removes:
        record = _record(str(root), (grant_of(change.key, change.value),), change.by)
        put_record(home, record, lambda said: signature(home, said), adds=True)
    return file


def _record(root: str, grants: tuple[str, ...], by: str) -> TrustRecord:
    return TrustRecord(folder=root, grants=grants, id=secrets.token_hex(8), at=stamp(datetime.now(UTC)), by=by)
