"""Tests of perdure audit, as a person calls it: text, JSON, exit codes, damage, exports."""

import asyncio
import hashlib
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from activities.stores.home import Home
from activities.stores.index import note_head
from activities.stores.objects import FolderStore
from activities.transcript import Transcript
from tests.fakes.recorded import SESSION, Recorded, full_session

pytestmark = pytest.mark.journey  # each starts a process or two

OLD = hashlib.sha256(b"SECRET old file").hexdigest()[:12]
"""The file before its change, as `full_session` has it."""

PROGRAM = "import sys; from cli.app import main; sys.exit(main())"


@pytest.fixture
def kept(tmp_path: Path) -> tuple[Home, Recorded]:
    """A home with one whole session and no engine."""
    home = Home(tmp_path / "home")
    home.ensure()
    recorded = asyncio.run(full_session(FolderStore(home.objects)))
    names = asyncio.run(Transcript(recorded.store).digests(recorded.head))
    for n in (0, 8, 16, len(names) - 1):
        note_head(home, SESSION, names[n], "2026-01-01T00:00:00.000Z", "test")
    return home, recorded


def perdure(home: Home | None, *words: str | Path) -> subprocess.CompletedProcess[str]:
    env = {"PATH": os.environ["PATH"], "HOME": "/nowhere", "PERDURE_HOME": str(home.root if home else "/proc/none")}
    command = [sys.executable, "-c", PROGRAM, "audit", *map(str, words)]
    return subprocess.run(command, env=env, capture_output=True, text=True, check=False, timeout=60)


def flip(home: Home, digest: str) -> None:
    path = home.objects / digest[:2] / digest[2:]
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    path.write_bytes(data)


def rows(done: subprocess.CompletedProcess[str]) -> tuple[list[dict[str, object]], dict[str, object]]:
    lines = [json.loads(line) for line in done.stdout.splitlines()]
    return lines[:-1], lines[-1]


def test_a_session_is_verified_without_an_engine(kept: tuple[Home, Recorded]) -> None:
    home, _recorded = kept
    done = perdure(home, SESSION, "--verify")
    assert done.returncode == 0, done.stdout + done.stderr
    assert re.search(r"verified: 4\d entries, \d+ objects, 1 history$", done.stdout.strip())
    assert "note: read without the engine" in done.stdout
    assert done.stderr == ""


def test_text_tells_denials_first_and_each_step_with_what_the_crash_did(kept: tuple[Home, Recorded]) -> None:
    home, _recorded = kept
    shown = perdure(home, SESSION).stdout
    assert shown.splitlines()[1].startswith("1 denied call, ")
    for part in (
        "person: fix it",
        "usage not known; cost not known",
        "allow by person key, answered by ada (signature valid)",
        "a crash hit it: the command ran on and was found again",
        "deny by rule Bash(rm:*): never",
        f"write /w/a.py  {OLD} → aaaaaaaaaaaa",
        "16 from cache, 32 to cache",
        "model-a, set aside",
        "2 calls whose usage is not known",
    ):
        assert part in shown, part


def test_json_gives_one_object_a_step_and_totals_that_are_their_sums(kept: tuple[Home, Recorded]) -> None:
    home, recorded = kept
    done = perdure(home, SESSION, "--json", "--verify")
    steps, last = rows(done)
    asked = [step for step in steps if step["kind"] == "exchange"]
    totals = last["totals"]
    assert isinstance(totals, dict)
    assert totals["cost"] == sum(int(str(step["cost"])) for step in asked if step["cost"] is not None)
    usages = [step["usage"] for step in asked if isinstance(step["usage"], dict)]
    assert totals["usage"]["output"] == sum(usage["output"] for usage in usages)
    assert len(usages) == len(asked) - 1
    assert (last["head"], last["verified"], last["problems"]) == (recorded.head, True, [])


def test_the_beginning_of_an_id_is_enough(kept: tuple[Home, Recorded]) -> None:
    home, _recorded = kept
    assert f"session {SESSION}" in perdure(home, SESSION[:4]).stdout


def test_damage_is_told_with_session_entry_and_digest_and_the_rest_is_shown(kept: tuple[Home, Recorded]) -> None:
    home, recorded = kept
    name = asyncio.run(Transcript(recorded.store).digests(recorded.head))[5]
    flip(home, name)
    for words in ((), ("--verify",)):
        done = perdure(home, SESSION, *words)
        assert done.returncode == 1
        assert re.search(rf"^problem: session {SESSION}, entry 5: .*{name}", done.stdout, re.MULTILINE)
        assert "1 problem; " in done.stdout
        assert "person: fix it" in done.stdout
        assert "Traceback" not in done.stdout + done.stderr


@pytest.mark.parametrize(
    ("line", "why"),
    [
        (b'{"session":"recorded","hea', "torn last line: not JSON"),
        (b"\0" * 40, "40 NUL bytes"),
        (b"\n", "blank line"),
        (b'{"session":"recorded"}\n', "names no head"),
        (b'{"session":"other","head":"' + b"a" * 64 + b'"}\n', "names no head"),
    ],
)
def test_a_damaged_line_of_the_index_is_told_and_locks_nobody_out(
    kept: tuple[Home, Recorded], line: bytes, why: str
) -> None:
    home, recorded = kept
    with (home.sessions / f"{SESSION}.ndjson").open("ab") as file:
        file.write(line)
    done = perdure(home, SESSION, "--json", "--verify")
    steps, last = rows(done)
    assert (done.returncode, last["head"]) == (0, recorded.head)
    assert why in str([step for step in steps if step["kind"] == "damaged"])


def test_a_head_whose_object_is_gone_gives_way_to_the_one_before_and_is_told(kept: tuple[Home, Recorded]) -> None:
    home, recorded = kept
    (home.objects / recorded.head[:2] / recorded.head[2:]).unlink()
    done = perdure(home, SESSION, "--json")
    steps, last = rows(done)
    assert done.returncode == 1
    assert max(int(str(step["n"])) for step in steps) == 16
    assert recorded.head in str(last["problems"])


def test_an_export_is_audited_without_a_home(kept: tuple[Home, Recorded], tmp_path: Path) -> None:
    home, _recorded = kept
    done = perdure(home, SESSION, "--export", tmp_path / "file")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "Left out: what 1 file held" in done.stdout
    here, there = perdure(home, SESSION, "--json"), perdure(None, "--from", tmp_path / "file", "--json", "--verify")
    assert there.returncode == 0, there.stdout + there.stderr
    assert rows(there)[0] == rows(here)[0]


@pytest.mark.parametrize(
    ("words", "code", "why"),
    [
        (["unknown"], 2, "Nothing of session unknown is kept here"),
        (["--verify"], 2, "Name one session, or an export"),
        (["recorded", "--from", "x"], 2, "Name one session, or an export"),
        (["No such id"], 2, "is no session's id"),
        (["--from", "missing"], 2, "There is no file missing"),
        (["recorded", "--export", "/"], 2, "/ is a folder"),
        (["recorded", "--export", "/proc/x"], 1, "cannot be used"),
    ],
)
def test_what_cannot_be_done_is_told_in_one_line(
    kept: tuple[Home, Recorded], words: list[str], code: int, why: str
) -> None:
    done = perdure(kept[0], *words)
    assert (done.returncode, done.stdout) == (code, "")
    assert why in done.stderr
    assert done.stderr.count("\n") == 1


def test_what_steers_a_terminal_is_never_printed(kept: tuple[Home, Recorded]) -> None:
    home, recorded = kept
    asyncio.run(recorded.ask(prompt="\x1b]0;owned\x07\x1b[2Jhi"))
    note_head(home, SESSION, recorded.head, "2026-01-01T00:00:00.000Z", "test")
    done = perdure(home, SESSION)
    assert "person: ␛]0;owned␇␛[2Jhi" in done.stdout
    assert "\x1b" not in done.stdout
