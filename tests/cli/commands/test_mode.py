"""A person changes what a session may do; the agent itself cannot."""

import pytest

from tests.fakes.command_line import Cli, bash

pytestmark = [pytest.mark.journey, pytest.mark.timeout(180)]


def test_a_mode_counts_from_the_next_call_on_and_is_audited(cli: Cli) -> None:
    model = cli.scenario(replies=["Ready.", bash("touch made"), "Done."])
    cli.detached(model, "--session-id", "moded", "wait for me")
    cli.await_state("moded", "idle")
    told = cli("mode", "moded", "bypasspermissions")
    assert (told.returncode, told.stdout) == (
        0,
        "Session moded is in mode bypassPermissions from its next call on.\n",
    )
    assert cli("send", "moded", "go on", "--print").returncode == 0
    assert (cli.folder / "made").exists()
    lines = cli("audit", "moded").stdout.splitlines()
    (at,) = [n for n, line in enumerate(lines) if "mode is now bypassPermissions" in line]
    assert (lines[at + 1].split()[0], lines[at + 1].endswith(", signed")) == ("by", True)


def test_a_mode_that_does_not_exist_is_told_with_those_that_do(cli: Cli) -> None:
    wrong = cli("mode", "nobody", "yolo")
    assert (wrong.returncode, wrong.stderr.count("\n")) == (2, 1)
    assert "acceptEdits" in wrong.stderr


def test_an_agents_command_cannot_change_its_mode(cli: Cli) -> None:
    cli.more["PERDURE_CALL"] = "some-key"
    refused = cli("mode", "anything", "bypassPermissions")
    assert (refused.returncode, "for a person" in refused.stderr) == (3, True)
