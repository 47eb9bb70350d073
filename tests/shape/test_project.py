"""The files around the code: commands, lock file, top level, fleet."""

import re
import shutil
import subprocess
import tomllib

import pytest
import yaml

from tests.shape.tree import ROOT

COMMANDS = ["setup", "demo", "test", "check", "fix", "bench", "soak", "map"]
TOP_LEVEL = {
    *("workflows", "activities", "worker", "cli", "tests", "docs", ".ci"),
    *("Makefile", "README.md", "CHANGELOG.md", "CONTRIBUTING.md", "LICENSE", "pyproject.toml", "requirements.lock"),
    *("docker-compose.yml", ".gitignore"),
}


def test_make_alone_lists_every_command() -> None:
    told = subprocess.run(["make", "--no-print-directory"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    assert [name for name in COMMANDS if f"make {name} " not in told] == []


def test_the_top_level_holds_what_the_design_names() -> None:
    listed = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    assert {name.partition("/")[0] for name in listed.splitlines()} - TOP_LEVEL == set()


def test_the_lock_file_names_every_dependency_by_hash_and_no_host() -> None:
    lock = (ROOT / "requirements.lock").read_text(encoding="utf-8")
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    wanted = [*project["project"]["dependencies"], *project["dependency-groups"]["dev"]]
    locked = {_plain(name) for name in re.findall(r"^([\w.-]+)==", lock, re.MULTILINE)}
    assert {_plain(re.split(r"[>=<;\s]", line)[0]) for line in wanted} - locked == set()
    assert "://" not in lock
    assert lock.count("--hash=sha256:") >= len(locked)


def test_the_fleet_file_names_server_database_ui_store_and_worker() -> None:
    fleet = yaml.safe_load((ROOT / "docker-compose.yml").read_text(encoding="utf-8"))
    assert {"temporal", "postgresql", "ui", "store", "worker"} <= set(fleet["services"])


@pytest.mark.journey
def test_the_fleet_file_is_valid_to_docker_compose() -> None:
    compose = _compose()
    if compose is None:
        pytest.skip("the docker compose client is not on this machine")
    told = _run([*compose, "--file", str(ROOT / "docker-compose.yml"), "config", "--quiet"])
    assert (told.returncode, told.stderr) == (0, "")


def _compose() -> list[str] | None:
    """The compose client of this machine, new or old."""
    for command in (["docker", "compose"], ["docker-compose"]):
        if shutil.which(command[0]) and _run([*command, "version"]).returncode == 0:
            return command
    return None


def _run(command: list[str]) -> subprocess.CompletedProcess[str]:
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False, timeout=60)


def _plain(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()
