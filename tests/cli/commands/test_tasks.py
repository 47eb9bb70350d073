"""A person sees what runs in the background, reads what it prints, and ends it; its agent is told who did."""

import pytest

from tests.fakes.command_line import Cli
from tests.fakes.waiting import eventually
from worker.engine_state import read_state

pytestmark = [pytest.mark.journey, pytest.mark.timeout(180)]

ENDLESS = "echo one; echo key sk-ant-api03-" + "a1B2" * 24 + "; sleep 300"


def started(cli: Cli, session: str, command: str) -> str:
    """A session that rests beside one task; the task's id."""
    call = {"tool": "Bash", "input": {"command": command, "run_in_background": True, "description": "a server"}}
    model = cli.scenario(replies=[{"content": [call]}, "It runs.", "It is over."], fallback="noted")
    cli.detached(model, "--session-id", session, "--permission-mode", "bypassPermissions", "start it")
    cli.await_state(session, "idle")
    (task,) = eventually(lambda: cli.json("tasks", session, "--json"), 20, "its task")
    assert (task["title"], task["is_running"], task["command"][:4]) == ("a server", True, command[:4])
    assert "sk-ant" not in task["command"]
    return str(task["id"])


def test_a_running_task_is_listed_shown_without_secrets_and_ended_by_name(cli: Cli) -> None:
    task = started(cli, "keeper", ENDLESS)
    assert f"keeper   {task}" in cli("tasks").stdout
    shown = eventually(lambda: cli("tasks", "keeper", task).stdout, 20, "its output")
    assert shown.startswith("one\nkey ")
    assert "sk-ant" not in shown
    told = cli.json("tasks", "keeper", task, "--json")
    assert (told["id"], told["is_running"], told["output"]) == (task, True, shown)
    stopped = cli("tasks", "keep", task, "--stop")
    assert (stopped.returncode, stopped.stdout) == (0, f"Task {task} of session keeper has ended; its agent is told.\n")
    cli.await_state("keeper", "idle")
    told = eventually(lambda: [line for line in cli("audit", "keeper").stdout.splitlines() if "was stopped by" in line])
    assert "with perdure tasks" in told[0]
    assert cli("tasks").stdout == ""
    assert cli.json("tasks", "keeper", "--json")[0]["state"] == "it was stopped"
    again = cli("tasks", "keeper", task, "--stop")
    assert (again.returncode, "None does." in again.stderr) == (2, True)
    assert cli("close", "keeper").returncode == 0


def test_the_output_of_a_task_is_followed_to_its_end(cli: Cli) -> None:
    task = started(cli, "printer", "echo one; while [ ! -e go ]; do sleep 0.1; done; echo two; printf three")
    following = cli.start("tasks", "printer", task, "--follow")
    assert following.stdout is not None
    assert following.stdout.readline() == "one\n"
    (cli.folder / "go").touch()
    assert following.communicate(timeout=60)[0] == "two\nthree"
    assert following.returncode == 0


def test_a_task_is_ended_through_temporals_own_client_too(cli: Cli) -> None:
    task = started(cli, "remote", "sleep 300")
    state = read_state(cli.home)
    assert state is not None
    cli.more["TEMPORAL_ADDRESS"] = state.address
    stopped = cli("tasks", "remote", task, "--stop")
    assert (stopped.returncode, f"Task {task} of session remote has ended" in stopped.stdout) == (0, True)
    assert cli("tasks", "remote", task, "--stop").returncode == 2


def test_an_agents_command_ends_no_task_by_the_command_line(cli: Cli) -> None:
    cli.more["PERDURE_CALL"] = "some-key"
    refused = cli("tasks", "any", "b00000000", "--stop")
    assert (refused.returncode, "for a person" in refused.stderr) == (3, True)


@pytest.mark.parametrize("words", [("nobody", "b0"), ("nobody",), ("nobody", "--stop"), ("nobody", "b0", "--stop")])
def test_what_is_not_there_is_told_in_one_line(cli: Cli, words: tuple[str, ...]) -> None:
    wrong = cli("tasks", *words)
    assert (wrong.returncode, wrong.stderr.count("\n")) == (2, 1)
