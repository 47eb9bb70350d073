"""A search comes across no secret that nobody was asked about."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from activities.safety.sandbox.policy import Kind, Place, Policy
from activities.safety.sandbox.searches import comes_across_more, is_search, without_secrets
from tests.activities.safety.sandbox.cell import Cell, cell
from tests.activities.tool_calls.stage import Stage, text, use
from tests.fakes.held import missing
from workflows.contracts.permissions import Decision, Mode, Verdict
from workflows.contracts.settings import SessionSettings


@pytest.mark.parametrize(
    "command",
    ["grep -rn key .", "rg key | head -5", "cd src && rg -n 'key' | sort | uniq -c", "find . -name x; grep -r a b"],
)
def test_a_search_is_known(command: str) -> None:
    assert is_search(command)


@pytest.mark.parametrize(
    "command",
    ["cat .env", "grep KEY .env", "rg KEY config/.env.local", "make", "ls", "grep -r x . && npm test", "grep 'x", ""],
)
def test_what_does_more_or_names_a_secret_is_none(command: str) -> None:
    assert not is_search(command)


def test_files_with_secrets_are_found_and_named(tmp_path: Path) -> None:
    for name in (".env", "a/b/server.pem", "a/id_rsa", ".ssh/id", ".env.example", "node_modules/x/.env", "code.py"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("x")
    policy = Policy(str(tmp_path), "/u", "/t", (Place(str(tmp_path), Kind.WRITE),))
    found, line = without_secrets(policy)
    hidden = {Path(place.path).relative_to(tmp_path).as_posix() for place in found.places if place.kind == Kind.HIDDEN}
    assert hidden == {".env", "a/b/server.pem", "a/id_rsa", ".ssh"}
    assert ".env" in line
    assert found.kind_at(f"{tmp_path}/.ssh/id") == Kind.HIDDEN
    assert found.kind_at(f"{tmp_path}/code.py") == Kind.WRITE


def test_a_secret_that_was_hidden_once_stays_hidden_behind_any_number_of_others(tmp_path: Path) -> None:
    work = tmp_path / "work"
    (work / "deep/er").mkdir(parents=True)
    (work / "deep/er/.env").write_text("x")
    policy = Policy(str(work), "/u", "/t", (Place(str(work), Kind.WRITE),))
    without_secrets(policy, tmp_path)
    for number in range(300):
        (work / str(number)).mkdir()
        (work / str(number) / ".env").touch()
    found, line = without_secrets(policy, tmp_path)
    assert found.kind_at(f"{work}/deep/er/.env") == Kind.HIDDEN
    assert "not the whole workspace" in line
    (work / "deep/er/.env").unlink()
    assert without_secrets(policy, tmp_path)[0].kind_at(f"{work}/deep/er/.env") == Kind.WRITE


def test_a_workspace_without_secrets_is_as_it_was(tmp_path: Path) -> None:
    policy = Policy(str(tmp_path), "/u", "/t", ())
    assert without_secrets(policy) == (policy, "")


@pytest.fixture
def inside() -> Iterator[Cell]:
    if why := missing(1):
        pytest.skip(f"tier 1 cannot be shown here: {why}")
    with cell(1) as made:
        yield made


@pytest.mark.journey
async def test_a_search_runs_past_a_secret_and_says_so(inside: Cell) -> None:
    (inside.workspace / ".env").write_text("needle=hunter2\n")
    (inside.workspace / "code").write_text("needle here\n")
    said = await inside.text("grep -rn needle .")
    assert "./code:1:needle here" in said
    assert "hunter2" not in said
    assert "[sandbox: hidden from this search, since they hold secrets: .env]" in said
    assert "needle=" in await inside.text("sed -n 1p .env")
    assert (inside.workspace / ".env").read_text() == "needle=hunter2\n"


PROVED = Verdict(decision=Decision.ALLOW, by="proof", rule="read-only")


@pytest.mark.parametrize(
    ("command", "does"),
    [
        ("diff -rN a b", True),
        ("find . -type f | xargs cat", True),
        ("git grep --untracked x", True),
        ("git diff --no-index a .", True),
        ("git diff a .", True),
        ("git diff", False),
        ("git log -p", False),
        ("ls | sort", False),
    ],
)
def test_what_only_reads_and_comes_across_more_than_it_names_is_known(command: str, does: bool) -> None:
    assert comes_across_more(PROVED, command) == does
    assert not comes_across_more(PROVED.model_copy(update={"by": "person"}), command)


@pytest.mark.journey
@pytest.mark.skipif(bool(missing(1)), reason=f"tier 1 cannot be shown here: {missing(1)}")
@pytest.mark.parametrize(
    "command", ["diff -rN empty sub", "find . -type f | xargs cat", "git diff --no-index empty sub"]
)
async def test_no_secret_is_come_across_by_what_runs_unasked_since_it_only_reads(tmp_path: Path, command: str) -> None:
    stage = Stage(tmp_path, SessionSettings())
    for name in ("empty", "sub"):
        (stage.workspace / name).mkdir()
    (stage.workspace / "sub/.env").write_text("needle of the person\n")
    (stage.workspace / "sub/code").write_text("needle in the open\n")
    given: dict[str, Any] = {"mode": Mode.DEFAULT}
    _, body = await stage.run(use("Bash", command=command), **given)
    # Git gives up at a file that is none.
    assert ("needle in the open" in text(body)) != command.startswith("git")
    assert "needle of the person" not in text(body)
    assert "hidden from this search, since they hold secrets: sub/.env" in text(body)
