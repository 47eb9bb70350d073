"""Read shows what is there, in bounded size, and never hangs."""

import base64
import io
import json
import os
import resource
import socket
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from PIL import Image as Picture

from activities.stores.digests import digest_of
from activities.tools.read import Read
from activities.world import World
from tests.fakes.world import make_call, text_of, use
from workflows.contracts.errors import ToolError
from workflows.contracts.messages import Image
from workflows.contracts.tools import ToolOutcome

slow = pytest.mark.journey


async def read(world: World, work: Path, name: str, data: bytes | None = None, **more: int) -> ToolOutcome:
    if data is not None:
        (work / name).write_bytes(data)
    return await use(make_call(world, work), Read(), file_path=name, **more)


def noise(kind: str, width: int, height: int) -> bytes:
    """A picture that hardly any format makes small."""
    file = io.BytesIO()
    Picture.effect_noise((width, height), 90).convert("RGB").save(file, kind, quality=95)
    return file.getvalue()


def png(width: int, height: int) -> bytes:
    file = io.BytesIO()
    Picture.new("1", (width, height)).save(file, "PNG")
    return file.getvalue()


async def test_lines_are_numbered(world: World, work: Path) -> None:
    told = await read(world, work, "f", b"one\r\n\ttwo\rthree")
    assert text_of(told) == "     1→one\n     2→\ttwo\n     3→three"
    assert [(effect.kind, effect.after) for effect in told.effects] == [("read", digest_of(b"one\r\n\ttwo\rthree"))]


async def test_offset_and_limit_choose_the_lines_and_the_rest_is_told(world: World, work: Path) -> None:
    told = await read(world, work, "f", b"".join(b"%d\n" % n for n in range(1, 101)), offset=50, limit=2)
    assert text_of(told) == "    50→50\n    51→51\n[PARTIAL: lines 50 to 51 of 100. Go on with offset 52.]"


async def test_a_whole_file_tells_nothing_more(world: World, work: Path) -> None:
    assert "PARTIAL" not in text_of(await read(world, work, "f", b"x\n" * 2_000))


async def test_a_page_is_bounded_in_characters(world: World, work: Path) -> None:
    text = text_of(await read(world, work, "f", (b"x" * 100 + b"\n") * 2_000))
    assert len(text) < 83_000
    assert "PARTIAL" in text


async def test_an_offset_behind_the_end_tells_the_number_of_lines(world: World, work: Path) -> None:
    with pytest.raises(ToolError, match="2 lines"):
        await read(world, work, "f", b"a\nb\n", offset=9)


async def test_a_long_line_is_cut_and_told(world: World, work: Path) -> None:
    assert text_of(await read(world, work, "f", b"x" * 5_000 + b"\nend")).endswith(
        "x [3,000 more characters]\n     2→end"
    )


async def test_an_empty_file_is_told(world: World, work: Path) -> None:
    assert "is empty (0 bytes)" in text_of(await read(world, work, "f", b""))


async def test_a_missing_file_is_told_with_names_like_it(world: World, work: Path) -> None:
    (work / "README.md").touch()
    with pytest.raises(ToolError, match=r"README\.md"):
        await read(world, work, "readme.txt")


@pytest.mark.parametrize("kind", ["folder", "fifo", "socket", "device", "circle"])
async def test_what_is_no_regular_file_is_refused_at_once(world: World, work: Path, kind: str) -> None:
    path = work / "f"
    told = {"folder": "use Glob", "fifo": "named pipe", "socket": "socket", "device": "device", "circle": "circle"}
    if kind == "folder":
        path.mkdir()
    elif kind == "fifo":
        os.mkfifo(path)
    elif kind == "socket":
        with socket.socket(socket.AF_UNIX) as listener:
            listener.bind(os.path.relpath(path))
    else:
        path.symlink_to("/dev/zero" if kind == "device" else "f")
    with pytest.raises(ToolError, match=f"(?i){told[kind]}"):
        await read(world, work, "f")


@pytest.mark.skipif(sys.platform != "linux", reason="/proc is Linux's")
async def test_a_file_that_never_says_its_size_is_read(world: World, work: Path) -> None:
    assert "processor" in text_of(await read(world, work, "/proc/cpuinfo", limit=50))


@pytest.mark.parametrize(
    ("data", "shown"),
    [
        (b"\xef\xbb\xbf\xc3\xa4", "     1→ä"),
        ("\ufeffä\nb".encode("utf-16-le"), "[encoded as utf-16-le]\n     1→ä\n     2→b"),
        (b"gr\xfc\xdfe and more of the same", "     1→grüße and more of the same"),
        (b"a long enough line with one NUL \0 in it", "     1→a long enough line with one NUL ␀ in it"),
        (b"caf\xc3", "     1→cafÃ"),
    ],
)
async def test_text_of_any_encoding_is_shown_as_characters(world: World, work: Path, data: bytes, shown: str) -> None:
    assert text_of(await read(world, work, "f", data)).endswith(shown)


@pytest.mark.parametrize(("data", "kind"), [(os.urandom(20_000), "binary data"), (b"PK\x03\x04ab", "ZIP archive")])
async def test_binary_data_is_named_with_its_size(world: World, work: Path, data: bytes, kind: str) -> None:
    text = text_of(await read(world, work, "f", data))
    assert kind in text
    assert f"{len(data):,} bytes" in text


@pytest.mark.parametrize("kind", ["PNG", "JPEG", "GIF", "WEBP"])
async def test_a_picture_is_known_by_its_content_and_stored(world: World, work: Path, kind: str) -> None:
    file = io.BytesIO()
    Picture.new("RGB", (8, 6)).save(file, kind)
    told = await read(world, work, "no-suffix", file.getvalue())
    [picture] = [block for block in told.content if isinstance(block, Image)]
    assert picture.media_type == f"image/{kind.lower()}"
    assert await world.store.get(picture.digest) == file.getvalue()


@pytest.mark.parametrize(
    ("data", "why"),
    [
        (png(9_000, 9_000), "9000 × 9000 pixels, too many"),
        (png(10, 10)[:40], "damaged"),
        (b"only text\n", "content is text"),
        (b"", "is empty"),
    ],
)
async def test_a_picture_that_cannot_be_sent_is_told_instead(world: World, work: Path, data: bytes, why: str) -> None:
    told = await read(world, work, "f.png", data)
    assert why in text_of(told)
    assert len(told.content) == 1


@pytest.mark.parametrize(
    ("made", "size"),
    [
        pytest.param(lambda: png(9_000, 20), (2_000, 4), id="too wide"),
        pytest.param(lambda: png(2_400, 1_200), (2_000, 1_000), id="wide"),
        pytest.param(lambda: png(10, 10) + b"\0" * 4_000_000, (10, 10), id="too many bytes"),
        pytest.param(lambda: noise("JPEG", 4_000, 3_000), (2_000, 1_500), id="a large photo", marks=slow),
        pytest.param(lambda: noise("PNG", 1_600, 1_400), (1_600, 1_400), id="a large drawing", marks=slow),
    ],
)
async def test_of_a_picture_that_is_too_large_a_smaller_copy_is_shown(
    world: World, work: Path, made: Callable[[], bytes], size: tuple[int, int]
) -> None:
    told = await read(world, work, "f.png", made())
    [picture] = [block for block in told.content if isinstance(block, Image)]
    copy = await world.store.get(picture.digest)
    with Picture.open(io.BytesIO(copy)) as shown:
        assert (shown.size, shown.get_format_mimetype()) == (size, picture.media_type)
    assert len(copy) * 4 / 3 <= 5 * 1024 * 1024
    assert "a smaller copy of" in text_of(told)


async def test_a_notebook_is_shown_as_cells_with_outputs_and_pictures(world: World, work: Path) -> None:
    outputs = [
        {"output_type": "stream", "text": ["1\n", "2\n"]},
        {"output_type": "display_data", "data": {"image/png": base64.b64encode(png(4, 4)).decode()}},
        {"output_type": "error", "ename": "ValueError", "evalue": "no", "traceback": []},
    ]
    cells = [
        {"cell_type": "markdown", "source": ["# Title\n", "text"]},
        {"cell_type": "code", "id": "c2", "source": "print(1)", "outputs": outputs},
    ]
    told = await read(world, work, "n.ipynb", json.dumps({"cells": cells}).encode())
    text = text_of(told)
    assert "# Title" in text
    assert "[cell 2: code id=c2]" in text
    assert "ValueError: no" in text
    assert [block.kind for block in told.content] == ["text", "image"]


async def test_a_broken_notebook_is_shown_as_text(world: World, work: Path) -> None:
    assert text_of(await read(world, work, "n.ipynb", b'{"cells": [')) == '     1→{"cells": ['


async def test_a_name_that_is_no_utf8_can_be_read_by_how_it_is_shown(world: World, work: Path) -> None:
    (work / os.fsdecode(b"caf\xe9.txt")).write_text("coffee")
    told = await read(world, work, "caf\ufffd.txt")
    assert text_of(told) == "     1→coffee"
    assert json.dumps(told.model_dump(mode="json"), ensure_ascii=False).encode()


async def test_a_stored_result_is_read_by_lines_and_long_ones_in_pieces(world: World, work: Path) -> None:
    digest = await world.store.put(b"first\n" + b"a" * 2_000 + b"b" * 2_000 + b"\xff\n" + b"last\n")
    told = await read(world, work, f"result:{digest}", offset=3, limit=3)
    assert text_of(told).split("\n")[1:] == ["     3→" + "b" * 2_000, "     4→\ufffd", "     5→last"]
    assert Read().paths(make_call(world, work), Read.input(file_path=f"result:{digest}")) == ()


@pytest.mark.parametrize("name", ["result:", "result:" + "0" * 64, "result:../../etc/passwd"])
async def test_a_result_that_is_not_stored_is_refused(world: World, work: Path, name: str) -> None:
    with pytest.raises(ToolError, match="result"):
        await read(world, work, name)


async def test_our_own_keys_cannot_be_read(world: World, work: Path) -> None:
    (world.home.keys / "person").write_text("secret")
    (work / "f").symlink_to(world.home.keys / "person")
    with pytest.raises(ToolError, match="perdure itself"):
        await read(world, work, "f")


async def test_what_was_read_is_noted_for_edit(world: World, work: Path) -> None:
    await read(world, work, "f", b"x")
    assert world.seen("s1").digest((work / "f").resolve()) == digest_of(b"x")


@pytest.mark.journey
async def test_sixty_megabytes_are_read_in_flat_memory(world: World, work: Path) -> None:
    with (work / "f").open("wb") as file:
        for start in range(0, 1_000_000, 10_000):
            file.write(b"".join(b"%059d\n" % n for n in range(start, start + 10_000)))
        file.write(b"x" * 20_000_000)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    told = await read(world, work, "f", offset=1_000_000, limit=5)
    grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
    assert f"1000000→{999_999:059d}" in text_of(told)
    assert grown < 30_000
