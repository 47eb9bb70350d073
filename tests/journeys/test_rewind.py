"""A person takes back what an agent did: files, conversation, or both."""

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.fakes.case_bench import Loop, bash, reply, text_of
from tests.fakes.command_line import Cli
from tests.fakes.stranger import home_for
from worker.rehearsal.scenario import Scenario
from worker.rehearsal.server import Rehearsal

pytestmark = [pytest.mark.journey, pytest.mark.timeout(240)]

READ = {"tool": "Read", "input": {"file_path": "notes.md"}}
NOTES = "one\ntwo\nthree\n"


def _edit(old: str, new: str) -> dict[str, Any]:
    return {"tool": "Edit", "input": {"file_path": "notes.md", "old_string": old, "new_string": new}}


REPLIES = [
    reply(READ),
    reply(_edit("one", "ONE"), {"tool": "Write", "input": {"file_path": "new/made.txt", "content": "made\n"}}),
    "First part done.",
    reply(_edit("two", "TWO"), bash("echo by-command > other.txt")),
    "Second part done.",
]


@pytest.fixture(scope="module")
def started() -> Iterator[tuple[Cli, Loop]]:
    loop = Loop()
    with home_for(is_up=True) as home:
        yield Cli(home, home.root), loop
    loop.stop()


@pytest.fixture
def model(started: tuple[Cli, Loop]) -> Iterator[Rehearsal]:
    with started[1].model(Scenario.model_validate({"replies": REPLIES})) as model:
        yield model


@pytest.fixture
def cli(started: tuple[Cli, Loop], model: Rehearsal, tmp_path: Path) -> Cli:
    """A command line in a folder where an agent has worked for two turns."""
    (tmp_path / "notes.md").write_text(NOTES)
    keys = {"ANTHROPIC_BASE_URL": model.url, "ANTHROPIC_API_KEY": "sk-ant-of-the-bench"}
    return replace(started[0], folder=tmp_path, more=keys)


def _worked(cli: Cli) -> str:
    words = ("--permission-mode", "bypassPermissions", "-p", "--output-format", "json")
    session = str(cli.json("run", *words, "work on it")["session_id"])
    told = cli("send", session, "-p", "more")
    assert told.returncode == 0, told.stderr
    assert (cli.folder / "notes.md").read_text() == "ONE\nTWO\nthree\n"
    return session


def test_a_dry_run_shows_a_diff_and_changes_nothing(cli: Cli) -> None:
    session = _worked(cli)
    told = cli("rewind", session, "--to", "turn:1", "--dry-run")
    assert told.returncode == 0, told.stderr
    assert "-TWO\n+two\n" in told.stdout
    assert "Not taken back: whatever 1 command did" in told.stdout
    assert (cli.folder / "notes.md").read_text() == "ONE\nTWO\nthree\n"
    assert len(cli.json("ls", "--json", "--all")) == len({one["id"] for one in cli.json("ls", "--json", "--all")})


def test_files_are_as_they_were_after_that_turn_then_at_the_start(cli: Cli) -> None:
    session = _worked(cli)
    first = cli.json("rewind", session, "--to", "turn:1", "--files", "--json")
    assert [file["action"] for file in first["files"]] == ["restored"]
    assert (cli.folder / "notes.md").read_text() == "ONE\ntwo\nthree\n"
    again = cli.json("rewind", session, "--to", "turn:1", "--files", "--json")
    assert again["files"] == []
    second = cli.json("rewind", session, "--to", "start", "--files", "--json")
    assert sorted(file["action"] for file in second["files"]) == ["removed", "restored"]
    assert (cli.folder / "notes.md").read_text() == NOTES
    assert not (cli.folder / "new").exists()
    assert (cli.folder / "other.txt").read_text() == "by-command\n"


def test_a_file_that_a_person_changed_since_stops_all_of_it(cli: Cli) -> None:
    session = _worked(cli)
    (cli.folder / "new/made.txt").write_text("mine\n")
    told = cli("rewind", session, "--to", "start")
    assert told.returncode == 1
    assert "made.txt was changed by somebody else since" in told.stderr
    assert "Nothing was changed" in told.stderr
    assert (cli.folder / "notes.md").read_text() == "ONE\nTWO\nthree\n"


def test_the_conversation_goes_on_from_there_in_a_session_of_its_own(cli: Cli, model: Rehearsal) -> None:
    session = _worked(cli)
    sent = [json.loads(request.body_bytes) for request in model.requests if request.path == "/v1/messages"]
    told = cli.json("rewind", session, "--to", "2", "--json")
    new = told["new_session"]
    assert (cli.folder / "notes.md").read_text() == "ONE\ntwo\nthree\n"
    went_on = cli("send", new, "-p", "and now?")
    assert went_on.returncode == 0, went_on.stderr
    assert "First part done." in went_on.stdout
    last = json.loads([request for request in model.requests if request.path == "/v1/messages"][-1].body_bytes)
    assert last["system"] == sent[0]["system"]
    assert last["tools"] == sent[0]["tools"]
    said = json.dumps(last["messages"])
    assert "First part done" not in said
    assert "TWO" not in said
    assert "took the conversation back" in said
    assert "and now?" in said
    results = [block for block in last["messages"][-1]["content"] if block["type"] == "tool_result"]
    assert len(results) == 2
    assert "Changed" in text_of(results[0])
    shown = cli.json("show", new, "--json")
    assert shown["snapshot"]["state"]["turns"] == 2
    assert shown["snapshot"]["state"]["totals"]["exchanges"] == 3


def test_where_no_session_can_go_on_it_is_told_that_files_are_back(cli: Cli) -> None:
    session = _worked(cli)
    steps = [json.loads(line) for line in cli("audit", session, "--json").stdout.splitlines()]
    settings = next(step["data"]["settings"] for step in steps if step.get("what") == "session_opened")
    (lost,) = [path for path in cli.home.root.rglob(f"*{settings[2:]}") if settings.endswith(path.name)]
    lost.unlink()
    told = cli("rewind", session, "--to", "start")
    assert told.returncode == 1
    assert "2 files are taken back already" in told.stderr
    assert f"perdure rewind {session} --to start --conversation" in told.stderr
    assert (cli.folder / "notes.md").read_text() == NOTES


def test_both_sessions_can_be_verified_afterwards(cli: Cli) -> None:
    session = _worked(cli)
    new = cli.json("rewind", session, "--to", "turn:1", "--json")["new_session"]
    assert cli("send", new, "-p", "and now?").returncode == 0
    assert cli("close", new).returncode == 0
    for name in (session, new):
        told = cli("audit", name, "--verify")
        assert told.returncode == 0, told.stdout + told.stderr


def test_a_rewound_session_is_rewound_further_back(cli: Cli) -> None:
    session = _worked(cli)
    new = cli.json("rewind", session, "--to", "turn:1", "--json")["new_session"]
    cli.await_state(new, "idle")
    told = cli.json("rewind", new, "--to", "1", "--json")
    assert sorted(file["action"] for file in told["files"]) == ["removed", "restored"]
    assert (cli.folder / "notes.md").read_text() == NOTES


def test_a_closed_session_is_rewound_too(cli: Cli) -> None:
    session = _worked(cli)
    assert cli("close", session).returncode == 0
    told = cli.json("rewind", session, "--to", "start", "--json")
    assert (cli.folder / "notes.md").read_text() == NOTES
    assert told["new_session"]


def test_a_session_that_runs_a_turn_is_refused_or_stopped_first(started: tuple[Cli, Loop], tmp_path: Path) -> None:
    cli = replace(started[0], folder=tmp_path)
    made = {"tool": "Write", "input": {"file_path": "made.txt", "content": "x\n"}}
    model = cli.scenario(replies=[reply(made), reply(bash("sleep 60")), "Done."])
    session = cli.detached(model, "--permission-mode", "bypassPermissions", "go")
    cli.await_state(session, "running")
    told = cli("rewind", session, "--to", "start")
    assert told.returncode == 1
    assert "runs turn 1: wait for its end, or end it with perdure rewind --stop" in told.stderr
    assert cli("rewind", session, "--to", "start", "--stop", "--files").returncode == 0
    assert not (tmp_path / "made.txt").exists()


def test_an_agents_command_may_not_rewind(cli: Cli) -> None:
    told = replace(cli, more={**cli.more, "PERDURE_CALL": "x"})("rewind", "any", "--to", "start")
    assert told.returncode == 3
    assert "is for a person" in told.stderr


@pytest.mark.parametrize(
    ("words", "why"),
    [
        (("--to", "turn:9"), "There is no turn 9"),
        (("--to", "soon"), "names no point"),
        (("--to", "1", "--files", "--conversation"), "exclude each other"),
    ],
)
def test_a_wrong_point_is_told(cli: Cli, words: tuple[str, ...], why: str) -> None:
    session = _worked(cli)
    told = cli("rewind", session, *words)
    assert told.returncode == 2
    assert why in told.stderr
