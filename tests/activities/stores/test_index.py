"""The heads of a session on this host, newest last."""

import json
from pathlib import Path

from activities.stores.files import read_lines
from activities.stores.home import Home
from activities.stores.index import index_path, note_head


def test_each_head_is_a_line_and_a_torn_one_costs_no_other(tmp_path: Path) -> None:
    home = Home(tmp_path)
    home.ensure()
    note_head(home, "s1", "a" * 64, "2026-01-01T00:00:00Z", "session_opened")
    with index_path(home, "s1").open("ab") as file:
        file.write(b'{"session": "s1", "he')
    note_head(home, "s1", "b" * 64, "2026-01-01T00:00:01Z", "turn_ended")
    lines, _damages = read_lines(index_path(home, "s1"))
    assert [json.loads(line)["head"] for line in lines] == ["a" * 64, "b" * 64]


def test_sessions_do_not_share_a_list(tmp_path: Path) -> None:
    home = Home(tmp_path)
    home.ensure()
    note_head(home, "s1", "a" * 64, "", "x")
    assert not index_path(home, "s2").exists()
