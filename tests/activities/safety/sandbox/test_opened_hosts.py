"""What was said of a session's hosts is read line by line: what cannot be read opens nothing."""

import json
from pathlib import Path

from activities.safety.sandbox.opened_hosts import opened, path_in, said_no, said_of


def kept(folder: Path, *lines: object) -> Path:
    path = path_in(folder)
    path.write_text("".join(f"{line if isinstance(line, str) else json.dumps(line)}\n" for line in lines))
    return path


def test_hosts_that_were_opened_are_open_and_those_of_a_no_are_remembered(tmp_path: Path) -> None:
    yes, no = {"allow": True, "by": "me"}, {"allow": False, "by": "you"}
    path = kept(
        tmp_path,
        {"call": "a", "hosts": ["x.example", "y.example"], "opened": ["x.example"], "answer": yes},
        {"call": "b", "hosts": ["z.example"], "opened": [], "answer": no},
        {"call": "c", "hosts": ["w.example"], "opened": ["w.example"], "verdict": {}},
    )
    assert opened(path) == ["x.example", "w.example"]
    assert said_no(path) == {"z.example": "you"}
    assert [line["hosts"] for line in said_of(path, "b")] == [["z.example"]]


def test_a_damaged_line_opens_nothing_and_hides_no_other(tmp_path: Path) -> None:
    good = {"call": "a", "hosts": ["x.example"], "opened": ["x.example"]}
    path = kept(tmp_path, '{"opened": ["torn.exa', "[1]", '{"opened": "no-list.example"}', good)
    assert opened(path) == ["x.example"]


def test_where_nothing_was_said_nothing_is_open(tmp_path: Path) -> None:
    assert (opened(path_in(tmp_path)), said_no(path_in(tmp_path)), said_of(path_in(tmp_path), "a")) == ([], {}, [])
