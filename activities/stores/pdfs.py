"""PDFs: their pages as a document for the model, or as text; what is wrong with the others."""

import io
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from workflows.contracts.errors import ToolError
from workflows.contracts.messages import clean

if TYPE_CHECKING:
    from pypdf import PdfReader

PDF_BYTES = 100 * 1024 * 1024
"""Bytes of a file that is looked at."""
DOCUMENT_BYTES = 10 * 1024 * 1024
"""Bytes of a document that is sent; a request takes 32 MiB in base64, and holds more than this one."""
PAGES_UNASKED = 10
PAGES_AT_ONCE = 20
"""Pages shown without naming any, and most that are named (spec 05 §2)."""
TEXT_CHARACTERS = 80_000

_RANGE = re.compile(r"(\d+)(?:\s*-\s*(\d+))?")


@dataclass(frozen=True)
class ShownPdf:
    """Pages of a PDF as they are shown."""

    text: str
    pages: int
    """Of the whole file."""
    first: int
    last: int
    document: bytes = b""
    """A PDF of these pages; empty where their text is shown instead."""


def show_pdf(data: bytes, name: str, pages: str, *, as_text: bool, stopped: Callable[[], bool]) -> ShownPdf:
    """The wanted pages, as a document if that can be sent, else as text. Raises ToolError for what cannot be read."""
    reader, count = _opened(data, name)
    first, last = _wanted(pages, count, name)
    what = f"{name}, {count} pages" if count > 1 else f"{name}, 1 page"
    part = "" if (first, last) == (1, count) else f", pages {first} to {last}"
    if not as_text:
        document = _document(data, reader, first, last)
        if document and len(document) <= DOCUMENT_BYTES:
            return ShownPdf(f"{what}{part}:", count, first, last, document)
    return ShownPdf(f"{what}{part}, as text:\n{_text(reader, first, last, stopped)}", count, first, last)


def _opened(data: bytes, name: str) -> "tuple[PdfReader, int]":
    from pypdf import PdfReader
    from pypdf.errors import FileNotDecryptedError

    try:
        reader = PdfReader(io.BytesIO(data))
        if reader.is_encrypted and not reader.decrypt(""):
            raise _needs_password(name)
        count = len(reader.pages)
    except ToolError:
        raise
    except FileNotDecryptedError:
        raise _needs_password(name) from None
    except Exception as error:  # pypdf's parsers raise what they like on damaged bytes
        raise ToolError(
            f"{name} is damaged or no whole PDF: {clean(str(error))[:200] or type(error).__name__}. "
            "Get a sound copy, or look at its bytes with Bash."
        ) from error
    if not count:
        raise ToolError(f"{name} has no pages.")
    return reader, count


def _needs_password(name: str) -> ToolError:
    return ToolError(
        f"{name} is encrypted and needs a password. Ask the person for a copy without one, "
        "or decrypt it with Bash (qpdf --decrypt)."
    )


def _wanted(pages: str, count: int, name: str) -> tuple[int, int]:
    if not pages.strip():
        if count > PAGES_UNASKED:
            raise ToolError(
                f"{name} has {count} pages; more than {PAGES_UNASKED} are shown only if you name them. "
                f"Give pages, such as '1-{PAGES_UNASKED}', at most {PAGES_AT_ONCE} at once."
            )
        return 1, count
    found = _RANGE.fullmatch(pages.strip())
    if found is None:
        raise ToolError(f"pages is {pages[:40]!r}. Give a page or a range, such as '3' or '3-7'.")
    first, last = int(found[1]), int(found[2] or found[1])
    if not 1 <= first <= last:
        raise ToolError(
            f"pages is {pages[:40]!r}, which names no page. Give a range such as '3-7'; pages count from 1."
        )
    if first > count:
        raise ToolError(f"{name} has {count} pages: there is no page {first}.")
    if last - first >= PAGES_AT_ONCE:
        raise ToolError(f"{last - first + 1} pages are too many: at most {PAGES_AT_ONCE} are shown at once.")
    return first, min(last, count)


def _document(data: bytes, reader: "PdfReader", first: int, last: int) -> bytes:
    """A PDF of these pages; empty when none can be made of them."""
    if (first, last) == (1, len(reader.pages)) and not reader.is_encrypted:
        return data
    from pypdf import PdfWriter

    try:
        writer = PdfWriter()
        for page in reader.pages[first - 1 : last]:
            writer.add_page(page)
        made = io.BytesIO()
        writer.write(made)
    except Exception:  # noqa: BLE001  # a page that cannot be copied may still have a text
        return b""
    return made.getvalue()


def _text(reader: "PdfReader", first: int, last: int, stopped: Callable[[], bool]) -> str:
    parts: list[str] = []
    for number in range(first, last + 1):
        if stopped():
            break
        parts += [f"[page {number}]", _page_text(reader, number)]
    return _cut(parts)


def _page_text(reader: "PdfReader", number: int) -> str:
    try:
        text = reader.pages[number - 1].extract_text()
    except Exception as error:  # noqa: BLE001  # one page that cannot be read hides no other
        return f"[its text cannot be read: {clean(str(error))[:200] or type(error).__name__}]"
    return clean(text).strip() or "[no text: perhaps a scanned picture]"


def _cut(parts: Sequence[str]) -> str:
    whole = "\n".join(parts)
    if len(whole) <= TEXT_CHARACTERS:
        return whole
    return f"{whole[:TEXT_CHARACTERS]}\n[PARTIAL: {len(whole) - TEXT_CHARACTERS:,} more characters; name fewer pages]"
