"""always_allow: rules that a person allowed for good, saved where they count and signed for."""

import secrets
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from activities.settings.append import append_rules
from activities.settings.load import load_settings
from activities.settings.places import Places, local_file, roots_of
from activities.settings.trust import person_secret, put_record
from workflows.contracts.errors import UserError
from workflows.contracts.settings_files import TrustRecord
from workflows.contracts.transcript import stamp
from workflows.core.settings_parse import grant_of


def always_allow(places: Places, folder: Path, rules: Sequence[str], by: str) -> tuple[Path, tuple[str, ...]]:
    """Save allow rules in the local file of the folder's repository; the file, and the rules it did not hold yet.

    Only to be called for a person's act whose signature was checked; `by` says which. They count although the folder
    as a whole is not trusted: the person signed for them, and for nothing else in it. UserError when that cannot be.
    """
    if load_settings(places, folder).settings.allow_managed_permission_rules_only:
        raise UserError("Only managed settings may allow here (allowManagedPermissionRulesOnly); no rule was saved.")
    secret = person_secret(places.home)
    if secret is None:
        raise UserError(f"{places.home.person_key} holds no key to sign with; no rule was saved.", reason="person_key")
    key = Ed25519PrivateKey.from_private_bytes(secret)
    file, root = local_file(folder), roots_of(folder)[-1]
    added = append_rules(file, rules, Path(root))
    grants = tuple(grant_of("permissions.allow", rule) for rule in rules)
    record = TrustRecord(folder=root, grants=grants, id=secrets.token_hex(8), at=stamp(datetime.now(UTC)), by=by)
    put_record(places.home, record, lambda said: key.sign(said).hex(), adds=True)
    return file, added
