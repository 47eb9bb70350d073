"""Glob finds files by name and tells what it did not enter."""

import os
from pathlib import Path

import pytest

from activities.tools.glob import Glob
from activities.world import World
from tests.fakes.world import make_call, text_of, use
from workflows.contracts.errors import ToolError


@pytest.fixture
def work(tmp_path: Path) -> Path:
    work = tmp_path / "work"
    names = ["a.py", "src/b.py", "src/deep/c.py", "src/d.ts", "src/e.tsx", ".hidden/f.py", ".git/g.py", "x[1].py"]
    for age, name in enumerate(names):
        (work / name).parent.mkdir(parents=True, exist_ok=True)
        (work / name).touch()
        os.utime(work / name, (2_000_000_000 - age, 2_000_000_000 - age))
    return work


async def found(world: World, work: Path, pattern: str, **more: str) -> str:
    return text_of(await use(make_call(world, work), Glob(), pattern=pattern, **more))


def files(text: str) -> list[str]:
    return [line for line in text.split("\n") if not line.startswith("[")]


@pytest.mark.parametrize(
    ("pattern", "wanted"),
    [
        ("*.py", ["a.py", "src/b.py", "src/deep/c.py", ".hidden/f.py", "x[1].py"]),
        ("**/*.py", ["a.py", "src/b.py", "src/deep/c.py", ".hidden/f.py", "x[1].py"]),
        ("./*.py", ["a.py", "x[1].py"]),
        ("src/*.{ts,tsx}", ["src/d.ts", "src/e.tsx"]),
        ("src/**/*.py", ["src/b.py", "src/deep/c.py"]),
        ("src/**", ["src/b.py", "src/deep/c.py", "src/d.ts", "src/e.tsx"]),
        ("**/deep/?.py", ["src/deep/c.py"]),
        ("[a-b].py", ["a.py", "src/b.py"]),
        ("src/b.py", ["src/b.py"]),
        (".git/*", [".git/g.py"]),
        ("*.rs", ["No files match."]),
    ],
)
async def test_a_pattern_means_what_its_description_says(
    world: World, work: Path, pattern: str, wanted: list[str]
) -> None:
    assert files(await found(world, work, pattern)) == wanted


async def test_version_control_is_skipped_and_told(world: World, work: Path) -> None:
    assert "[not entered, version control: .git]" in await found(world, work, "*.py")


async def test_a_hundred_are_shown_and_the_number_of_all_told(world: World, work: Path) -> None:
    for number in range(150):
        (work / f"n{number}.txt").touch()
    text = await found(world, work, "*.txt")
    assert len(files(text)) == 100
    assert "100 of 150 files" in text


async def test_links_to_folders_are_not_followed_and_told(world: World, work: Path, tmp_path: Path) -> None:
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside/o.py").touch()
    (work / "out").symlink_to(tmp_path / "outside")
    (work / "src/up").symlink_to(work)
    (work / "self").symlink_to("self")
    text = await found(world, work, "*.py")
    assert "o.py" not in text
    assert "not followed: out]" in text
    assert "a circle: src/up]" in text
    assert "in a circle: self]" in text


async def test_a_folder_outside_is_told_as_such_and_named_for_permission(
    world: World, work: Path, tmp_path: Path
) -> None:
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside/o.py").touch()
    text = await found(world, work, "../outside/*.py")
    assert "is outside the workspace" in text
    assert f"{tmp_path}/outside/o.py" in text
    given = Glob.input(pattern="../outside/*.py")
    assert Glob().paths(make_call(world, work), given) == (work / "../outside",)


async def test_our_own_folder_is_skipped_and_told(world: World, tmp_path: Path) -> None:
    assert "perdure's own: home]" in await found(world, tmp_path, "**/*")


@pytest.mark.skipif(os.geteuid() == 0, reason="root reads everything")
async def test_a_folder_that_cannot_be_read_is_told(world: World, work: Path) -> None:
    (work / "closed").mkdir(mode=0o000)
    assert "not readable (Permission denied): closed" in await found(world, work, "*.py")


@pytest.mark.parametrize("path", ["gone", "a.py"])
async def test_a_path_that_is_no_folder_is_refused(world: World, work: Path, path: str) -> None:
    with pytest.raises(ToolError, match="folder"):
        await found(world, work, "*", path=path)


async def test_odd_names_stay_on_one_line_and_are_characters(world: World, work: Path) -> None:
    (work / "two\nlines.odd").touch()
    (work / os.fsdecode(b"\xff.odd")).touch()
    assert sorted(files(await found(world, work, "*.odd"))) == ["two\\nlines.odd", "\ufffd.odd"]


async def test_a_pattern_of_many_alternatives_ends(world: World, work: Path) -> None:
    assert files(await found(world, work, "{a,b}" * 60)) == ["No files match."]
