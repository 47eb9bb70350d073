"""A Messages API that is not ours, reached by a worker that was started without knowing of it."""

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from tests.fakes.command_line import Cli
from tests.fakes.stranger import OtherServer, home_for

pytestmark = [pytest.mark.journey, pytest.mark.timeout(180)]


@pytest.fixture(scope="module")
def started() -> Iterator[Cli]:
    with home_for(is_up=True) as home:
        yield Cli(home, home.root)


@pytest.fixture
def other() -> Iterator[OtherServer]:
    with OtherServer(key="right-key").serve() as server:
        yield server


@pytest.fixture
def cli(started: Cli, other: OtherServer, tmp_path: Path) -> Cli:
    return replace(started, folder=tmp_path, more={"ANTHROPIC_BASE_URL": other.url, "ANTHROPIC_API_KEY": other.key})


def test_a_tool_runs_and_the_answer_comes_from_there(cli: Cli, other: OtherServer) -> None:
    other.calls = [{"name": "Bash", "input": {"command": "echo from there > made"}}]
    ended = cli("run", "-p", "--allowed-tools", "Bash", "go")
    assert (ended.returncode, ended.stdout) == (0, "I am another server. \n"), ended.stderr
    assert (cli.folder / "made").read_text() == "from there\n"
    results = [block for message in other.seen[-1]["messages"] for block in message["content"]]
    assert [block["tool_use_id"] for block in results if block["type"] == "tool_result"] == ["call_1"]


def test_a_wrong_key_is_exit_code_7_and_the_right_one_goes_on_with_the_same_session(
    cli: Cli, other: OtherServer
) -> None:
    wrong = replace(cli, more={**cli.more, "ANTHROPIC_API_KEY": "wrong-key"})
    ended = wrong("run", "--output-format", "json", "--session-id", "wrong", "go")
    told = json.loads(ended.stdout)
    assert (ended.returncode, told["reason"], told["exit_code"]) == (7, "unauthorized", 7)
    assert "invalid x-api-key" in told["error"]
    assert "wrong-key" not in ended.stdout + ended.stderr
    assert other.refused == 1  # a permanent cause is not tried again
    again = cli("send", "wrong", "-p", "and now?")
    assert (again.returncode, again.stdout) == (0, "I am another server. \n"), again.stderr
    assert [block["text"] for block in other.seen[-1]["messages"][0]["content"]] == ["go", "and now?"]


def test_another_endpoint_set_later_does_not_draw_away_a_session_that_runs(cli: Cli, other: OtherServer) -> None:
    assert cli("run", "-p", "--session-id", "mine", "one").returncode == 0
    with OtherServer(key="second-key", says="The second.").serve() as second:
        elsewhere = replace(cli, more={"ANTHROPIC_BASE_URL": second.url, "ANTHROPIC_AUTH_TOKEN": second.key})
        assert elsewhere("run", "-p", "hi").stdout == "The second. \n"
        assert elsewhere("send", "mine", "-p", "two").stdout == "I am another server. \n"
        assert len(second.seen) == 1


def test_an_endpoint_that_is_no_url_starts_nothing(cli: Cli) -> None:
    ended = replace(cli, more={"ANTHROPIC_BASE_URL": "nowhere"})("run", "-p", "hi")
    assert (ended.returncode, ended.stdout, ended.stderr.count("\n")) == (2, "", 1)
