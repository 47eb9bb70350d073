"""What is wrong with the surroundings: one clear line, the documented exit code, and nothing lost."""

import json
import shutil
import socket
import subprocess
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.fakes.command_line import Cli, bash
from tests.fakes.leftovers import processes_of
from tests.fakes.stranger import OtherServer, home_for
from tests.fakes.waiting import eventually
from worker.engine_state import read_state

pytestmark = [pytest.mark.journey, pytest.mark.timeout(240)]

FIELDS = {"type", "subtype", "is_error", "reason", "exit_code", "session_id", "num_turns", "usage"}


@pytest.fixture(scope="module")
def started() -> Iterator[Cli]:
    with home_for(is_up=True) as home:
        yield Cli(home, home.root)


@pytest.fixture
def cli(started: Cli, tmp_path: Path) -> Cli:
    return replace(started, folder=tmp_path)


@pytest.fixture
def lone(tmp_path: Path) -> Iterator[Cli]:
    with home_for(is_up=False) as home:
        yield Cli(home, tmp_path)


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Path]:
    """A disk of 160 MB of its own."""
    folder = tmp_path / "disk"
    folder.mkdir()
    made = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=160m", "none", folder], capture_output=True, check=False)
    if made.returncode:
        pytest.skip("this user may not mount a small disk")
    yield folder
    subprocess.run(["umount", "-l", folder], check=True)


def told(ended: "subprocess.CompletedProcess[str]", code: int) -> dict[str, Any]:
    """The one object on standard output; the code is the same in it and of the process, and nothing is a traceback."""
    assert "Traceback" not in ended.stderr
    found: dict[str, Any] = json.loads(ended.stdout)
    assert set(found) >= FIELDS
    assert (ended.returncode, found["exit_code"], found["is_error"]) == (code, code, True), ended.stderr
    assert "\n" not in found["error"]
    return found


def test_no_key_is_exit_code_7_and_starts_nothing(lone: Cli) -> None:
    assert told(lone("run", "--output-format", "json", "hi"), 7)["reason"] == "no_key"
    plain = lone("run", "-p", "hi")
    assert (plain.returncode, plain.stdout, plain.stderr.count("\n")) == (7, "", 1)
    assert processes_of(lone.home.root) == []


@pytest.mark.parametrize("url", ["http://127.0.0.1:1", "http://no-such-host.invalid"])
def test_a_model_out_of_reach_is_exit_code_8_and_the_session_goes_on_later(cli: Cli, url: str) -> None:
    away = replace(cli, more={"ANTHROPIC_BASE_URL": url, "ANTHROPIC_API_KEY": "a-key"})
    found = told(away("run", "--max-retries", "2", "--output-format", "json", "hi"), 8)
    assert found["reason"] == "model_unreachable"
    assert "check the network" in found["error"]
    assert cli.json("show", found["session_id"], "--json")["state"] == "idle"


def test_a_model_that_comes_back_serves_the_same_session(cli: Cli) -> None:
    with OtherServer(key="a-key").serve() as other:
        url = other.url
    away = replace(cli, more={"ANTHROPIC_BASE_URL": url, "ANTHROPIC_API_KEY": "a-key"})
    session = told(away("run", "--max-retries", "1", "--output-format", "json", "first"), 8)["session_id"]
    with OtherServer(key="a-key", port=int(url.rpartition(":")[2])).serve() as other:
        again = away("send", session, "-p", "second")
        assert (again.returncode, again.stdout) == (0, "I am another server. \n"), again.stderr
        assert "first" in json.dumps(other.seen[0]["messages"])


def test_a_missing_folder_is_exit_code_2(cli: Cli) -> None:
    found = told(cli("run", "--cwd", "gone", "--model", cli.scenario(), "--output-format", "json", "hi"), 2)
    assert found["reason"] == "no_folder"


def test_a_folder_removed_while_the_session_runs_is_told_to_the_model(cli: Cli, tmp_path: Path) -> None:
    work = tmp_path / "work"
    work.mkdir()
    calls = [{"content": [{"tool": "Glob", "input": {"pattern": "*"}}, {"tool": "Grep", "input": {"pattern": "x"}}]},
             {"content": [{"tool": "Read", "input": {"file_path": str(work / "a")}}]}]  # fmt: skip
    model = cli.scenario(replies=[bash(f"rm -r {work}"), bash("ls"), *calls, "Done."])
    ended = cli("run", "--cwd", str(work), "--model", model, "--allowed-tools", "Bash", "-p", "go")
    assert (ended.returncode, ended.stdout) == (0, "Done.\n"), ended.stderr


def test_a_folder_that_cannot_be_written_is_told_to_the_model(cli: Cli, disk: Path) -> None:
    (disk / "file").write_text("old")
    subprocess.run(["mount", "-o", "remount,ro", disk], check=True)
    edit = {"file_path": str(disk / "file"), "old_string": "old", "new_string": "new"}
    calls = [{"tool": "Read", "input": {"file_path": str(disk / "file")}}, {"tool": "Edit", "input": edit},
             {"tool": "Write", "input": {"file_path": str(disk / "new"), "content": "x"}}]  # fmt: skip
    model = cli.scenario(replies=[{"content": calls}, bash("cat file; touch x"), "Done."])
    words = ("--cwd", str(disk), "--model", model, "--allowed-tools", "Bash,Edit,Write")
    ended = cli("run", *words, "--output-format", "stream-json", "go")
    assert ended.returncode == 0, ended.stderr
    assert ended.stdout.count("cannot be used: Read-only file system") == 2
    assert "touch: cannot touch" in ended.stdout


@pytest.mark.parametrize("words", [["ls"], ["approvals"], ["show", "x"], ["send", "x", "hi"], ["watch", "x"]])
def test_a_server_that_is_not_there_is_exit_code_5(lone: Cli, words: list[str]) -> None:
    lone.more["TEMPORAL_ADDRESS"] = "127.0.0.1:1"
    ended = lone(*words)
    assert (ended.returncode, ended.stdout, ended.stderr.count("\n")) == (5, "", 1), ended.stderr
    assert "127.0.0.1:1" in ended.stderr
    assert "TEMPORAL_ADDRESS" in ended.stderr


def test_a_worker_without_a_server_is_exit_code_5(lone: Cli) -> None:
    lone.more["TEMPORAL_ADDRESS"] = "no-such-host.invalid:7233"
    ended = lone("worker")
    assert (ended.returncode, ended.stderr.count("\n")) == (5, 1), ended.stderr


def test_ports_that_others_took_are_exchanged_and_told(lone: Cli) -> None:
    assert lone("up").returncode == 0
    ports = read_state(lone.home).ports
    lone("down")
    with socket.create_server(("127.0.0.1", ports.grpc)), socket.create_server(("127.0.0.1", ports.http)):
        ended = lone("run", "--model", lone.scenario(replies=["Done."]), "-p", "hi")
        assert (ended.returncode, ended.stdout) == (0, "Done.\n"), ended.stderr
        assert f"port {ports.grpc} was taken by another program" in lone("status").stdout


def test_a_full_disk_starts_nothing_and_is_exit_code_5(disk: Path, tmp_path: Path) -> None:
    _fill(disk, leave=1_000_000)
    with home_for(is_up=False, at=disk / "home") as home:
        cli = Cli(home, tmp_path)
        found = told(cli("run", "--model", cli.scenario(replies=["x"]), "--output-format", "json", "hi"), 5)
        assert (found["reason"], "is full" in found["error"]) == ("disk_full", True)
        assert processes_of(home.root) == []


def test_a_disk_that_fills_while_a_command_runs_costs_nothing_but_time(disk: Path, tmp_path: Path) -> None:
    with home_for(is_up=True, at=disk / "home") as home:
        cli = Cli(home, tmp_path)
        model = cli.scenario(replies=[bash(f"touch {tmp_path}/began; sleep 3; echo once >> {tmp_path}/log"), "Done."])
        run = cli.start("run", "--model", model, "--allowed-tools", "Bash", "--session-id", "full", "-p", "go")
        eventually((tmp_path / "began").exists, 60)
        big = _fill(disk)
        refused = cli("send", "full", "--output-format", "json", "more")
        assert "disk" in told(refused, refused.returncode)["error"]
        assert refused.returncode in {1, 5}
        eventually((tmp_path / "log").exists, 60)
        big.unlink()
        said, complained = run.communicate(timeout=150)
        assert (run.returncode, said) == (0, "Done.\n"), complained
        assert (tmp_path / "log").read_text() == "once\n"
        assert cli("audit", "full", "--verify").returncode == 0


def _fill(disk: Path, leave: int = 0) -> Path:
    big = disk / "big"
    with big.open("wb") as file:
        try:
            while shutil.disk_usage(disk).free > leave:
                file.write(bytes(min(1_000_000, max(4096, shutil.disk_usage(disk).free - leave))))
                file.flush()
        except OSError:
            pass
    return big
