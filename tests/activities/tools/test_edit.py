"""Edit changes what was meant, byte for byte nothing else, and once."""

import time
from pathlib import Path

import pytest

from activities.stores.digests import digest_of
from activities.stores.vault import Vault
from activities.tool import Call
from activities.tools.edit import Edit
from activities.tools.read import Read
from activities.world import World
from tests.fakes.world import make_call, text_of, use
from workflows.contracts.errors import ToolError
from workflows.contracts.tools import ToolOutcome


async def read(world: World, work: Path, name: str) -> None:
    await use(make_call(world, work), Read(), file_path=name)


async def edited(world: World, work: Path, before: bytes, old: str, new: str, **more: object) -> bytes:
    """The bytes of a file that was read and edited."""
    (work / "f").write_bytes(before)
    await read(world, work, "f")
    await use(make_call(world, work, "Edit"), Edit(), file_path="f", old_string=old, new_string=new, **more)
    return (work / "f").read_bytes()


async def test_three_lines_given_with_lf_change_only_their_lines_of_a_crlf_file(world: World, work: Path) -> None:
    lines = [b"\tline %d\r\n" % n for n in range(1, 41)]
    wanted = [*lines[:9], b"\tline 10\r\n", b"\tnew 11\r\n", b"\tmore\r\n", b"\tline 12\r\n", *lines[12:]]
    found = await edited(
        world, work, b"".join(lines), "\tline 10\n\tline 11\n\tline 12\n", "\tline 10\n\tnew 11\n\tmore\n\tline 12\n"
    )
    assert found == b"".join(wanted)


@pytest.mark.parametrize(
    ("before", "old", "new", "after"),
    [
        (b"a\nb\r\nc\rd\ne\r\n", "b\nc\nd", "b\nC\nd", b"a\nb\r\nC\rd\ne\r\n"),
        (b"a\nb\r\nc\rd\ne\r\n", "b\nc\nd", "b\nc\nX\nd", b"a\nb\r\nc\rX\r\nd\ne\r\n"),
        (b"a\nb\r\nc\r\nd\n", "b\n", "b\nb2\n", b"a\nb\r\nb2\r\nc\r\nd\n"),
        (b"a\nb\r\nc\r\nd\n", "c", "c\nc2", b"a\nb\r\nc\r\nc2\r\nd\n"),
        (b"a\nb\nc\r\n", "a\nb", "a\na2\nb", b"a\na2\nb\nc\r\n"),
        (b"a\r\nb\r\nc", "b\nc", "b\nC\nd", b"a\r\nb\r\nC\r\nd"),
        (b"a\r\nb\r\nc", "c", "c\n", b"a\r\nb\r\nc\r\n"),
        (b"a\r\nb\r\nc\r\n", "b\n", "", b"a\r\nc\r\n"),
        (b"a\r\nb\r\nc\n", "a\nb\nc", "abc", b"abc\n"),
        (b"a\rb\rc\r", "b\n", "b\nx\n", b"a\rb\rx\rc\r"),
        (b"a\nb\rc\n", "a\nb\nc", "A\nb\nC", b"A\nb\rC\n"),
        (b"one", "one", "one\r\ntwo", b"one\r\ntwo"),
        (b"a\r\nb\r\n", "a\r\nb", "a\r\nX\r\nb", b"a\r\nX\r\nb\r\n"),
    ],
)
async def test_lines_keep_their_endings_and_new_ones_take_those_of_their_neighbours(
    world: World, work: Path, before: bytes, old: str, new: str, after: bytes
) -> None:
    assert await edited(world, work, before, old, new) == after


@pytest.mark.parametrize("coding", ["utf-8-sig", "utf-16", "utf-16-be", "latin-1"])
async def test_encoding_and_mark_are_kept(world: World, work: Path, coding: str) -> None:
    mark = b"\xfe\xff" if coding == "utf-16-be" else b""
    before = mark + "straße\r\nende".encode(coding)
    assert await edited(world, work, before, "ende", "größe\n") == mark + "straße\r\ngröße\r\n".encode(coding)


async def test_a_character_that_the_encoding_lacks_is_refused(world: World, work: Path) -> None:
    with pytest.raises(ToolError, match=r"U\+2192"):
        await edited(world, work, b"gr\xf6\xdfe\n", "größe", "→")


async def test_mode_bits_are_kept(world: World, work: Path) -> None:
    (work / "f").write_text("echo a\n")
    (work / "f").chmod(0o751)
    await read(world, work, "f")
    await use(make_call(world, work, "Edit"), Edit(), file_path="f", old_string="a\n", new_string="b\n")
    assert (work / "f").stat().st_mode & 0o7777 == 0o751


async def test_a_link_stays_and_its_target_is_changed(world: World, work: Path) -> None:
    (work / "real").write_text("a\n")
    (work / "f").symlink_to("real")
    await read(world, work, "f")
    await use(make_call(world, work, "Edit"), Edit(), file_path="f", old_string="a", new_string="b")
    assert (work / "f").is_symlink()
    assert (work / "real").read_text() == "b\n"


async def test_twice_is_refused_with_both_line_numbers(world: World, work: Path) -> None:
    with pytest.raises(ToolError, match="lines 2 and 5"):
        await edited(world, work, b"a\r\nx = 1\r\nb\r\nc\r\nx = 1\r\n", "x = 1", "x = 2")


async def test_places_that_overlap_are_not_unique(world: World, work: Path) -> None:
    with pytest.raises(ToolError, match="lines 1 and 2"):
        await edited(world, work, b"}\n}\n}\n", "}\n}", "]")


async def test_every_place_is_replaced_when_asked(world: World, work: Path) -> None:
    after = await edited(world, work, b"x\r\ny\nx\n", "x\n", "1\n2\n", replace_all=True)
    assert after == b"1\r\n2\r\ny\n1\n2\n"


@pytest.mark.parametrize(("old", "new"), [("x = 1\ny\n", "x = 2\ny\n"), ("y\n", "y\nz\n"), ("z", "y\nz")])
async def test_an_edit_that_is_already_applied_is_told_and_changes_nothing(
    world: World, work: Path, old: str, new: str
) -> None:
    before = b"x = 2\r\ny\r\nz\r\n"
    (work / "f").write_bytes(before)
    await read(world, work, "f")
    told = await use(make_call(world, work, "Edit"), Edit(), file_path="f", old_string=old, new_string=new)
    assert "Already applied" in text_of(told)
    assert not told.effects
    assert (work / "f").read_bytes() == before


async def test_a_failed_match_shows_the_nearest_region_with_line_numbers(world: World, work: Path) -> None:
    text = "".join(f"def function_{n}(value):\n    return value + {n}\n\n" for n in range(200))
    with pytest.raises(ToolError) as told:
        await edited(world, work, text.encode(), "def function_77(value):\n\treturn value + 77\n", "x")
    assert "   232→def function_77(value):\n   233→    return value + 77" in str(told.value)


async def test_the_same_text_twice_is_refused(world: World, work: Path) -> None:
    with pytest.raises(ToolError, match="the same"):
        await edited(world, work, b"a\r\nb", "a\nb", "a\r\nb")


async def test_a_file_that_was_not_read_is_refused(world: World, work: Path) -> None:
    (work / "f").write_text("a")
    with pytest.raises(ToolError, match="not been read"):
        await use(make_call(world, work, "Edit"), Edit(), file_path="f", old_string="a", new_string="b")


async def test_a_file_that_changed_since_it_was_read_is_refused(world: World, work: Path) -> None:
    (work / "f").write_text("a")
    await read(world, work, "f")
    (work / "f").write_text("a ")
    with pytest.raises(ToolError, match="changed since"):
        await use(make_call(world, work, "Edit"), Edit(), file_path="f", old_string="a", new_string="b")


async def test_a_second_edit_needs_no_second_look(world: World, work: Path) -> None:
    await edited(world, work, b"a\n", "a", "b")
    await use(make_call(world, work, "Edit", 1), Edit(), file_path="f", old_string="b", new_string="c")
    assert (work / "f").read_bytes() == b"c\n"


async def test_an_empty_old_string_creates_a_missing_file(world: World, work: Path) -> None:
    await use(make_call(world, work, "Edit"), Edit(), file_path="d/f", old_string="", new_string="new\n")
    assert (work / "d/f").read_bytes() == b"new\n"


async def test_a_missing_file_is_told_with_names_like_it(world: World, work: Path) -> None:
    (work / "settings.py").touch()
    with pytest.raises(ToolError, match=r"settings\.py"):
        await use(make_call(world, work, "Edit"), Edit(), file_path="setings.py", old_string="a", new_string="b")


@pytest.mark.parametrize("ending", [pytest.param(b"\n", marks=pytest.mark.journey), b"\r\n"])
@pytest.mark.parametrize("wanted", ["line 150000 of", pytest.param("line 150000 off", marks=pytest.mark.journey)])
async def test_twelve_megabytes_are_edited_in_two_seconds_and_not_echoed(
    world: World, work: Path, ending: bytes, wanted: str
) -> None:
    line = b"line %d of a large file with some text in it" + ending
    (work / "f").write_bytes(b"".join(line % n for n in range(1, 260_001)))
    assert (work / "f").stat().st_size > 12_000_000
    await read(world, work, "f")
    began = time.monotonic()
    try:
        told = await use(make_call(world, work, "Edit"), Edit(), file_path="f", old_string=wanted, new_string="LINE")
        text = text_of(told)
    except ToolError as error:
        text = str(error)
    assert time.monotonic() - began < 2
    assert "150000→" in text
    assert len(text) < 2_000


async def test_the_outcome_names_the_effect_and_keeps_the_old_version(world: World, work: Path) -> None:
    (work / "f").write_bytes(b"a\n")
    await read(world, work, "f")
    told = await use(make_call(world, work, "Edit"), Edit(), file_path="f", old_string="a", new_string="b")
    [effect] = told.effects
    assert (effect.kind, effect.path) == ("write", str(work / "f"))
    assert (effect.before, effect.after) == (digest_of(b"a\n"), digest_of(b"b\n"))
    assert Vault(world.home).unlock(await world.store.get(effect.before_object)) == b"a\n"
    assert told.data["diff"] == "@@ -1 +1 @@\n-a\n+b\n"


async def planned(world: World, work: Path) -> tuple[Call, ToolOutcome]:
    """A call that has edited `f`, and its repetition."""
    (work / "f").write_bytes(b"a\n")
    await read(world, work, "f")
    told = await use(make_call(world, work, "Edit"), Edit(), file_path="f", old_string="a", new_string="aa")
    return make_call(world, work, "Edit", is_repeat=True), told


async def test_a_repeat_after_the_effect_reports_it_and_changes_nothing(world: World, work: Path) -> None:
    again, told = await planned(world, work)
    changed = (work / "f").stat().st_mtime_ns
    assert await use(again, Edit(), file_path="f", old_string="a", new_string="aa") == told
    assert ((work / "f").read_bytes(), (work / "f").stat().st_mtime_ns) == (b"aa\n", changed)


async def test_a_repeat_that_died_before_the_effect_does_it_and_leaves_no_temporary_file(
    world: World, work: Path
) -> None:
    again, told = await planned(world, work)
    (work / "f").write_bytes(b"a\n")
    again.seen.note((work / "f").resolve(), digest_of(b"a\n"))
    (work / f".f.{again.key[:16]}.tmp").write_bytes(b"half")
    assert await use(again, Edit(), file_path="f", old_string="a", new_string="aa") == told
    assert (work / "f").read_bytes() == b"aa\n"
    assert [path.name for path in work.iterdir()] == ["f"]


async def test_a_repeat_refuses_when_somebody_else_changed_the_file(world: World, work: Path) -> None:
    again, _ = await planned(world, work)
    (work / "f").write_bytes(b"mine\n")
    with pytest.raises(ToolError, match="somebody else"):
        await use(again, Edit(), file_path="f", old_string="a", new_string="aa")
    assert (work / "f").read_bytes() == b"mine\n"


async def test_our_own_files_stay_out_of_reach(world: World, work: Path) -> None:
    key = world.home.keys / "person"
    key.write_text("secret")
    given = Edit.input(file_path=str(key), old_string="secret", new_string="x")
    assert [finding.action for finding in Edit().findings(make_call(world, work), given)] == ["deny"]
    (work / "link").symlink_to(key)
    with pytest.raises(ToolError, match="perdure itself"):
        await use(make_call(world, work, "Edit"), Edit(), file_path="link", old_string="secret", new_string="x")


SECRET = "ghp_abcdefghijABCDEFGHIJ0123456789abcdef"


async def test_a_hidden_secret_of_the_file_stays_as_it_is(world: World, work: Path) -> None:
    before = f'TOKEN = "{SECRET}"\nLEVEL = 1\n'
    shown = world.masker("s1").text(before)
    assert SECRET not in shown
    found = await edited(world, work, before.encode(), shown, shown.replace("LEVEL = 1", "LEVEL = 2"))
    assert found == f'TOKEN = "{SECRET}"\nLEVEL = 2\n'.encode()


async def test_a_mark_that_hides_nothing_of_the_file_is_refused(world: World, work: Path) -> None:
    with pytest.raises(ToolError, match="stands for no secret"):
        await edited(world, work, b"LEVEL = 1\n", "LEVEL = 1", "TOKEN = '[secret:github:1a2b]'")
    assert (work / "f").read_bytes() == b"LEVEL = 1\n"
