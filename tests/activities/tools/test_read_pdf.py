"""Read shows pages of a PDF, as they are or as text, and says what is wrong with the others."""

import io
import resource
import time
import zlib
from pathlib import Path
from typing import Any

import psutil
import pytest
from pypdf import PdfReader, PdfWriter

from activities.stores.pdfs import Limits, show_pdf
from activities.tools.read import Read
from activities.world import World
from tests.fakes.world import make_call, text_of, use
from workflows.contracts.errors import ToolError
from workflows.contracts.messages import Document
from workflows.contracts.settings import SessionSettings

pytestmark = pytest.mark.journey


def whole(objects: list[bytes]) -> bytes:
    """A file of these objects, the first of them its root."""
    made, places = b"%PDF-1.4\n", []
    for number, each in enumerate(objects, 1):
        places.append(len(made))
        made += b"%d 0 obj\n%s\nendobj\n" % (number, each)
    table = "".join(f"{place:010} 00000 n \n" for place in places)
    return (
        made
        + (
            f"xref\n0 {len(objects) + 1}\n0000000000 65535 f \n{table}"
            f"trailer\n<< /Size {len(objects) + 1} /Root 1 0 R >>\n"
            f"startxref\n{len(made)}\n%%EOF\n"
        ).encode()
    )


def pdf(pages: int, *, password: str | None = None) -> bytes:
    """A PDF whose pages say their number."""
    kids = " ".join(f"{3 + 2 * n} 0 R" for n in range(pages))
    font = "<< /Font << /F1 << /Type /Font /Subtype /Type1 /BaseFont /Helvetica >> >> >>"
    objects = ["<< /Type /Catalog /Pages 2 0 R >>", f"<< /Type /Pages /Kids [{kids}] /Count {pages} >>"]
    for n in range(pages):
        words = f"BT /F1 24 Tf 72 700 Td (this is page {n + 1}) Tj ET"
        size = "/MediaBox [0 0 612 792]"
        objects += [
            f"<< /Type /Page /Parent 2 0 R {size} /Resources {font} /Contents {4 + 2 * n} 0 R >>",
            f"<< /Length {len(words)} >>\nstream\n{words}\nendstream",
        ]
    made = whole([each.encode() for each in objects])
    if password is None:
        return made
    writer = PdfWriter(clone_from=io.BytesIO(made))
    writer.encrypt(password, "the owner's")
    file = io.BytesIO()
    writer.write(file)
    return file.getvalue()


async def read(world: World, tmp_path: Path, data: bytes, takes_documents: bool = True, **given: Any) -> Any:
    work = tmp_path / "work"
    work.mkdir(exist_ok=True)
    (work / "a.pdf").write_bytes(data)
    settings = SessionSettings(takes_documents=takes_documents)
    return await use(make_call(world, work, settings=settings), Read(), file_path="a.pdf", **given)


async def test_a_short_pdf_is_shown_as_it_is(world: World, tmp_path: Path) -> None:
    told = await read(world, tmp_path, pdf(10))
    [document] = [block for block in told.content if isinstance(block, Document)]
    assert await world.store.get(document.digest) == pdf(10)
    assert "10 pages:" in text_of(told)


async def test_named_pages_make_a_pdf_of_their_own(world: World, tmp_path: Path) -> None:
    told = await read(world, tmp_path, pdf(30), pages="5-7")
    [document] = [block for block in told.content if isinstance(block, Document)]
    pages = PdfReader(io.BytesIO(await world.store.get(document.digest))).pages
    assert [page.extract_text() for page in pages] == ["this is page 5", "this is page 6", "this is page 7"]
    assert (told.data["pages"], told.data["first"], told.data["last"]) == (30, 5, 7)


@pytest.mark.parametrize(("more", "given"), [(True, {"as_text": True}), (False, {})])
async def test_the_text_of_the_pages_is_shown_if_asked_or_if_the_model_takes_no_documents(
    world: World, tmp_path: Path, more: bool, given: dict[str, Any]
) -> None:
    told = await read(world, tmp_path, pdf(2), more, **given)
    assert "[page 1]\nthis is page 1\n[page 2]\nthis is page 2" in text_of(told)
    assert [block.kind for block in told.content] == ["text"]


async def test_a_pdf_that_only_restricts_its_use_is_sent_without_encryption(world: World, tmp_path: Path) -> None:
    told = await read(world, tmp_path, pdf(2, password=""))
    [document] = [block for block in told.content if isinstance(block, Document)]
    assert b"/Encrypt" not in await world.store.get(document.digest)


@pytest.mark.parametrize(
    ("data", "given", "why"),
    [
        (pdf(101), {}, "101 pages; more than 10 are shown only if you name them"),
        (pdf(101), {"pages": "1-21"}, "21 pages are too many: at most 20"),
        (pdf(12), {"pages": "13"}, "12 pages: there is no page 13"),
        (pdf(12), {"pages": "5-3"}, "names no page"),
        (pdf(12), {"pages": "all"}, "Give a page or a range"),
        (pdf(2, password="secret"), {}, "encrypted and needs a password"),
        (pdf(3)[:300], {}, "damaged or no whole PDF"),
        (b"%PDF-1.7\n" + b"x" * 500, {}, "damaged or no whole PDF"),
    ],
    ids=["long", "many", "beyond", "reversed", "words", "password", "torn", "garbage"],
)
async def test_what_cannot_be_shown_is_told_with_what_to_do(
    world: World, tmp_path: Path, data: bytes, given: dict[str, Any], why: str
) -> None:
    with pytest.raises(ToolError, match=why):
        await read(world, tmp_path, data, **given)


def costly(words: int) -> bytes:
    """A page whose small stream becomes that many words."""
    stream = zlib.compress(b"BT /F1 9 Tf " + b"(ab) Tj " * words + b"ET")
    return whole(
        [
            b"<< /Type /Catalog /Pages 2 0 R >>",
            b"<< /Type /Pages /Kids [3 0 R] /Count 1 >>",
            b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Contents 4 0 R /Resources 5 0 R >>",
            b"<< /Filter /FlateDecode /Length %d >>\nstream\n%s\nendstream" % (len(stream), stream),
            b"<< /Font << /F1 << /Type /Font /Subtype /Type1 /BaseFont /Helvetica >> >> >>",
        ]
    )


def test_a_file_that_takes_too_long_is_given_up(tmp_path: Path) -> None:
    (tmp_path / "a.pdf").write_bytes(costly(500_000))
    with (tmp_path / "a.pdf").open("rb") as file, pytest.raises(ToolError, match=r"within 1 s\. Try fewer pages"):
        show_pdf(file.fileno(), "a.pdf", "", as_text=True, stopped=lambda: False, limits=Limits(seconds=1))


def test_a_page_that_takes_too_much_memory_takes_none_of_the_worker(tmp_path: Path) -> None:
    (tmp_path / "a.pdf").write_bytes(costly(8_000_000))
    before, limits = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, Limits(memory=200 * 1024 * 1024)
    with (tmp_path / "a.pdf").open("rb") as file:
        shown = show_pdf(file.fileno(), "a.pdf", "", as_text=True, stopped=lambda: False, limits=limits)
    assert "[its text cannot be read: MemoryError]" in shown.text
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 50 * 1024


def test_a_read_that_is_stopped_ends_the_reading_process(tmp_path: Path) -> None:
    (tmp_path / "a.pdf").write_bytes(costly(500_000))
    began = time.monotonic()
    with (tmp_path / "a.pdf").open("rb") as file, pytest.raises(ToolError):
        show_pdf(file.fileno(), "a.pdf", "", as_text=True, stopped=lambda: time.monotonic() > began + 0.5)
    assert time.monotonic() - began < 10
    assert not any("pdf_pages" in " ".join(each.cmdline()) for each in psutil.Process().children())
