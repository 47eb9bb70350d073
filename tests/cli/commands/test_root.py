"""bypassPermissions as root: only where something holds the commands, or the person says that they know."""

import os
from pathlib import Path

import pytest

from cli.commands.root import KNOWS, Marks, check_root
from worker.engine import Home
from workflows.contracts.errors import DeniedError
from workflows.contracts.permissions import Mode
from workflows.contracts.sandbox import SandboxSettings
from workflows.contracts.settings import SessionSettings

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="only root is warned")

HELD = SessionSettings(mode=Mode.BYPASS)
BARE = SessionSettings(mode=Mode.BYPASS, sandbox=SandboxSettings(enabled=False))


@pytest.fixture
def here(tmp_path: Path) -> Home:
    home = Home(tmp_path / "home")
    home.ensure()
    return home


@pytest.fixture
def machine(tmp_path: Path) -> Marks:
    """A machine of its own."""
    groups = tmp_path / "cgroup"
    groups.write_text("0::/init.scope\n")
    return Marks((tmp_path / ".dockerenv",), groups)


async def test_where_nothing_holds_its_commands_it_is_refused_with_what_to_do(here: Home, machine: Marks) -> None:
    with pytest.raises(DeniedError, match="in a container or with the sandbox") as refused:
        await check_root(here, BARE, {}, machine)
    assert (refused.value.reason, KNOWS in str(refused.value)) == ("root", True)


async def test_the_sandbox_or_a_container_is_enough_and_the_warning_stays(
    here: Home, machine: Marks, capsys: pytest.CaptureFixture[str]
) -> None:
    await check_root(here, HELD, dict(os.environ), machine)
    machine.groups.write_text("0::/docker/0123abcd\n")
    await check_root(here, BARE, {}, machine)
    machine.groups.unlink()
    machine.files[0].touch()
    await check_root(here, BARE, {}, machine)
    assert capsys.readouterr().err.count("Warning: bypassPermissions as root") == 3


@pytest.mark.parametrize("mode", [mode for mode in Mode if mode != Mode.BYPASS])
async def test_other_modes_and_who_knows_are_left_alone(
    here: Home, machine: Marks, mode: Mode, capsys: pytest.CaptureFixture[str]
) -> None:
    await check_root(here, BARE.model_copy(update={"mode": mode}), {}, machine)
    await check_root(here, BARE, {KNOWS: "1"}, machine)
    assert capsys.readouterr().err == ""
