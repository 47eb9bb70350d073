"""A command that an agent runs is told from a person, however it hides."""

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from activities.processes.spawn import LAUNCH

ASK = "from cli.person import is_agents_command; print(is_agents_command())"


def answer(command: list[str], **more: str) -> str:
    kept = {name: value for name, value in os.environ.items() if name != "PERDURE_CALL"}
    return subprocess.run(command, env={**kept, "PYTHONPATH": str(Path.cwd()), **more}, capture_output=True, text=True,
                          check=True, timeout=30).stdout.strip()  # fmt: skip


def test_a_person_is_none() -> None:
    assert answer([sys.executable, "-c", ASK]) == "False"


def test_a_command_that_carries_a_calls_tag_is_one() -> None:
    assert answer([sys.executable, "-c", ASK], PERDURE_CALL="s:1.0") == "True"


def test_a_command_that_dropped_the_tag_is_known_by_whoever_started_it() -> None:
    script = f"env -u PERDURE_CALL {sys.executable} -c '{ASK}'"
    assert answer(["sh", "-c", f"{script}; true"], PERDURE_CALL="s:1.0") == "True"


@pytest.mark.journey
@pytest.mark.skipif(sys.platform != "linux", reason="only Linux lets a process adopt its descendants")
def test_a_command_that_detached_itself_is_known_by_the_runner_that_adopted_it() -> None:
    # The runner is a subreaper: what loses its parent becomes its child. Its words are those of a real one.
    runner = (
        "import ctypes, subprocess, sys, os;"
        "ctypes.CDLL(None).prctl(36, 1, 0, 0, 0);"
        "subprocess.run(['sh', '-c', sys.argv[1]], check=True);"
        f"os.wait() # {LAUNCH}"
    )
    inner = f"(sleep 0.3; exec env -i PYTHONPATH={Path.cwd()} {sys.executable} -c '{ASK}') &"
    started = time.monotonic()
    assert answer([sys.executable, "-c", runner, inner]) == "True"
    assert time.monotonic() - started < 25
