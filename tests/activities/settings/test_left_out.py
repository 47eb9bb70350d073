"""What a person keeps from being read is not shown by a search of a folder above it either."""

import json
from pathlib import Path

import pytest

from activities.tool import AnyTool
from activities.tools.glob import Glob
from activities.tools.grep import Grep
from activities.world import World
from tests.fakes.world import make_call, make_world, text_of, use
from workflows.contracts.permissions import Rules
from workflows.contracts.settings import SessionSettings


@pytest.fixture
def world(tmp_path: Path) -> World:
    return make_world(tmp_path)


@pytest.fixture
def work(tmp_path: Path) -> Path:
    work = tmp_path / "work"
    for name in ("a.py", "secrets/key.py", "secrets/deep/KEY.txt", "pkg/.env", "z.py"):
        (work / name).parent.mkdir(parents=True, exist_ok=True)
        (work / name).write_text(f"before\nneedle in {name}\nafter\n")
    (work / "link.py").symlink_to("secrets/key.py")
    return work


async def found(world: World, work: Path, tool: AnyTool, rules: Rules, **given: object) -> str:
    call = make_call(world, work, tool.name, settings=SessionSettings(rules=rules))
    return text_of(await use(call, tool, **given))


DENIED = Rules(deny=("Read(./secrets/**)", "Read(.env)"))


@pytest.mark.parametrize(
    ("given", "lines"),
    [
        ({}, ["a.py", "z.py"]),
        ({"output_mode": "count"}, ["a.py:1", "z.py:1"]),
        ({"output_mode": "content"}, ["a.py:2:needle in a.py", "z.py:2:needle in z.py"]),
        ({"output_mode": "content", "-n": False}, ["a.py:needle in a.py", "z.py:needle in z.py"]),
        ({"output_mode": "content", "-o": True}, ["a.py:2:needle", "z.py:2:needle"]),
        (
            {"output_mode": "content", "-C": 1},
            ["a.py-1-before", "a.py:2:needle in a.py", "a.py-3-after", "--",
             "z.py-1-before", "z.py:2:needle in z.py", "z.py-3-after"],
        ),
        ({"offset": 1}, ["z.py"]),
    ],
)  # fmt: skip
async def test_a_search_shows_nothing_of_denied_files(
    world: World, work: Path, given: dict[str, object], lines: list[str]
) -> None:
    text = await found(world, work, Grep(), DENIED, pattern="needle", **given)
    assert [line for line in text.split("\n")[1:] if not line.startswith("[")] == lines
    assert "key" not in text.lower()
    assert "[2 files were left out: deny rule Read(./secrets/**)]" in text
    assert "[1 file was left out: deny rule Read(.env)]" in text


async def test_what_is_told_does_not_depend_on_what_denied_files_hold(world: World, work: Path) -> None:
    (work / "secrets/binary").write_bytes(b"\0needle\0" * 100)
    told = [await found(world, work, Grep(), DENIED, pattern=word) for word in ("in secrets/key", "nowhere at all")]
    assert told[0] == told[1]
    assert "No matches." in told[0]
    assert "[3 files were left out: deny rule Read(./secrets/**)]" in told[0]


async def test_lines_that_look_like_a_mark_stay_as_they_are(world: World, work: Path) -> None:
    (work / "a:1:.py").write_text("x\n--\nneedle:9:-b\n--\ny\n")
    text = await found(world, work, Grep(), DENIED, pattern="needle:9", output_mode="content", **{"-C": 1})
    assert text.split("\n")[-3:] == ["a:1:.py-2---", "a:1:.py:3:needle:9:-b", "a:1:.py-4---"]


async def test_names_of_denied_files_are_not_found_and_neither_are_links_to_them(world: World, work: Path) -> None:
    text = await found(world, work, Glob(), DENIED, pattern="**/*")
    assert sorted(line for line in text.split("\n") if not line.startswith("[")) == ["a.py", "z.py"]
    assert "[3 files were left out: deny rule Read(./secrets/**)]" in text
    assert "key" not in text.lower()


async def test_files_that_a_person_is_asked_about_are_left_out_until_they_are_named(world: World, work: Path) -> None:
    rules = Rules(ask=("Read(./secrets/**)",))
    above = await found(world, work, Grep(), rules, pattern="needle")
    assert "secrets/key.py" not in above
    assert "[2 files were left out: ask rule Read(./secrets/**); name one as path, and the person is asked]" in above
    asked = await found(world, work, Grep(), rules, pattern="needle", path="secrets")
    assert "secrets/key.py" in asked


async def test_a_rule_of_the_tool_itself_and_one_of_a_settings_file_count_and_the_file_is_named(
    world: World, work: Path
) -> None:
    file = work / ".perdure/settings.json"
    file.parent.mkdir()
    file.write_text(json.dumps({"permissions": {"deny": ["Read(/secrets/**)", "Glob(pkg/**)"]}}))
    text = await found(world, work, Glob(), Rules(), pattern="**/*e*")
    assert f"deny rule Read(/secrets/**) of {file}]" in text
    assert ".env" not in text
    assert "pkg/.env" in await found(world, work, Grep(), Rules(), pattern="needle")
