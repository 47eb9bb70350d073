"""Which exact values are secret on a host."""

import json
from pathlib import Path

import pytest

from activities.stores.environments import keep_environment
from activities.stores.home import Home
from activities.stores.known_secrets import is_secret_variable, known_secrets
from activities.stores.maskers import Maskers
from worker.person_key import person_key


@pytest.mark.parametrize(
    ("name", "value", "secret"),
    [
        ("GITHUB_TOKEN", "abcDEF123", True),
        ("DB_PASSWORD", "correct-horse", True),
        ("ANTHROPIC_API_KEY", "abcdef", True),
        ("MY_CREDENTIALS", "user:Pass1234", True),
        ("PGPASSWORD", "postgres", False),
        ("SSH_AUTH_SOCK", "/tmp/agent.12", False),
        ("SECRET_FILE", "Some0ther.txt", False),
        ("AWS_ACCESS_KEY_ID", "AKIA1234567890", False),
        ("KEYBOARD", "us", False),
        ("TOKEN_LIMIT", "100000Abc", False),
        ("API_TOKEN", "${OTHER_TOKEN}", False),
        ("PWD", "/home/x/Dir2", False),
        ("PATH", "/usr/bin:/Bin2", False),
    ],
)
def test_name_and_value_tell_a_secret_variable(name: str, value: str, secret: bool) -> None:
    assert is_secret_variable(name, value) == secret


def test_every_key_of_the_home_is_known(tmp_path: Path) -> None:
    home = Home(tmp_path)
    home.ensure()
    private = person_key(home).private_bytes_raw().hex()
    endpoints = {"": {"ANTHROPIC_API_KEY": "the-key-of-1", "ANTHROPIC_CUSTOM_HEADERS": "X-Auth: header-Secret-2"}}
    (home.keys / "model.json").write_text(json.dumps({"newest": "", "endpoints": endpoints}))
    (home.keys / "feed.token").write_text("0123456789abcdef0123456789\n")
    known = known_secrets(home)
    assert {private, "the-key-of-1", "header-Secret-2", "0123456789abcdef0123456789"} <= set(known)


def test_a_value_is_known_as_it_stands_in_a_url_and_in_json_too(tmp_path: Path) -> None:
    known = known_secrets(Home(tmp_path), {"DB_PASSWORD": 'p@ss"w/rd1'})
    assert {'p@ss"w/rd1', "p%40ss%22w%2Frd1", 'p@ss\\"w/rd1'} <= set(known)


def test_a_sessions_own_environment_counts_for_it_and_a_new_key_at_once(tmp_path: Path) -> None:
    home = Home(tmp_path)
    home.ensure()
    keep_environment(home, "s", {"DB_PASSWORD": "Kept-one-1"})
    maskers = Maskers(home, {"APP_TOKEN": "Worker-one-1"})
    assert "Kept-one-1" not in maskers.of("s").text("x Kept-one-1 Worker-one-1")
    assert "Worker-one-1" not in maskers.of("s").text("x Kept-one-1 Worker-one-1")
    assert "Kept-one-1" in maskers.of("other").text("x Kept-one-1")
    later = Maskers(home, {})
    (home.keys / "model.json").write_text(json.dumps({"endpoints": {"": {"ANTHROPIC_API_KEY": "newest-key"}}}))
    assert "newest-key" not in later.of("s").text("newest-key")
