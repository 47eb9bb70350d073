"""What a person allowed for good, rules and hosts, saved where it counts and signed for."""

import secrets
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from activities.settings.editing import append_items
from activities.settings.load import load_settings
from activities.settings.places import Places, local_file, roots_of
from activities.settings.trust import person_secret, put_record
from workflows.contracts.errors import UserError
from workflows.contracts.settings_files import TrustRecord
from workflows.contracts.transcript import stamp
from workflows.core.settings_parse import grant_of

DOMAINS = "sandbox.network.allowedDomains"


def always_allow(places: Places, folder: Path, rules: Sequence[str], by: str) -> tuple[Path, tuple[str, ...]]:
    """Save allow rules in the local file of the folder's repository; the file, and the rules it did not hold yet.

    Only to be called for a person's act whose signature was checked; `by` says which. They count although the folder
    as a whole is not trusted: the person signed for them, and for nothing else in it. UserError when that cannot be.
    """
    if load_settings(places, folder).settings.allow_managed_permission_rules_only:
        raise UserError("Only managed settings may allow here (allowManagedPermissionRulesOnly); no rule was saved.")
    return _saved(places, folder, "permissions.allow", rules, by)


def always_open(places: Places, folder: Path, hosts: Sequence[str], by: str) -> tuple[Path, tuple[str, ...]]:
    """The same for hosts that every later session's commands may reach."""
    if load_settings(places, folder).settings.sandbox.network.allow_managed_domains_only:
        raise UserError("Only managed settings may open hosts here (allowManagedDomainsOnly); none was saved.")
    return _saved(places, folder, DOMAINS, hosts, by)


def _saved(places: Places, folder: Path, key: str, items: Sequence[str], by: str) -> tuple[Path, tuple[str, ...]]:
    secret = person_secret(places.home)
    if secret is None:
        raise UserError(f"{places.home.person_key} holds no key to sign with; nothing was saved.", reason="person_key")
    signer = Ed25519PrivateKey.from_private_bytes(secret)
    file, root = local_file(folder), roots_of(folder)[-1]
    added = append_items(file, key, items, Path(root), places.home)
    grants = tuple(grant_of(key, item) for item in items)
    record = TrustRecord(folder=root, grants=grants, id=secrets.token_hex(8), at=stamp(datetime.now(UTC)), by=by)
    put_record(places.home, record, lambda said: signer.sign(said).hex(), adds=True)
    return file, added
