"""perdure run against a real engine and a scripted model."""

import json
import signal
import subprocess
from pathlib import Path
from typing import Any

import psutil
import pytest

from tests.fakes.command_line import Cli, bash
from tests.fakes.waiting import eventually

pytestmark = [pytest.mark.journey, pytest.mark.timeout(180)]


def result(ended: "subprocess.CompletedProcess[str]") -> dict[str, Any]:
    found: dict[str, Any] = json.loads(ended.stdout)
    return found


def test_the_answer_is_all_that_print_writes_to_stdout(cli: Cli) -> None:
    ended = cli("run", "--model", cli.scenario(replies=["Forty-two."]), "-p", "what is it?")
    assert (ended.returncode, ended.stdout) == (0, "Forty-two.\n")


def test_a_prompt_may_come_on_standard_input_and_be_three_megabytes(cli: Cli) -> None:
    ended = cli(
        "run",
        "--model",
        cli.scenario(replies=["Read."], limits={"window": 10_000_000}),
        "--output-format",
        "json",
        stdin="x" * 3_000_000,
    )
    assert (ended.returncode, result(ended)["result"]) == (0, "Read.")


def test_every_line_of_stream_json_is_one_object_and_the_last_is_the_result(cli: Cli) -> None:
    ended = cli("run", "--model", cli.scenario(replies=["Hi."]), "--output-format", "stream-json", "hi")
    lines = [json.loads(line) for line in ended.stdout.splitlines()]
    assert [line["type"] for line in lines if line["type"] != "system"] == ["user", "assistant", "result"]


ENDINGS = [
    pytest.param({"replies": ["ok"]}, [], 0, "done", id="normal end"),
    pytest.param({"replies": [{"content": []}], "fallback": {"content": []}}, [], 1, "empty_answer", id="empty text"),
    pytest.param({"replies": [bash("make"), "sorry"]}, ["-p"], 3, "permission_denied", id="denied last"),
    pytest.param({"fallback": bash("echo {n}")}, ["--max-turns", "2", "--allowed-tools", "Bash"], 4, "max_turns",
                 id="exchange limit"),
    pytest.param({"fallback": bash("echo {n}")}, ["--max-budget-usd", "0.0001", "--allowed-tools", "Bash"], 6,
                 "max_budget", id="budget"),
]  # fmt: skip


for status, ending in ((401, (7, "unauthorized")), (400, (7, "request_refused")), (529, (8, "model_overloaded"))):
    refused = {"content": "never", "faults": [{"status": status, "message": "so it is"}] * 9}
    ENDINGS.append(pytest.param({"replies": [refused]}, ["--max-retries", "2"], *ending, id=str(status)))


@pytest.mark.parametrize(("scenario", "words", "code", "reason"), ENDINGS)
def test_each_ending_has_its_exit_code_and_reason(
    cli: Cli, scenario: dict[str, Any], words: list[str], code: int, reason: str
) -> None:
    ended = cli("run", "--model", cli.scenario(**scenario), "--output-format", "json", *words, "go")
    told = result(ended)
    assert (ended.returncode, told["exit_code"], told["reason"]) == (code, code, reason)
    assert ("result" in told) == (code == 0)


def test_ctrl_c_leaves_the_session_running_and_says_how_to_come_back(cli: Cli) -> None:
    model = cli.scenario(replies=[bash("sleep 3"), "Done."])
    process = cli.start("run", "--model", model, "--allowed-tools", "Bash", "--session-id", "left-alone", "go")
    eventually(lambda: cli("ls").stdout.find("left-alone") >= 0, 30)
    process.send_signal(signal.SIGINT)
    _, told = process.communicate(timeout=30)
    assert process.returncode == 9
    assert "perdure watch left-alone" in told
    cli.await_state("left-alone", "idle")


def test_ctrl_c_twice_ends_the_turn_and_its_command(cli: Cli) -> None:
    model = cli.scenario(replies=[bash("sleep 61.5"), "Done."])
    process = cli.start("run", "--model", model, "--allowed-tools", "Bash", "--session-id", "twice", "go")
    eventually(lambda: _runs("61.5"), 30)
    process.send_signal(signal.SIGINT)
    eventually(lambda: "Ctrl-C again" in (process.stderr.readline() if process.stderr else ""), 10)
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=30)
    assert process.returncode == 130
    eventually(lambda: not _runs("61.5"), 10)


def test_a_terminated_watcher_leaves_the_session_running(cli: Cli) -> None:
    model = cli.scenario(replies=[bash("sleep 2"), "Done."])
    process = cli.start("run", "--model", model, "--allowed-tools", "Bash", "--session-id", "ended", "go")
    eventually(lambda: cli("ls").stdout.find("ended") >= 0, 30)
    process.terminate()
    process.communicate(timeout=30)
    assert process.returncode == 143
    cli.await_state("ended", "idle")


def test_an_id_that_is_taken_is_told_with_what_to_do(cli: Cli) -> None:
    ended = cli("run", "--model", cli.scenario(replies=["ok"]), "--session-id", "taken", "-p", "hi")
    assert ended.returncode == 0
    again = cli("run", "--model", cli.scenario(replies=["ok"]), "--session-id", "taken", "-p", "hi")
    assert again.returncode == 2
    assert "perdure send taken" in again.stderr


def test_a_detached_run_says_what_will_be_denied_and_prints_only_the_id(cli: Cli) -> None:
    ended = cli("run", "--model", cli.scenario(replies=["ok"]), "--detach", "--session-id", "alone", "hi")
    assert (ended.returncode, ended.stdout) == (0, "alone\n")
    assert "is denied" in ended.stderr
    assert "--unattended wait" in ended.stderr


def _runs(seconds: str) -> bool:
    return any(_words(process) == ["sleep", seconds] for process in psutil.process_iter())


def _words(process: psutil.Process) -> list[str]:
    try:
        return process.cmdline()
    except psutil.Error:
        return []


def test_an_added_folder_is_inside_for_file_tools_and_for_commands(cli: Cli, tmp_path: Path) -> None:
    cli.folder = tmp_path / "work"
    for name in ("work", "other", "third"):
        (tmp_path / name).mkdir()
    writes = [
        {"content": [{"tool": "Write", "input": {"file_path": str(tmp_path / name / "made"), "content": "x"}}]}
        for name in ("other", "third")
    ]
    copies = [bash(f"cp {tmp_path}/{name}/made {tmp_path}/{name}/copy") for name in ("other",)]
    model = cli.scenario(replies=[*writes, *copies, "Done."])
    ended = cli(
        "run", "--model", model, "--permission-mode", "acceptEdits", "--add-dir", str(tmp_path / "other"), "-p", "x"
    )
    assert ended.stdout == "Done.\n", ended.stderr
    assert sorted(path.name for path in (tmp_path / "other").iterdir()) == ["copy", "made"]
    assert list((tmp_path / "third").iterdir()) == []
