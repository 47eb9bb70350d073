"""The environment that a session's commands get."""

from pathlib import Path

from activities.stores.environments import forget_environment, keep_environment, kept_environment
from activities.stores.home import Home


def test_keys_of_the_agent_are_not_even_kept(tmp_path: Path) -> None:
    home = Home(tmp_path)
    home.ensure()
    given = {"PATH": "/bin", "ANTHROPIC_API_KEY": "k", "TEMPORAL_API_KEY": "k", "OPENAI_API_KEY": "k", "LANG": "C"}
    keep_environment(home, "one", given)
    assert kept_environment(home, "one") == {"PATH": "/bin", "LANG": "C"}
    (path,) = home.sessions.glob("one*")
    assert path.stat().st_mode & 0o777 == 0o600
    assert b"API_KEY" not in path.read_bytes()


def test_a_session_of_another_host_has_none(tmp_path: Path) -> None:
    assert kept_environment(Home(tmp_path), "elsewhere") is None


def test_what_is_kept_is_encrypted(tmp_path: Path) -> None:
    home = Home(tmp_path)
    home.ensure()
    keep_environment(home, "one", {"DB_PASSWORD": "tr0ub4dor&3"})
    (path,) = home.sessions.glob("one*")
    assert b"tr0ub4dor" not in path.read_bytes()
    assert b"DB_PASSWORD" not in path.read_bytes()
    assert kept_environment(home, "one") == {"DB_PASSWORD": "tr0ub4dor&3"}


def test_one_that_was_kept_in_clear_is_still_read_and_forgotten(tmp_path: Path) -> None:
    home = Home(tmp_path)
    home.ensure()
    older = home.sessions / "one.env.json"
    older.write_text('{"PATH": "/bin"}')
    assert kept_environment(home, "one") == {"PATH": "/bin"}
    forget_environment(home, "one")
    assert not older.exists()


def test_one_that_another_home_locked_is_none(tmp_path: Path) -> None:
    one, other = Home(tmp_path / "one"), Home(tmp_path / "other")
    for home in (one, other):
        home.ensure()
    keep_environment(one, "s", {"PATH": "/bin"})
    (other.sessions / "s.env").write_bytes((one.sessions / "s.env").read_bytes())
    assert kept_environment(other, "s") is None
