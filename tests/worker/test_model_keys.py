"""Keys that a person sets after the worker began."""

from pathlib import Path

from activities.stores.home import Home
from worker.model_keys import ModelEnvironment, keys_path, recall, remember


def test_a_key_kept_later_counts_for_a_worker_that_runs(tmp_path: Path) -> None:
    home = Home(tmp_path)
    environment = ModelEnvironment(home, {"ANTHROPIC_API_KEY": "old", "PATH": "/bin"})
    assert environment["ANTHROPIC_API_KEY"] == "old"
    remember(home, {"ANTHROPIC_BASE_URL": "http://127.0.0.1:1", "ANTHROPIC_AUTH_TOKEN": "new"})
    assert dict(environment) == {
        "PATH": "/bin",
        "ANTHROPIC_BASE_URL": "http://127.0.0.1:1",
        "ANTHROPIC_AUTH_TOKEN": "new",
    }


def test_keys_are_for_their_owner_alone(tmp_path: Path) -> None:
    home = Home(tmp_path)
    remember(home, {"ANTHROPIC_API_KEY": "secret"})
    assert keys_path(home).stat().st_mode & 0o777 == 0o600


def test_a_damaged_file_of_keys_counts_as_none(tmp_path: Path) -> None:
    home = Home(tmp_path)
    remember(home, {"ANTHROPIC_API_KEY": "secret"})
    keys_path(home).write_bytes(b"\0\0{")
    assert recall(home) == {}
