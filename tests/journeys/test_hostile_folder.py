"""A folder that holds packages, modules and start-up files of our names changes nothing, even on PYTHONPATH."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.fakes.command_line import bash, environment
from tests.fakes.stranger import home_for
from tests.fakes.waiting import eventually
from worker.engine import Home

pytestmark = [pytest.mark.journey, pytest.mark.timeout(180)]

PROGRAM = Path(sys.executable).parent / "perdure"
PACKAGES = ("workflows", "activities", "worker", "cli", "rich", "typer")
MODULES = ("temporalio", "typing", "json", "sitecustomize", "usercustomize", "anthropic", "pydantic", "subprocess")
PATHS = {"none": {}, "dot": {"PYTHONPATH": "."}, "empty parts": {"PYTHONPATH": ":"}, "home": {"PYTHONHOME": "."}}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Whatever of it is run leaves a line in `owned`."""
    hostile = tmp_path / "hostile"
    trap = f"import os\nos.close(os.open({str(tmp_path / 'owned')!r}, os.O_CREAT))\nraise SystemExit(66)\n"
    for package in PACKAGES:
        (hostile / package).mkdir(parents=True)
        (hostile / package / "__init__.py").write_text(trap)
        (hostile / package / "__main__.py").write_text(trap)
    for module in MODULES:
        (hostile / f"{module}.py").write_text(trap)
    (hostile / "hostile.pth").write_text(trap.replace("\n", ";") + "\n")
    for program in ("temporal", "rg", "python", "python3"):
        (hostile / program).write_text(f"#!/bin/sh\ntouch {tmp_path / 'owned'}\n")
        (hostile / program).chmod(0o700)
    return hostile


@pytest.fixture
def home() -> Iterator[Home]:
    with home_for(is_up=False) as home:
        yield home


def test_the_installed_command_can_be_called_through_a_link(home: Home, tmp_path: Path) -> None:
    (tmp_path / "p").symlink_to(PROGRAM)
    told = subprocess.run([tmp_path / "p", "--version"], capture_output=True, text=True, check=True, timeout=60)
    assert told.stdout.startswith("perdure ")


def test_sessions_engine_and_a_new_worker_run_our_code_alone(home: Home, folder: Path, tmp_path: Path) -> None:
    scenario = tmp_path / "scenario.json"
    calls = [bash("echo ran"), {"content": [{"tool": "Grep", "input": {"pattern": "SystemExit"}}]}, "Done."]
    scenario.write_text(json.dumps({"replies": calls}))

    def call(*words: str, **more: str) -> "subprocess.CompletedProcess[str]":
        clean = environment(home.root, **{"PATH": f".:{os.environ['PATH']}", **more})
        if "PYTHONPATH" not in more:
            del clean["PYTHONPATH"]
        return subprocess.run(
            [PROGRAM, *words], cwd=folder, env=clean, capture_output=True, text=True, check=False, timeout=90, input=""
        )

    def run(session: str, **more: str) -> None:
        words = ("run", "--model", f"rehearsal:{scenario}", "--allowed-tools", "Bash", "--session-id", session)
        ended = call(*words, "-p", "hi", **more)
        assert (ended.returncode, ended.stdout) == (0, "Done.\n"), ended.stderr

    run("first", **PATHS["dot"])
    os.kill(json.loads(call("status", "--json").stdout)["worker"]["pid"], signal.SIGKILL)
    eventually(lambda: json.loads(call("status", "--json").stdout)["is_polling"], 60, "another worker")
    for number, more in enumerate(PATHS.values()):
        run(f"again-{number}", **more)
        assert call("ls", **more).returncode == 0
        assert call("audit", f"again-{number}", "--verify", **more).returncode == 0
        assert call("doctor", **more).returncode == 0
    assert call("down").stdout == "The engine is down.\n"
    assert not (tmp_path / "owned").exists()
