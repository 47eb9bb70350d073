"""The effect journal: what is written is there after a death, what is damaged is told and never believed."""

import asyncio
import json
import logging
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from activities.stores.journal import CallRecord, Journal, effect_key

ROOT = Path(__file__).parents[3]
KEY = effect_key("s1", 3, 0, "Bash", '{"command": "ls"}')


@pytest.fixture
def journal(tmp_path: Path) -> Journal:
    return Journal(tmp_path / "journal")


@pytest.fixture
def call(journal: Journal) -> CallRecord:
    return journal.call("s1", KEY)


def child(call: CallRecord, program: str) -> subprocess.Popen[bytes]:
    """Another process with `call` at hand; it prints when it wants to be killed."""
    head = "import os, sys, time; from pathlib import Path; from activities.stores.journal import CallRecord\n"
    argv = [sys.executable, "-c", f"{head}call = CallRecord(Path(sys.argv[1]))\n{program}", str(call.path)]
    return subprocess.Popen(argv, cwd=ROOT, stdout=subprocess.PIPE)


def test_the_key_of_a_call_never_changes() -> None:
    assert KEY == "dcd9952c5bfeece66350d2460f91a75ee667efd60c14a956f85c6bdcb876c123"


def test_the_key_ignores_how_the_input_is_spelled() -> None:
    spelled = effect_key("s1", 3, 0, "Write", '{"b": "\\u00e9",\n "a":1}')
    assert spelled == effect_key("s1", 3, 0, "Write", '{"a": 1, "b": "é"}')


@pytest.mark.parametrize(
    "other",
    [
        ("s2", 3, 0, "Bash", '{"command": "ls"}'),
        ("s1", 4, 0, "Bash", '{"command": "ls"}'),
        ("s1", 3, 1, "Bash", '{"command": "ls"}'),
        ("s1", 3, 0, "Bas", '{"command": "ls"}'),
        ("s1", 3, 0, "Bash", '{"command": "ls "}'),
        ("s1", 3, 0, "Bash", "not JSON \udcff"),
        ("s1", 3, 0, "Bash", "[" * 100_000),
    ],
)
def test_two_calls_that_differ_in_anything_have_two_keys(other: tuple[str, int, int, str, str]) -> None:
    assert effect_key(*other) != KEY


def test_reading_a_call_that_never_was_makes_nothing(journal: Journal, call: CallRecord) -> None:
    assert (call.read_intent(), call.read_outcome(), call.read_pass(), call.damages()) == (None, None, None, [])
    assert not journal.root.exists()


def test_records_come_back_as_they_were_written(call: CallRecord) -> None:
    call.write_intent({"tool": "Bash", "text": "é \udcff \0", "n": [1, 2.5, None, True]})
    call.write_outcome({"ok": True})
    call.write_pass({"hooks": {}})
    assert call.read_intent() == {"tool": "Bash", "text": "é \udcff \0", "n": [1, 2.5, None, True]}
    assert (call.read_outcome(), call.read_pass()) == ({"ok": True}, {"hooks": {}})


def test_records_are_their_owners_only(call: CallRecord) -> None:
    call.write_intent({})
    assert {path.stat().st_mode & 0o077 for path in (call.path, call.path.parent, call.path / "intent")} == {0}


def test_a_call_is_open_from_its_intent_to_its_outcome(journal: Journal, call: CallRecord) -> None:
    assert not call.is_open()
    call.write_intent({})
    assert call.is_open()
    assert (journal.sessions(), [each.key for each in journal.calls("s1")]) == (["s1"], [KEY])
    call.write_outcome({})
    assert not call.is_open()


def test_a_forgotten_session_leaves_the_others(journal: Journal, call: CallRecord) -> None:
    call.write_intent({})
    journal.call("s2", KEY).write_intent({})
    journal.forget("s1")
    assert journal.sessions() == ["s2"]


@pytest.mark.parametrize("session", ["", "..", "a/b", ".hidden", "a\0b", "x" * 300])
def test_a_session_that_is_no_name_has_no_place(journal: Journal, session: str) -> None:
    with pytest.raises(ValueError, match="no place in the journal"):
        journal.call(session, KEY)
    with pytest.raises(ValueError, match="no place in the journal"):
        journal.calls(session)
    with pytest.raises(ValueError, match="no place in the journal"):
        journal.forget(session)


def whole(call: CallRecord) -> bytes:
    call.write_outcome({"text": "whole"})
    return (call.path / "outcome").read_bytes()


DAMAGES: dict[str, Callable[[bytes], bytes]] = {
    "empty": lambda data: b"",
    "cut in the middle": lambda data: data[: len(data) // 2],
    "cut in the digest": lambda data: data[:10],
    "NUL bytes only": lambda data: b"\0" * len(data),
    "NUL bytes at the end": lambda data: data[:-6] + b"\0" * 6,
    "one bit": lambda data: data[:-4] + bytes([data[-4] ^ 1]) + data[-3:],
    "no text": lambda data: os.urandom(100),
    "JSON without digest": lambda data: b'{"text": "whole"}\n',
    "twice": lambda data: data + data,
}


@pytest.mark.parametrize("name", DAMAGES)
def test_a_damaged_outcome_counts_as_none_is_told_and_kept(
    journal: Journal, call: CallRecord, caplog: pytest.LogCaptureFixture, name: str
) -> None:
    call.write_intent({"tool": "Bash"})
    damaged = DAMAGES[name](whole(call))
    (call.path / "outcome").write_bytes(damaged)
    with caplog.at_level(logging.WARNING):
        assert call.read_outcome() is None
    assert "outcome.damaged-1" in caplog.text
    assert (call.damages(), (call.path / "outcome.damaged-1").read_bytes()) == (["outcome.damaged-1"], damaged)
    assert call.is_open()
    call.write_outcome({"text": "again"})
    assert call.read_outcome() == {"text": "again"}


@pytest.mark.parametrize("name", DAMAGES)
def test_a_damaged_intent_still_says_that_something_was_begun(call: CallRecord, name: str) -> None:
    call.write_intent({"tool": "Bash"})
    path = call.path / "intent"
    path.write_bytes(DAMAGES[name](path.read_bytes()))
    assert call.read_intent() == {"damaged": "intent.damaged-1"}
    assert call.read_intent() == {"damaged": "intent.damaged-1"}


def test_each_damage_is_kept(call: CallRecord) -> None:
    for _ in range(11):
        whole(call)
        (call.path / "outcome").write_bytes(b"broken")
        call.read_outcome()
    assert call.damages() == [f"outcome.damaged-{number}" for number in range(1, 12)]


def test_an_intent_is_there_when_its_writer_is_killed_right_after(call: CallRecord) -> None:
    process = child(call, "call.write_intent({'n': 1}); os.kill(os.getpid(), 9)")
    process.communicate(timeout=30)
    assert process.returncode == -signal.SIGKILL
    assert call.read_intent() == {"n": 1}


@pytest.mark.parametrize("trial", range(5))
def test_a_writer_killed_at_any_moment_leaves_the_old_record_or_the_new(
    call: CallRecord, chance: random.Random, trial: int
) -> None:
    call.write_outcome({"n": -1, "text": ""})
    process = child(call, "print(flush=True)\nfor n in range(10**6): call.write_outcome({'n': n, 'text': 'x' * 50000})")
    assert process.stdout
    process.stdout.readline()
    time.sleep(chance.uniform(0, 0.1))
    process.kill()
    process.communicate(timeout=30)
    record = call.read_outcome()
    assert record is not None
    assert (len(str(record["text"])) in {0, 50000}, call.damages()) == (True, [])


async def test_two_attempts_do_not_hold_a_call_at_once(call: CallRecord) -> None:
    held: list[str] = []

    async def attempt(name: str) -> None:
        async with asyncio.timeout(20), call.lock():
            held.append(name)
            await asyncio.sleep(0.05)
            held.append(name)

    await asyncio.gather(attempt("a"), attempt("b"))
    assert held in (["a", "a", "b", "b"], ["b", "b", "a", "a"])


async def test_the_lock_of_a_killed_attempt_is_free(call: CallRecord) -> None:
    process = child(call, "with call.try_lock() as is_ours: print(is_ours, flush=True); time.sleep(60)")
    assert process.stdout
    assert process.stdout.readline() == b"True\n"
    with call.try_lock() as is_ours:
        assert not is_ours
    process.kill()
    process.communicate(timeout=30)
    async with asyncio.timeout(20), call.lock():
        pass


async def test_an_error_inside_the_lock_frees_it(call: CallRecord) -> None:
    with pytest.raises(KeyError):
        async with call.lock():
            raise KeyError
    with call.try_lock() as is_ours:
        assert is_ours


def test_readers_at_once_put_a_damaged_record_aside_once(call: CallRecord) -> None:
    whole(call)
    (call.path / "outcome").write_bytes(b"broken")
    processes = [child(call, "print(call.read_outcome())") for _ in range(3)]
    said = {process.communicate(timeout=60)[0] for process in processes}
    assert (said, call.damages()) == ({b"None\n"}, ["outcome.damaged-1"])


def test_a_record_is_one_line_that_a_person_can_read(call: CallRecord) -> None:
    digest, text = whole(call).decode().split(" ", 1)
    assert (len(digest), json.loads(text)) == (64, {"text": "whole"})
