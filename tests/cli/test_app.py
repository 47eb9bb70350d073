"""The command line as a program: quick where it must be, one line and an exit code for every mistake."""

import json
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from tests.fakes.command_line import PROGRAM, environment

HEAVY = {"pydantic", "temporalio", "anthropic", "rich.console"}


def perdure(home: Path, *words: str, **more: str) -> "subprocess.CompletedProcess[str]":
    return subprocess.run([*PROGRAM, *words], env=environment(home, **more), capture_output=True, text=True,
                          timeout=60, check=False, input="", cwd=home.parent)  # fmt: skip


def imported(home: Path, *words: str) -> set[str]:
    ended = subprocess.run([sys.executable, "-X", "importtime", *PROGRAM[1:], *words], env=environment(home),
                           capture_output=True, text=True, timeout=60, check=False)  # fmt: skip
    return {line.rpartition("|")[2].strip() for line in ended.stderr.splitlines() if line.startswith("import time")}


def test_the_version_is_told_before_typer_is_imported(tmp_path: Path) -> None:
    assert not imported(tmp_path, "--version") & {*HEAVY, "typer", "json"}
    assert perdure(tmp_path, "--version").stdout.startswith("perdure 0.")


def test_help_imports_no_command(tmp_path: Path) -> None:
    found = imported(tmp_path, "--help")
    assert not found & HEAVY
    assert not [name for name in found if name.startswith(("cli.commands.", "worker", "activities"))]


def test_listing_sessions_needs_neither_temporals_client_nor_pydantic(tmp_path: Path) -> None:
    assert not imported(tmp_path, "ls") & HEAVY


def test_help_names_every_command_under_a_heading(tmp_path: Path) -> None:
    told = perdure(tmp_path, "--help").stdout
    for word in ("Work:", "Look:", "Decide:", "Engine:", "  run ", "  approve ", "  doctor ", "Exit codes:"):
        assert word in told


@pytest.mark.parametrize(
    "words",
    [
        ["frob"],
        ["ls", "--nope"],
        ["ls", "--state", "odd"],
        pytest.param(["run", "--max-turns", "x", "p"], marks=pytest.mark.journey),
    ],
)
def test_a_wrong_call_is_one_line_and_exit_code_2(tmp_path: Path, words: list[str]) -> None:
    ended = perdure(tmp_path, *words)
    assert (ended.returncode, ended.stdout, ended.stderr.count("\n")) == (2, "", 1)


@pytest.mark.journey
def test_without_a_key_nothing_is_started(tmp_path: Path) -> None:
    home = tmp_path / "home"
    ended = perdure(home, "run", "hi")
    assert (ended.returncode, ended.stderr.count("\n")) == (7, 1)
    assert "perdure demo" in ended.stderr
    assert not home.exists()


def test_without_an_engine_a_list_is_one_line_and_exit_code_5(tmp_path: Path) -> None:
    ended = perdure(tmp_path, "ls")
    assert (ended.returncode, ended.stdout, ended.stderr.count("\n")) == (5, "", 1)


@pytest.mark.journey
def test_a_server_that_is_not_there_is_exit_code_5(tmp_path: Path) -> None:
    ended = perdure(tmp_path, "ls", TEMPORAL_ADDRESS="127.0.0.1:9")
    assert (ended.returncode, ended.stderr.count("\n")) == (5, 1)


@pytest.mark.journey
def test_where_json_was_asked_for_an_error_is_an_object_on_stdout(tmp_path: Path) -> None:
    ended = perdure(tmp_path, "run", "--output-format", "json", "hi")
    told = json.loads(ended.stdout)
    assert (ended.returncode, told["exit_code"], told["reason"], told["is_error"]) == (7, 7, "no_key", True)
    assert "result" not in told


@pytest.mark.parametrize(
    "act",
    [
        ["down"],
        *(pytest.param([act, "s"], marks=pytest.mark.journey) for act in ("approve", "deny", "close")),
    ],
)
def test_a_persons_act_is_refused_to_an_agents_command(tmp_path: Path, act: list[str]) -> None:
    ended = perdure(tmp_path, *act, PERDURE_CALL="s:1.0")
    assert (ended.returncode, ended.stderr.count("\n")) == (3, 1)


@pytest.mark.journey
def test_an_agents_command_starts_no_session_with_more_rights(tmp_path: Path) -> None:
    ended = perdure(tmp_path, "run", "--permission-mode", "bypassPermissions", "hi", PERDURE_CALL="s:1.0")
    assert ended.returncode == 3


def test_a_fault_of_ours_is_one_line_and_shows_itself_on_request(tmp_path: Path) -> None:
    broken = "import sys, cli.commands_on_demand as c; del c.program; from cli.app import main; sys.exit(main())"
    command = [sys.executable, "-c", broken, "ls"]
    ended = subprocess.run(command, env=environment(tmp_path), capture_output=True, text=True, timeout=60, check=False)
    assert (ended.returncode, ended.stderr.count("\n")) == (1, 1)
    assert "PERDURE_DEBUG" in ended.stderr


@pytest.mark.journey
def test_an_output_that_takes_no_more_is_one_line(tmp_path: Path) -> None:
    with Path("/dev/full").open("w") as full:
        ended = subprocess.run([*PROGRAM, "doctor"], env=environment(tmp_path), stdout=full, stderr=subprocess.PIPE,
                               text=True, timeout=60, check=False)  # fmt: skip
    assert (ended.returncode, ended.stderr.count("\n")) == (1, 1)


@pytest.mark.journey
def test_json_that_cannot_be_written_is_one_line_too(tmp_path: Path) -> None:
    words = [*PROGRAM, "run", "--output-format", "json", "hi"]
    with Path("/dev/full").open("w") as full:
        ended = subprocess.run(words, env=environment(tmp_path), stdout=full, stderr=subprocess.PIPE, text=True,
                               timeout=60, check=False, stdin=subprocess.DEVNULL)  # fmt: skip
    assert (ended.returncode, ended.stderr.count("\n")) == (7, 1)


@pytest.mark.parametrize(
    ("words", "closed", "code"),
    [
        ("--help", ">&-", 0),
        ("settings", ">&-", 0),
        ("permissions check --jsonl -", "<&-", 0),
        ("ls", ">&-", 5),
        ("ls", "2>&-", 5),
        ("ls --json", "<&- >&- 2>&-", 5),
    ],
)
def test_a_stream_that_is_closed_changes_no_exit_code(tmp_path: Path, words: str, closed: str, code: int) -> None:
    command = ["sh", "-c", f"{shlex.join(PROGRAM)} {words} {closed}"]
    ended = subprocess.run(command, env=environment(tmp_path), capture_output=True, text=True, timeout=60, check=False)
    assert (ended.returncode, "fault" in ended.stdout + ended.stderr) == (code, False)


def test_a_folder_that_is_gone_is_told(tmp_path: Path) -> None:
    gone = tmp_path / "gone"
    gone.mkdir()
    piped = ["sh", "-c", f"rmdir {shlex.quote(str(gone))}; {shlex.join(PROGRAM)} settings"]
    ended = subprocess.run(piped, env=environment(tmp_path), capture_output=True, text=True, timeout=60, check=False,
                           cwd=gone)  # fmt: skip
    assert ended.returncode == 2
    assert "folder that you are in is gone" in ended.stderr


def test_a_reader_that_leaves_is_no_fault(tmp_path: Path) -> None:
    piped = ["sh", "-c", f"{shlex.join(PROGRAM)} --help | true"]
    ended = subprocess.run(
        piped, env=environment(tmp_path), capture_output=True, text=True, timeout=60, check=False
    )  # fmt: skip
    assert ended.stderr == ""
