"""A key reaches a worker that runs already, by a file that nobody else may read."""

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from activities.stores.home import Home
from worker.model_keys import ModelEnvironment, base_url_of, keys_path, leads_to_a_model, recall, remember
from workflows.contracts.errors import UsageError


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


def test_what_was_set_last_is_recalled(tmp_path: Path) -> None:
    home = Home(tmp_path)
    remember(home, {"ANTHROPIC_API_KEY": "one", "ANTHROPIC_BASE_URL": "http://a", "PATH": "/bin"})
    remember(home, {"ANTHROPIC_AUTH_TOKEN": "two"})
    assert recall(home) == {"ANTHROPIC_AUTH_TOKEN": "two"}


def test_commands_that_start_at_once_keep_the_keys_of_all_their_endpoints(tmp_path: Path) -> None:
    home = Home(tmp_path)
    given = [{"ANTHROPIC_API_KEY": "k", "ANTHROPIC_BASE_URL": f"http://127.0.0.1:{port}"} for port in range(1, 41)]
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda environment: remember(home, environment), given))
    kept = ModelEnvironment(home, {})
    assert [kept.leading_to(each["ANTHROPIC_BASE_URL"]) for each in given] == given


def test_an_environment_that_sets_nothing_changes_nothing(tmp_path: Path) -> None:
    home = Home(tmp_path)
    remember(home, {"ANTHROPIC_API_KEY": "one"})
    remember(home, {"PATH": "/bin", "ANTHROPIC_API_KEY": ""})
    assert recall(home) == {"ANTHROPIC_API_KEY": "one"}


def test_nobody_else_may_read_it(tmp_path: Path) -> None:
    home = Home(tmp_path / "home")
    remember(home, {"ANTHROPIC_API_KEY": "one"})
    assert keys_path(home).stat().st_mode & 0o777 == 0o600
    assert home.keys.stat().st_mode & 0o777 == 0o700


def test_nothing_or_damage_recalls_nothing(tmp_path: Path) -> None:
    home = Home(tmp_path)
    assert recall(home) == {}
    home.keys.mkdir()
    for damaged in (b'["no"]', b"\0\0{"):
        keys_path(home).write_bytes(damaged)
        assert recall(home) == {}


def test_another_endpoint_leads_to_a_model_without_a_key() -> None:
    assert leads_to_a_model({"ANTHROPIC_BASE_URL": "http://127.0.0.1:1"})
    assert not leads_to_a_model({"ANTHROPIC_API_KEY": ""})


def test_each_endpoint_keeps_the_key_that_was_set_for_it(tmp_path: Path) -> None:
    home = Home(tmp_path)
    environment = ModelEnvironment(home, {"ANTHROPIC_API_KEY": "of the worker"})
    remember(home, {"ANTHROPIC_API_KEY": "own"})
    remember(home, {"ANTHROPIC_API_KEY": "other", "ANTHROPIC_BASE_URL": "http://a"})
    assert environment.leading_to("") == {"ANTHROPIC_API_KEY": "own"}
    assert environment.leading_to("http://a")["ANTHROPIC_API_KEY"] == "other"
    remember(home, {"ANTHROPIC_API_KEY": "newer", "ANTHROPIC_BASE_URL": "http://a"})
    assert environment.leading_to("http://a")["ANTHROPIC_API_KEY"] == "newer"
    assert environment.leading_to("") == {"ANTHROPIC_API_KEY": "own"}


@pytest.mark.parametrize("url", ["nowhere", "ftp://a", "http://me:secret@a"])
def test_a_base_url_that_cannot_be_used_is_refused_in_one_line(url: str) -> None:
    with pytest.raises(UsageError) as refused:
        base_url_of({"ANTHROPIC_BASE_URL": url})
    assert "\n" not in str(refused.value)
    assert "secret" not in str(refused.value)
