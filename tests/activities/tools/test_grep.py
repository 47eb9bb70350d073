"""Grep finds lines, tells what it passed over, and leaves no process."""

import asyncio
import os
from pathlib import Path

import psutil
import pytest

from activities.tools.grep import Grep
from activities.world import World
from tests.fakes.waiting import eventually_async
from tests.fakes.world import make_call, text_of, use
from workflows.contracts.errors import ToolError


@pytest.fixture
def work(tmp_path: Path) -> Path:
    work = tmp_path / "work"
    (work / "src").mkdir(parents=True)
    (work / "a.py").write_text("import os\nneedle = 1\nend\n")
    (work / "src/b.ts").write_bytes(b"one\r\nneedle two\r\nNEEDLE\r\n")
    return work


async def found(world: World, work: Path, pattern: str, **more: object) -> str:
    return text_of(await use(make_call(world, work), Grep(), pattern=pattern, **more))


async def test_names_are_given_by_default(world: World, work: Path) -> None:
    assert await found(world, work, "needle") == "2 files\na.py\nsrc/b.ts"


@pytest.mark.parametrize(
    ("given", "wanted"),
    [
        ({}, ["a.py:2:needle = 1", "src/b.ts:2:needle two"]),
        ({"-i": True, "glob": "*.ts"}, ["src/b.ts:2:needle two", "src/b.ts:3:NEEDLE"]),
        ({"-n": False, "type": "py"}, ["a.py:needle = 1"]),
        ({"-o": True, "path": "src"}, ["src/b.ts:2:needle"]),
        ({"-A": 1, "path": "a.py"}, ["a.py:2:needle = 1", "a.py-3-end"]),
        ({"-B": 1, "path": "a.py"}, ["a.py-1-import os", "a.py:2:needle = 1"]),
        ({"-C": 1, "path": "a.py"}, ["a.py-1-import os", "a.py:2:needle = 1", "a.py-3-end"]),
        ({"context": 1, "path": "a.py"}, ["a.py-1-import os", "a.py:2:needle = 1", "a.py-3-end"]),
        ({"offset": 1}, ["src/b.ts:2:needle two"]),
    ],
)
async def test_lines_are_given_in_content_mode(
    world: World, work: Path, given: dict[str, object], wanted: list[str]
) -> None:
    assert (await found(world, work, "needle", output_mode="content", **given)).split("\n")[1:] == wanted


async def test_matches_are_counted(world: World, work: Path) -> None:
    text = await found(world, work, "needle", output_mode="count", **{"-i": True})
    assert text.split("\n")[1:] == ["a.py:1", "src/b.ts:2"]


async def test_a_match_may_span_lines(world: World, work: Path) -> None:
    assert await found(world, work, "import.*end", multiline=True) == "1 files\na.py"


async def test_the_end_of_a_crlf_line_is_its_end(world: World, work: Path) -> None:
    assert await found(world, work, "two$") == "1 files\nsrc/b.ts"


async def test_a_limit_tells_how_to_go_on(world: World, work: Path) -> None:
    assert "go on with offset 1" in await found(world, work, "needle", head_limit=1)


async def test_a_pattern_that_looks_like_a_flag_is_a_pattern(world: World, work: Path) -> None:
    (work / "c").write_text("--files\n")
    assert await found(world, work, "--files") == "1 files\nc"


async def test_nothing_found_is_told(world: World, work: Path) -> None:
    assert await found(world, work, "absent") == "No matches."


@pytest.mark.parametrize(
    ("given", "why"),
    [
        ({"pattern": "a("}, "unclosed group"),
        ({"pattern": "a", "type": "nonsense"}, "unrecognized file type"),
        ({"pattern": "a", "path": "gone"}, "does not exist"),
        ({"pattern": "a\0"}, "NUL"),
    ],
)
async def test_what_cannot_be_searched_is_refused_with_the_reason(
    world: World, work: Path, given: dict[str, str], why: str
) -> None:
    with pytest.raises(ToolError, match=why):
        await use(make_call(world, work), Grep(), **given)


@pytest.mark.parametrize("mode", ["files_with_matches", "content", "count"])
async def test_what_was_skipped_is_told_with_the_reason(world: World, work: Path, mode: str) -> None:
    (work / ".git").mkdir()
    (work / ".git/config").write_text("needle")
    (work / ".gitignore").write_text("build/\n*.log\n")
    (work / "build").mkdir()
    (work / "build/x").write_text("needle")
    (work / "y.log").write_text("needle")
    (work / "bin").write_bytes(b"\0needle")
    (work / "link").symlink_to(work / "a.py")
    text = await found(world, work, "needle", output_mode=mode)
    assert "[2 skipped, ignored by .gitignore: build, y.log]" in text
    assert "[1 skipped, symbolic link, not followed: link]" in text
    assert "binary: bin]" in text
    assert ".git/config" not in text


async def test_something_ignored_is_searched_when_it_is_named(world: World, work: Path) -> None:
    (work / ".git").mkdir()
    (work / ".gitignore").write_text("build/\n")
    (work / "build").mkdir()
    (work / "build/x").write_text("needle")
    assert "build/x" in await found(world, work, "needle", path="build")


async def test_our_own_files_are_not_searched(world: World, tmp_path: Path) -> None:
    (world.home.keys / "person").write_text("needle")
    (world.home.keys / ".hidden").write_text("needle")
    text = await found(world, tmp_path, "needle")
    assert text == "No matches."
    deeper = tmp_path / "deeper"
    assert "No matches." in await found(world, deeper, "needle", path=str(tmp_path))


async def test_a_persons_ripgrep_settings_change_nothing(
    world: World, work: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "rc").write_text("--invert-match\n")
    monkeypatch.setenv("RIPGREP_CONFIG_PATH", str(tmp_path / "rc"))
    assert await found(world, work, "absent") == "No matches."


async def test_a_stored_result_is_searched_without_asking(world: World, work: Path) -> None:
    digest = await world.store.put(b"x\n" * 400_000 + b"\0needle\xff\n")
    text = await found(world, work, "needle", path=f"result:{digest}")
    assert text == "1 lines\n400001:␀needle\ufffd"
    assert Grep().paths(make_call(world, work), Grep.input(pattern="x", path=f"result:{digest}")) == ()


async def test_output_is_bounded_however_much_is_found(world: World, work: Path) -> None:
    (work / "big").write_bytes(b"needle in a line of some length\n" * 500_000)
    told = await use(make_call(world, work), Grep(), pattern="needle", output_mode="content", path="big")
    assert "[there is more" in text_of(told)
    assert len(text_of(told)) < 1_300_000


async def test_long_lines_are_cut(world: World, work: Path) -> None:
    (work / "long").write_text("needle " + "x" * 100_000)
    assert len(await found(world, work, "needle", output_mode="content", path="long")) < 1_000


async def test_a_name_that_is_no_utf8_is_shown_as_characters(world: World, work: Path) -> None:
    (work / os.fsdecode(b"\xff.txt")).write_text("needle")
    assert "\ufffd.txt" in await found(world, work, "needle", glob="*.txt")


async def test_a_cancelled_search_leaves_no_process(world: World, work: Path) -> None:
    (work / "big").write_bytes(b"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa\n" * 1_500_000)
    running = asyncio.create_task(found(world, work, "(a{1,9}){20}b", path="big"))
    us = psutil.Process()

    def searching() -> list[psutil.Process]:
        return [child for child in us.children() if child.name() == "rg"]

    await eventually_async(lambda: searching() or running.done())
    running.cancel()
    await asyncio.gather(running, return_exceptions=True)
    assert searching() == []
