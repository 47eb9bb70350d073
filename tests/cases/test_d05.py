"""D05: broken text from tools cannot poison the conversation."""

import os
import signal

import pytest

from tests.fakes.case_bench import Json, Play, Stage, bash, of_kind, reply, text_of
from tests.fakes.waiting import eventually

pytestmark = pytest.mark.journey

PRINT = "python3 -c 'import sys; sys.stdout.buffer.write({})'"

OUTPUTS = {
    "half a character": bash(r"printf '\xc3'"),
    "a UTF-16 mark and a NUL": bash(r"printf '\xff\xfe\x00'"),
    "an emoji at the first cut": bash(PRINT.format('b"a" * 14998 + "😀".encode() * 9000')),
    "an emoji at the last cut": bash(PRINT.format('"😀".encode() * 9000 + b"a" * 14997')),
    "200 kB of chance": bash("head -c 200000 /dev/urandom"),
    "colours and other orders": bash(r"printf '\033[31mred\033[0m\033[2J\033]0;title\007\033[3J done'"),
    "a NUL": bash(r"printf 'a\0b'"),
    "an escape of half a pair": bash(r"""printf '{"icon": "\\ud83d"}'"""),
    "bytes of half a pair": bash(r"printf '\xed\xa0\xbd\xed\xb0'"),
    "many characters cut in two": bash(PRINT.format('"é漢😀".encode()[:-1] * 4000')),
    "a file name that is not UTF-8": bash(r"touch $'caf\xe9.txt'; echo x > $'b\xff\xfe.txt'; ls"),
    "such names by Glob": {"tool": "Glob", "input": {"pattern": "*.txt"}},
    "such names by Grep": {"tool": "Grep", "input": {"pattern": "x"}},
    "a folder of such a name": bash(r"mkdir $'d\xff'; cd $'d\xff' && pwd"),
    "odd bytes by Read": {"tool": "Read", "input": {"file_path": "odd.txt"}},
    "half a pair in the model's own call": {"tool": "Bash", "input_json": r'{"command": "printf %s \ud83d"}'},
    "half a pair in a file's name": {"tool": "Read", "input_json": r'{"file_path": "no\udcff.txt"}'},
    "half a pair in a text to write": {"tool": "Write", "input_json": r'{"file_path": "w.txt", "content": "a\ud83dz"}'},
    "half a pair in the name of the tool": {"tool": "Bash\ud83d", "input": {}},
}


def opened(play: Play) -> Stage:
    calls = [reply(call) for call in OUTPUTS.values()]
    stage = play(*calls, "seen all", "second", "third", window=120_000)
    (stage.box / "odd.txt").write_bytes(b"first \xc3\nsecond \x00 \xff\xfe\n\xf0\x9f\x98")
    return stage


def check_bodies(stage: Stage) -> list[Json]:
    """Each request is strict JSON, and none was refused."""
    bodies = stage.bodies()
    assert stage.model.refusals == 0
    return bodies


def test_whatever_a_tool_prints_the_session_goes_on_and_each_request_is_sound(play: Play) -> None:
    stage = opened(play)
    ran = stage.run(prompt="look \udce9 at it")
    assert ran.code == 0, (ran.err, ran.out)
    assert stage.send(ran.session).json["result"] == "second"
    old = stage.worker()
    os.kill(old, signal.SIGKILL)
    eventually(lambda: stage.worker() not in {0, old}, 30, "another worker")
    assert stage.send(ran.session).json["result"] == "third"
    bodies = check_bodies(stage)
    assert len(bodies) == len(OUTPUTS) + 3
    shown = {name: text_of(stage.results(place)[0]) for place, name in enumerate(OUTPUTS, 1)}
    for name in ("half a character", "a UTF-16 mark and a NUL", "200 kB of chance", "odd bytes by Read"):
        assert "\ufffd" in shown[name] or "ÿ" in shown[name], (name, shown[name][:200])
    assert "red" in shown["colours and other orders"]
    assert "20,998" in shown["an emoji at the first cut"] or "bytes left out" in shown["an emoji at the first cut"]
    check_spilled(stage, ran.session)


def check_spilled(stage: Stage, session: str) -> None:
    """What was large is kept to the byte: audit names it, and every object has the digest that names it."""
    calls = of_kind(stage.audit(session, "--verify"), "call")
    by_place = dict(zip(OUTPUTS, calls, strict=True))
    assert by_place["200 kB of chance"]["size"] == 200_000
    assert by_place["an emoji at the first cut"]["size"] == 14_998 + 4 * 9_000


@pytest.mark.xfail(strict=True, reason="compaction is a later issue: `perdure compact` does not exist")
def test_a_conversation_of_broken_text_can_be_compacted(play: Play) -> None:
    stage = play(reply(bash(r"printf '\xc3'")), "done")
    assert stage.cli("compact", stage.run().session).returncode == 0


@pytest.mark.xfail(strict=True, reason="MCP servers are a later issue: none can send half a pair")
def test_half_a_pair_from_a_remote_server_is_replaced(play: Play) -> None:
    stage = play(reply({"tool": "mcp__broken__say", "input": {}}), "done")
    stage.run()
    assert "\ufffd" in text_of(stage.results()[0])
