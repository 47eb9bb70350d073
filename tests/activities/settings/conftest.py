"""A machine of one person with managed settings, a home folder and a repository, all in a temporary folder."""

import json
import secrets
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from activities.settings.load import load_settings
from activities.settings.places import Places
from activities.settings.policy import current_policy
from activities.settings.trust import put_record
from activities.stores.home import Home
from worker.person_key import person_key
from workflows.contracts.permissions import Decision, Policy
from workflows.contracts.settings import SessionSettings
from workflows.contracts.settings_files import LoadedSettings, TrustRecord


@dataclass
class Machine:
    """Files of settings, and what they come to."""

    places: Places
    folder: Path

    @property
    def home(self) -> Home:
        return self.places.home

    def write(self, path: Path | str, held: Any) -> Path:
        """Write a file; a relative path is one of the folder."""
        whole = self.folder / path
        whole.parent.mkdir(parents=True, exist_ok=True)
        whole.write_text(held if isinstance(held, str) else json.dumps(held))
        return whole

    def load(self, folder: Path | None = None) -> LoadedSettings:
        return load_settings(self.places, folder or self.folder)

    def policy(self, **settings: Any) -> Policy:
        return current_policy(self.places, self.folder, SessionSettings(**settings))

    def rules(self, action: Decision) -> list[str]:
        return [rule.text for rule in self.policy().rules if rule.action == action]

    def sign(self, said: bytes) -> str:
        return person_key(self.home).sign(said).hex()

    def trust(self) -> TrustRecord:
        """The person's word for what the folder gives now."""
        folder = self.load().folders[-1]
        record = TrustRecord(
            folder=folder.root, grants=folder.grants, id=secrets.token_hex(8), at="2026-01-01", by="me"
        )
        return put_record(self.home, record, self.sign)


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    home = Home(tmp_path / "home")
    home.ensure()
    managed = (tmp_path / "etc/perdure.json", tmp_path / "etc/claude.json")
    places = Places.from_environment(home, {"HOME": str(tmp_path / "user")}, managed)
    folder = tmp_path / "work"
    folder.mkdir()
    return Machine(places, folder)
