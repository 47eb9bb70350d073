"""What a rule keeps from being read is hidden from commands that nobody allowed by name."""

import subprocess
from pathlib import Path
from typing import Any

import pytest

from activities.safety.sandbox.kept_back import not_told, without_kept_back
from activities.safety.sandbox.policy import Kind, Place, Policy
from tests.activities.tool_calls.stage import Stage, text, use
from tests.fakes.held import missing
from workflows.contracts.permissions import Decision, Mode, Rules, Source, SourcedRule
from workflows.contracts.settings import SessionSettings
from workflows.core.path_rules import Bases, Keeper, keeper

NAMES = ("private/x", "private/deep/y", "sub/.env", "src/a.py", "node_modules/p/.env", "keys/a.key", "keys/readme")


def kept(folder: Path, *contents: str) -> list[tuple[SourcedRule, Keeper]]:
    return [
        (
            SourcedRule(text=f"Read({content})", action=Decision.DENY, source=Source.USER, file="/f"),
            keeper(content, Bases(str(folder), "/home/nobody")),
        )
        for content in contents
    ]


@pytest.fixture
def work(tmp_path: Path) -> Path:
    folder = tmp_path / "work"
    for name in NAMES:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text("needle")
    return folder


def hidden(work: Path, *contents: str, command: str = "grep -r needle .") -> tuple[set[str], str]:
    policy = Policy(str(work), "/home/nobody", "/t", (Place(str(work), Kind.WRITE),))
    found, lines = without_kept_back(policy, kept(work, *contents), command)
    places = {place.path for place in found.places if place.kind == Kind.HIDDEN}
    return {str(Path(path).relative_to(work)) if path.startswith(str(work)) else path for path in places}, "".join(
        lines
    )


@pytest.mark.parametrize(
    ("content", "places"),
    [
        ("./private/**", {"private"}),
        ("./private/x", {"private/x"}),
        (".env", {"sub/.env"}),
        ("*.key", {"keys/a.key"}),
        ("nothing/**", set()),
    ],
)
def test_files_are_hidden_and_folders_as_a_whole(work: Path, content: str, places: set[str]) -> None:
    assert hidden(work, content)[0] == places


def test_what_a_rule_names_beside_the_workspace_is_hidden_too(work: Path) -> None:
    beside = work.with_name("beside")
    beside.mkdir()
    assert hidden(work, f"/{beside}/**", f"/{work.with_name('absent')}", f"/{work.parent}/**")[0] == {
        str(beside),
        *{path.name for path in work.iterdir()},
    }


def test_it_is_told_how_much_by_which_rule_and_never_what(work: Path) -> None:
    told = hidden(work, "*.key", ".env", "nothing/**")[1]
    assert told == (
        "[sandbox: 1 place is hidden from this command: deny rule Read(*.key) of /f]"
        "[sandbox: 1 place is hidden from this command: deny rule Read(.env) of /f]"
    )


@pytest.mark.parametrize("version", ["2", "4"])
def test_git_alone_sees_what_it_keeps_since_that_would_seem_to_be_deleted_and_nothing_else(
    work: Path, version: str
) -> None:
    rules = (".env", "./private/**", "*.key")
    subprocess.run(["git", "init", "-q"], cwd=work, check=True, timeout=20)
    subprocess.run(["git", "config", "index.version", version], cwd=work, check=True, timeout=20)
    assert hidden(work, *rules, command="git status")[0] == {"sub/.env", "private", "keys/a.key"}
    subprocess.run(["git", "add", "keys", "private/deep", "sub/.env"], cwd=work, check=True, timeout=20)
    assert hidden(work, *rules, command="git status") == (set(), "")
    assert hidden(work, *rules, command="git status && ls")[0] == {"sub/.env", "private", "keys/a.key"}
    (work / ".git/index").write_bytes(b"no index")
    assert hidden(work, *rules, command="git diff --no-index a .")[0] == {"sub/.env", "private", "keys/a.key"}


@pytest.mark.parametrize(("name", "count"), [("{}/x", 600), ("y{}", 21_000)], ids=["alike", "many"])
def test_what_was_hidden_once_stays_hidden_however_much_is_put_in_front_of_it(
    work: Path, tmp_path: Path, name: str, count: int
) -> None:
    policy = Policy(str(work), "/home/nobody", "/t", (Place(str(work), Kind.WRITE),))
    without_kept_back(policy, kept(work, "x"), "ls", tmp_path)
    for number in range(count):
        path = work / name.format(number)
        path.parent.mkdir(exist_ok=True)
        path.touch()
    found, lines = without_kept_back(policy, kept(work, "x"), "ls", tmp_path)
    assert found.kind_at(f"{work}/private/x") == Kind.HIDDEN
    assert lines[-1].startswith("[sandbox: not the whole workspace was looked through")


@pytest.mark.parametrize(
    ("content", "pinned"),
    [("./private/deep/**", {"private"}), ("./private/*/y", {"private"}), (".env", set()), ("private/**", set())],
)
def test_a_folder_by_whose_name_a_rule_knows_what_is_in_it_is_mounted(
    work: Path, content: str, pinned: set[str]
) -> None:
    policy = Policy(str(work), "/home/nobody", "/t", (Place(str(work), Kind.WRITE),))
    found, _ = without_kept_back(policy, kept(work, content), "make")
    inside = {Path(place.path).name for place in found.places if place.kind == Kind.WRITE and place.path != str(work)}
    assert inside == pinned


@pytest.mark.journey
@pytest.mark.skipif(bool(missing(1)), reason=f"tier 1 cannot be shown here: {missing(1)}")
async def test_what_is_kept_back_is_not_moved_to_where_no_rule_speaks_of_it(tmp_path: Path) -> None:
    stage = Stage(tmp_path, SessionSettings(rules=Rules(deny=("Read(./conf/private/**)",))))
    (stage.workspace / "conf/private").mkdir(parents=True)
    (stage.workspace / "conf/private/x").write_text("needle of the person")
    (stage.workspace / "conf/open").write_text("needle in the open")
    (stage.workspace / "move").write_text("mv conf other; mv conf/open .; cat */private/x open")
    given: dict[str, Any] = {"mode": Mode.BYPASS}
    _, body = await stage.run(use("Bash", command="sh move"), **given)
    assert "Device or resource busy" in text(body)
    assert "needle in the open" in text(body)
    assert (stage.workspace / "conf/private/x").read_text() == "needle of the person"


def test_a_line_is_told_once_in_a_session(tmp_path: Path) -> None:
    assert not_told(tmp_path, ["a", "b"]) == ["a", "b"]
    assert not_told(tmp_path, ["b", "c"]) == ["c"]


DENIED = Rules(deny=("Read(./private/**)",), allow=("Bash(sh show)",))


@pytest.mark.journey
@pytest.mark.skipif(bool(missing(1)), reason=f"tier 1 cannot be shown here: {missing(1)}")
@pytest.mark.parametrize(
    ("command", "mode", "is_shown"),
    [
        ("grep -rh needle .", Mode.DEFAULT, False),
        ("find . -type f | xargs cat", Mode.DEFAULT, False),
        ("sh show; true", Mode.BYPASS, False),
        ("git grep --no-index -h needle", Mode.BYPASS, False),
        ("sh show", Mode.DEFAULT, True),
    ],
    ids=["proved", "proved pipe", "by its mode", "git of what it does not keep", "by name"],
)
async def test_only_a_command_that_was_allowed_by_name_reads_it(
    tmp_path: Path, command: str, mode: Mode, is_shown: bool
) -> None:
    stage = Stage(tmp_path, SessionSettings(rules=DENIED))
    (stage.workspace / "private").mkdir()
    (stage.workspace / "private/x").write_text("needle of the person")
    (stage.workspace / "open").write_text("needle in the open")
    (stage.workspace / "show").write_text("cat private/x open")
    given: dict[str, Any] = {"mode": mode}
    _, body = await stage.run(use("Bash", command=command), **given)
    said = text(body)
    assert "needle in the open" in said
    assert ("needle of the person" in said) == is_shown
    assert ("hidden from this command: deny rule Read(./private/**)]" in said) != is_shown
    assert (stage.workspace / "private/x").read_text() == "needle of the person"
