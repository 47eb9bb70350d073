"""Write replaces a whole file at once, only as it was read, and once."""

import asyncio
from pathlib import Path

import pytest

from activities.stores.digests import digest_of
from activities.stores.vault import Vault
from activities.tools.read import Read
from activities.tools.write import Write
from activities.world import World
from tests.fakes.world import make_call, text_of, use
from workflows.contracts.errors import ToolError


async def overwritten(world: World, work: Path, before: bytes, content: str) -> bytes:
    """The bytes of a file that was read and written."""
    (work / "f").write_bytes(before)
    await use(make_call(world, work), Read(), file_path="f")
    await use(make_call(world, work, "Write"), Write(), file_path="f", content=content)
    return (work / "f").read_bytes()


async def test_a_new_file_gets_exactly_this_content_and_its_folders(world: World, work: Path) -> None:
    told = await use(make_call(world, work, "Write"), Write(), file_path="a/b/f.txt", content="x\r\ny\n→")
    assert (work / "a/b/f.txt").read_bytes() == "x\r\ny\n→".encode()
    assert "Created" in text_of(told)
    assert "3 lines" in text_of(told)
    assert [(effect.kind, effect.before) for effect in told.effects] == [("create", "")]


async def test_the_folders_made_for_a_file_are_counted_also_those_of_an_attempt_that_died(
    world: World, work: Path
) -> None:
    (work / "there").mkdir()
    given = {"file_path": "there/a/b/f", "content": "x"}
    first = await use(make_call(world, work, "Write"), Write(), **given)
    (work / "there/a/b/f").unlink()
    again = await use(make_call(world, work, "Write", is_repeat=True), Write(), **given)
    assert [told.effects[0].folders for told in (first, again)] == [2, 2]


async def test_a_new_file_has_the_mode_that_the_umask_gives(world: World, work: Path) -> None:
    await use(make_call(world, work, "Write"), Write(), file_path="f", content="x")
    (work / "like").touch()
    assert (work / "f").stat().st_mode == (work / "like").stat().st_mode


async def test_a_file_that_was_not_read_is_not_overwritten(world: World, work: Path) -> None:
    (work / "f").write_text("precious")
    with pytest.raises(ToolError, match="not been read"):
        await use(make_call(world, work, "Write"), Write(), file_path="f", content="x")
    assert (work / "f").read_text() == "precious"


@pytest.mark.parametrize(
    ("before", "content", "after"),
    [
        (b"a\r\nb\r\n", "x\ny\n", b"x\r\ny\r\n"),
        (b"a\r\nb\n", "x\ny\n", b"x\ny\n"),
        (b"\xef\xbb\xbfa\n", "ä\n", b"\xef\xbb\xbf\xc3\xa4\n"),
        ("\ufeffa\n".encode("utf-16-le"), "ä\n", "\ufeffä\n".encode("utf-16-le")),
        (b"\xe4\n", "ä→\n", "ä→\n".encode()),
    ],
)
async def test_mark_encoding_and_uniform_crlf_are_kept(
    world: World, work: Path, before: bytes, content: str, after: bytes
) -> None:
    assert await overwritten(world, work, before, content) == after


async def test_mode_bits_are_kept_and_links_followed(world: World, work: Path) -> None:
    (work / "real").write_text("a")
    (work / "real").chmod(0o740)
    (work / "f").symlink_to("real")
    assert await overwritten(world, work, b"a", "b") == b"b"
    assert (work / "f").is_symlink()
    assert (work / "real").stat().st_mode & 0o7777 == 0o740


async def test_the_old_version_is_stored_and_the_change_shown(world: World, work: Path) -> None:
    (work / "f").write_text("a\n")
    await use(make_call(world, work), Read(), file_path="f")
    told = await use(make_call(world, work, "Write"), Write(), file_path="f", content="b\n" * 9_000)
    assert Vault(world.home).unlock(await world.store.get(told.effects[0].before_object)) == b"a\n"
    assert told.effects[0].after == digest_of(b"b\n" * 9_000)
    assert len(str(told.data["diff"])) < 4_100
    assert "1 → 9000 lines" in text_of(told)


async def test_a_repeat_after_the_effect_reports_it(world: World, work: Path) -> None:
    first = await use(make_call(world, work, "Write"), Write(), file_path="f", content="x")
    again = make_call(world, work, "Write", is_repeat=True)
    assert await use(again, Write(), file_path="f", content="x") == first


async def test_a_repeat_that_finds_another_file_refuses(world: World, work: Path) -> None:
    await use(make_call(world, work, "Write"), Write(), file_path="f", content="x")
    (work / "f").write_text("other")
    with pytest.raises(ToolError, match="somebody else"):
        await use(make_call(world, work, "Write", is_repeat=True), Write(), file_path="f", content="x")


@pytest.mark.parametrize("name", ["", "a\0b", "/dev/null", "."])
async def test_what_is_no_file_is_refused(world: World, work: Path, name: str) -> None:
    with pytest.raises(ToolError):
        await use(make_call(world, work, "Write"), Write(), file_path=name, content="x")


async def test_a_name_longer_than_the_disk_takes_is_a_tool_error(world: World, work: Path) -> None:
    with pytest.raises(ToolError, match="cannot be used"):
        await use(make_call(world, work, "Write"), Write(), file_path="n" * 300, content="x")
    assert list(work.iterdir()) == []


async def test_half_a_character_is_refused(world: World, work: Path) -> None:
    with pytest.raises(ToolError, match=r"U\+D83D"):
        await use(make_call(world, work, "Write"), Write(), file_path="f", content="\ud83d")


async def test_a_cancelled_write_that_has_begun_is_finished_and_told(world: World, work: Path) -> None:
    running = asyncio.create_task(use(make_call(world, work, "Write"), Write(), file_path="f", content="x" * 5_000_000))
    while not (world.journal.root / "s1").exists() and not running.done():
        await asyncio.sleep(0.001)
    running.cancel()
    told = (await asyncio.gather(running, return_exceptions=True))[0]
    is_there = (work / "f").exists()
    assert is_there is not isinstance(told, BaseException)


async def test_a_file_that_is_written_again_keeps_the_secrets_that_were_hidden(world: World, work: Path) -> None:
    secret = "ghp_abcdefghijABCDEFGHIJ0123456789abcdef"
    (work / "f").write_text(f"token: {secret}\nlevel: 1\n")
    await use(make_call(world, work), Read(), file_path="f")
    shown = world.masker("s1").text(f"token: {secret}\nlevel: 2\n")
    told = await use(make_call(world, work, "Write"), Write(), file_path="f", content=shown)
    assert (work / "f").read_text() == f"token: {secret}\nlevel: 2\n"
    assert secret not in told.model_dump_json()


async def test_in_a_new_file_a_mark_is_text_like_any_other(world: World, work: Path) -> None:
    await use(make_call(world, work, "Write"), Write(), file_path="f", content="found [secret:aws:1a2b] in it\n")
    assert (work / "f").read_text() == "found [secret:aws:1a2b] in it\n"
