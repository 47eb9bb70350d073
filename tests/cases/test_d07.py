"""D07: a tool call cut off by the output limit is never executed."""

import json
from typing import Any

import pytest

from tests.fakes.case_bench import Json, Play, bash, of_kind, reply, text_of

pytestmark = pytest.mark.journey


def write(name: str, **more: Any) -> Json:
    return {"tool": "Write", "input": {"file_path": name, "content": "x" * 200}, **more}


def cut_command(whole: str, shown: str) -> Json:
    """A call of the shell whose JSON ends right behind the shown part of its command."""
    text = json.dumps({"command": whole})
    return {"tool": "Bash", "input_json": text, "cut_at": text.index(shown) + len(shown)}


CUT = [
    pytest.param([write("a.txt", cut_at=60)], id="inside the text"),
    pytest.param([write("a.txt", input_json="{}")], id="without arguments"),
    pytest.param([write("a.txt", cut_at=0)], id="before its arguments"),
    pytest.param([cut_command("rm -rf keep/cache", "rm -rf ke")], id="a command cut to a shorter one"),
    pytest.param([cut_command("rm -rf keep; ./effect late", "rm -rf ke")], id="the same, of two commands"),
    pytest.param(["some words", write("a.txt", cut_at=61)], id="behind a text"),
    pytest.param([{"tool": "Edit", "input": {"file_path": "effect", "old_string": "pid", "new_string": "x"},
                   "cut_at": 20}], id="an edit"),
    pytest.param([{"tool": "TodoWrite", "input_json": ""}], id="a call that has only a name"),
]  # fmt: skip

GOOD = reply(bash("echo small > small.txt"))


def boxed(play: Play, *replies: Any, **more: Any) -> Any:
    stage = play(*replies, **more)
    (stage.box / "ke").mkdir()
    (stage.box / "keep" / "cache").mkdir(parents=True)
    return stage


@pytest.mark.parametrize("blocks", CUT)
def test_a_cut_call_does_not_run_and_the_model_is_told_of_the_limit(play: Play, blocks: list[Any]) -> None:
    stage = boxed(play, reply(*blocks, stop_reason="max_tokens"), GOOD, "done")
    ran = stage.run()
    assert (ran.code, len(stage.asked())) == (0, 3)
    assert not (stage.box / "a.txt").exists()
    assert (stage.box / "ke").is_dir()
    assert (stage.box / "keep" / "cache").is_dir()
    (result,) = stage.results(1)
    assert result["is_error"] is True
    assert "output limit" in text_of(result)
    assert (stage.box / "small.txt").exists()
    assert stage.effects() == 0


def test_a_call_before_the_cut_one_runs_and_the_cut_one_does_not(play: Play) -> None:
    first = {"tool": "Read", "input": {"file_path": "effect"}}
    stage = boxed(play, reply(first, write("a.txt", cut_at=40)), "done")
    assert stage.run().code == 0
    read, cut = stage.results(1)
    assert "effects.log" in text_of(read)
    assert "output limit" in text_of(cut)
    assert not (stage.box / "a.txt").exists()


def test_a_complete_call_is_run_once_although_the_reply_was_cut(play: Play) -> None:
    stage = boxed(play, reply(bash("./effect whole"), stop_reason="max_tokens"), "done")
    assert stage.run().code == 0
    assert stage.effects("whole") == 1


@pytest.mark.parametrize("block", [write("a.txt", cut_at=60), cut_command("rm -rf keep/cache", "rm -rf ke")])
def test_the_third_time_in_a_row_ends_the_run_with_that_reason(play: Play, block: Json) -> None:
    stage = boxed(play, fallback=reply(block, stop_reason="max_tokens"))
    ran = stage.run()
    assert (ran.code, ran.reason, len(stage.asked())) == (1, "output_cap", 3)
    assert "output limit" in ran.json["error"]
    assert (stage.box / "ke").is_dir()
    assert not (stage.box / "a.txt").exists()
    notes = of_kind(stage.audit(ran.session), "notice")
    assert any("output limit" in line["text"] for line in notes)
