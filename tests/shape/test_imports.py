"""The import contracts catch what they are there for."""

import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from tests.shape.tree import PACKAGES, ROOT

LINTER = Path(sys.executable).with_name("lint-imports")
RUFF = Path(sys.executable).with_name("ruff")
CLOCK = "import datetime\n\nNOW = datetime.datetime.now(datetime.UTC)\n"

FAULTS = {
    "Packages: cli knows worker knows activities knows workflows": {
        "activities/stores/planted_upward.py": "import worker.planted_target",
        "worker/planted_target.py": "",
    },
    "Workflows: definitions over steps over core over contracts": {
        "workflows/contracts/planted_upward.py": "import workflows.core.planted_target",
        "workflows/core/planted_target.py": "",
    },
    "Contracts and core never touch Temporal": {"workflows/core/planted_engine.py": "import temporalio.workflow"},
    "Workflows never touch the world": {"workflows/steps/planted_world.py": "import os"},
    "Activities see contracts and core, never workflow code": {
        "activities/model/planted_steps.py": "import workflows.steps.planted_world"
    },
    "Activities: calls over tools over services over stores": {
        "activities/stores/planted_tool.py": "import activities.tools.planted_one"
    },
    "Tools do not know each other": {
        "activities/tools/planted_one.py": "import activities.tools.planted_two",
        "activities/tools/planted_two.py": "",
    },
    "Only the gateway knows workflow classes; no command imports activities": {
        "cli/commands/planted_deed.py": "import activities.tools.planted_two"
    },
    "Cli: commands over display and gateway, displays never talk": {
        "cli/display/planted_command.py": "import cli.commands.planted_target",
        "cli/commands/planted_target.py": "",
    },
    "No circles, at any depth": {
        "worker/planted_left.py": "import worker.planted_right",
        "worker/planted_right.py": "import worker.planted_left",
    },
}


@pytest.mark.journey
def test_every_import_contract_catches_its_planted_fault(tmp_path: Path) -> None:
    for package in PACKAGES:
        shutil.copytree(ROOT / package, tmp_path / package, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    for files in FAULTS.values():
        for name, source in files.items():
            (tmp_path / name).write_text(f'"""Planted."""\n\n{source}\n', encoding="utf-8")

    told = subprocess.run(
        [LINTER, "--no-cache", "--no-logo"], cwd=tmp_path, capture_output=True, text=True, check=False
    )

    assert told.returncode == 1, told.stdout + told.stderr
    assert set(re.findall(r"^(.+?) BROKEN\b", told.stdout, re.MULTILINE)) == set(FAULTS)


def test_every_import_contract_has_a_planted_fault() -> None:
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    assert {contract["name"] for contract in settings["tool"]["importlinter"]["contracts"]} == set(FAULTS)


@pytest.mark.parametrize(("module", "refused"), [("workflows/core/planted.py", True), ("worker/planted.py", False)])
def test_replayed_code_may_not_ask_for_the_time(module: str, refused: bool) -> None:
    command = [str(RUFF), "check", "--select", "TID251", "--stdin-filename", module, "-"]
    told = subprocess.run(command, cwd=ROOT, input=CLOCK, capture_output=True, text=True, check=False)
    assert ("workflow.now()" in told.stdout) is refused
