"""A command gets the person's environment, without the agent's own keys, and calm."""

import os
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest

from activities.safety.environment import command_environment
from activities.stores.environments import keep_environment
from activities.tool import Call
from tests.fakes.world import SESSION, make_call, make_world

KEYS = [
    "ANTHROPIC_API_KEY",
    "ANTHROPIC_AUTH_TOKEN",
    "ANTHROPIC_BASE_URL",
    "CLAUDE_CODE_OAUTH_TOKEN",
    "TEMPORAL_API_KEY",
    "TEMPORAL_ADDRESS",
    "PERDURE_STORE",
    "OPENAI_API_KEY",
    "AWS_SECRET_ACCESS_KEY",
    "AWS_SESSION_TOKEN",
    "AWS_BEARER_TOKEN_BEDROCK",
    "GOOGLE_APPLICATION_CREDENTIALS",
]


def call_in(folder: Path, **environment: str) -> Call:
    world = replace(make_world(folder), environment=environment)
    return make_call(world, folder / "work", "Bash")


@pytest.mark.parametrize("name", KEYS)
def test_a_key_of_the_agent_never_reaches_a_command(tmp_path: Path, name: str) -> None:
    call = call_in(tmp_path, **{name: "secret"})
    assert name not in command_environment(call)
    keep_environment(call.world.home, SESSION, {name: "secret"})
    assert "secret" not in command_environment(call).values()


def test_the_persons_own_environment_is_what_the_command_gets(tmp_path: Path) -> None:
    call = call_in(tmp_path, PATH="/worker", ONLY_WORKER="1")
    assert command_environment(call)["ONLY_WORKER"] == "1"
    keep_environment(call.world.home, SESSION, {"PATH": "/person", "VIRTUAL_ENV": "/v"})
    seen = command_environment(call)
    assert (seen["PATH"], seen["VIRTUAL_ENV"]) == ("/person", "/v")
    assert "ONLY_WORKER" not in seen


def test_no_program_waits_for_a_terminal(tmp_path: Path) -> None:
    seen = command_environment(call_in(tmp_path, PAGER="less", TERM="xterm"))
    assert (seen["PAGER"], seen["GIT_TERMINAL_PROMPT"], seen["TERM"]) == ("cat", "0", "dumb")


@pytest.mark.parametrize(
    "name", ["BASH_ENV", "ENV", "SHELLOPTS", "BASHOPTS", "PS4", "PROMPT_COMMAND", "BASH_FUNC_ls%%", "BASH_FUNC_git%%"]
)
def test_nothing_makes_bash_run_more_than_its_command_says(tmp_path: Path, name: str) -> None:
    call = call_in(tmp_path, **{name: "() { touch found; }"})
    assert name not in command_environment(call)
    keep_environment(call.world.home, SESSION, {name: "() { touch found; }"})
    assert name not in command_environment(call)


def test_no_function_of_the_persons_shell_stands_for_a_command(tmp_path: Path) -> None:
    start = tmp_path / "start"
    start.write_text("echo started\n")
    given = {"PATH": os.environ["PATH"], "BASH_ENV": str(start), "BASH_FUNC_true%%": "() { echo function; }"}
    before = subprocess.run(["bash", "-c", "true"], env=given, capture_output=True, text=True, timeout=10, check=True)
    seen = command_environment(call_in(tmp_path, **given))
    after = subprocess.run(["bash", "-c", "true"], env=seen, capture_output=True, text=True, timeout=10, check=True)
    assert (before.stdout, after.stdout) == ("started\nfunction\n", "")


def test_where_a_command_only_reads_git_runs_no_program_of_anybodys(tmp_path: Path) -> None:
    call = call_in(
        tmp_path,
        GIT_CONFIG_COUNT="1",
        GIT_CONFIG_KEY_0="core.pager",
        GIT_SSH_COMMAND="sh x",
        GIT_TRACE="/f",
        GIT_EXTERNAL_DIFF="sh x",
        GIT_CONFIG_GLOBAL="/f",
    )
    assert command_environment(call)["GIT_SSH_COMMAND"] == "sh x"
    seen = command_environment(replace(call, is_proved=True))
    told = {seen[f"GIT_CONFIG_KEY_{n}"]: seen[f"GIT_CONFIG_VALUE_{n}"] for n in range(int(seen["GIT_CONFIG_COUNT"]))}
    assert told["core.hooksPath"] == "/dev/null"
    assert told["safe.bareRepository"] == "explicit"
    assert seen["GIT_OPTIONAL_LOCKS"] == "0"
    assert not {"GIT_SSH_COMMAND", "GIT_TRACE", "GIT_EXTERNAL_DIFF", "GIT_CONFIG_GLOBAL"} & seen.keys()
