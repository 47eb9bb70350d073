"""The environment that a session's commands get."""

from pathlib import Path

from activities.stores.environments import keep_environment, kept_environment
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
