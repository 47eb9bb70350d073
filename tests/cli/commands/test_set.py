"""perdure set, as a person runs it."""

import json
import os
from dataclasses import replace
from pathlib import Path

import pytest

from tests.fakes.command_line import Cli
from worker.engine import Home

pytestmark = pytest.mark.journey


@pytest.fixture
def user(tmp_path: Path) -> Path:
    return tmp_path / "user/.config/perdure/settings.json"


@pytest.fixture
def cli(home: Path, tmp_path: Path) -> Cli:
    (tmp_path / "work/sub").mkdir(parents=True)
    (tmp_path / "work/.git").mkdir()
    surroundings = {"HOME": str(tmp_path / "user"), "XDG_CONFIG_HOME": ""}
    return Cli(Home(home), tmp_path / "work/sub", surroundings)


def states(cli: Cli) -> dict[str, str]:
    return {value["shown"]: value["state"] for value in cli.json("settings", "--json")["values"]}


def test_a_value_of_the_persons_own_file_is_set_told_and_taken_out_again(cli: Cli, user: Path) -> None:
    assert cli("set", "model", "opus").stdout == f"{user}: model is opus.\n"
    assert json.loads(user.read_text()) == {"model": "opus"}
    assert "held that already" in cli("set", "model", "opus").stdout
    assert cli("set", "model", "--remove").returncode == 0
    assert json.loads(user.read_text()) == {}
    assert "does not hold that" in cli("set", "model", "--remove").stdout


def test_of_a_folders_file_what_was_set_counts_and_nothing_else(cli: Cli) -> None:
    file = cli.folder.parent / ".perdure/settings.local.json"
    file.parent.mkdir()
    file.write_text('{"permissions": {"allow": ["Edit"]}}')
    added = cli("set", "permissions.allow", "Bash(make)", "--local")
    assert (added.returncode, added.stdout) == (0, f"{file}: permissions.allow now holds Bash(make).\n")
    assert json.loads(file.read_text())["permissions"]["allow"] == ["Edit", "Bash(make)"]
    assert states(cli) == {"permissions.allow Edit": "untrusted", "permissions.allow Bash(make)": "counts"}


def test_what_cannot_count_there_is_told(cli: Cli) -> None:
    told = cli("set", "autoMode.environment", "a note", "--project")
    assert told.returncode == 0
    assert "It does not count" in told.stderr


def test_a_mistake_is_one_line_and_the_file_as_it_was(cli: Cli, user: Path) -> None:
    user.parent.mkdir(parents=True)
    user.write_text('{"model": ')
    for words in (("model", "opus"), ("modle", "opus"), ("model",), ("permissions.deny", "Bash(")):
        wrong = cli("set", *words)
        assert wrong.returncode in {1, 2}
        assert len(wrong.stderr.strip().splitlines()) == 1
    assert user.read_text() == '{"model": '


def test_a_file_that_is_kept_elsewhere_stays_a_link(cli: Cli, user: Path, tmp_path: Path) -> None:
    user.parent.mkdir(parents=True)
    (tmp_path / "dotfiles").mkdir()
    user.symlink_to(tmp_path / "dotfiles/perdure.json")
    assert cli("set", "env.A", "1").returncode == 0
    assert user.is_symlink()
    assert json.loads((tmp_path / "dotfiles/perdure.json").read_text()) == {"env": {"A": "1"}}


def test_an_agents_command_sets_nothing(cli: Cli, user: Path) -> None:
    agents = replace(cli, more={**cli.more, "PERDURE_CALL": "s:1.0"})
    assert agents("set", "model", "opus").returncode == 3
    assert not os.path.lexists(user)
