"""Lines are judged and matched one by one; what cannot be read is told with its number, and the others go on."""

import json
from pathlib import Path

from worker.offline import corpus_setting, judge_lines, match_lines

CORPUS = Path(__file__).parents[1] / "corpora/rules.jsonl"


def test_all_rules_of_the_corpus_match_as_they_say() -> None:
    lines = CORPUS.read_bytes().splitlines()
    wanted = {row["id"]: row["match"] for row in map(json.loads, lines)}
    told = [(json.loads(line), is_read) for line, is_read in match_lines(lines, corpus_setting())]
    assert {row["id"]: row["match"] for row, _ in told} == wanted
    assert all(is_read for _, is_read in told)


def test_a_line_that_cannot_be_read_is_told_in_its_place() -> None:
    lines = [
        b'{"id": "a", "command": "ls"}',
        b"no json",
        b"",
        b'["a list"]',
        b'{"id": "b"}',
        b'{"id": "c", "command": 7}',
        b"\xff\xfe",
        b'{"id": "d", "command": "rm -rf /"}',
    ]
    told = [(json.loads(line), is_read) for line, is_read in judge_lines(lines, corpus_setting())]
    assert [is_read for _, is_read in told] == [True, False, False, False, False, False, True]
    assert [row["line"] for row, is_read in told if not is_read] == [2, 4, 5, 6, 7]
    assert "no JSON" in told[1][0]["error"]
    assert (told[0][0]["verdict"], told[-1][0]["verdict"]) == ("allow", "deny")
    assert told[-1][0]["reasons"][0].keys() == {"validator", "action", "text"}


def test_a_match_says_as_what_the_rule_is_meant() -> None:
    row = {"id": "a", "rule": "Bash(ls)", "as": "perhaps", "command": "ls"}
    ((line, is_read),) = match_lines([json.dumps(row).encode()], corpus_setting())
    assert not is_read
    assert "allow, ask or deny" in line


def test_another_set_up_may_be_named(tmp_path: Path) -> None:
    line = json.dumps({"id": "a", "command": "cat /srv/w/f"}).encode()
    verdicts = [json.loads(next(judge_lines([line], corpus_setting(cwd)))[0])["verdict"] for cwd in ("", "/srv/w")]
    assert verdicts == ["ask", "allow"]
    (tmp_path / "link").symlink_to("/root")
    through = json.dumps({"id": "a", "command": "cat link/f"}).encode()
    (told,) = judge_lines([through], corpus_setting(str(tmp_path)))
    assert json.loads(told[0])["verdict"] == "ask"
