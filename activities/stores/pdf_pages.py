"""The pages of one PDF, read in a process of its own: what a damaged or hostile file costs ends with it.

It is started with the file as standard input and what is asked as JSON; it imports nothing of ours.
"""

import io
import json
import re
import resource
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pypdf import PdfReader

MEMORY = 1024 * 1024 * 1024
SECONDS = 60
"""Bytes and seconds that the reading of one file may take."""
DOCUMENT_BYTES = 10 * 1024 * 1024
"""Bytes of a document that is sent; a request takes 32 MiB in base64, and holds more than this one."""
PAGES_UNASKED = 10
PAGES_AT_ONCE = 20
"""Pages shown without naming any, and most that are named (spec 05 §2)."""
TEXT_CHARACTERS = 80_000

_RANGE = re.compile(r"(\d+)(?:\s*-\s*(\d+))?")


class UnreadableError(Exception):
    """Why these pages cannot be shown."""


def main() -> None:
    """Print a line of JSON: the pages or `error`; a document that had to be made follows it."""
    asked, document = json.loads(sys.argv[1]), b""
    resource.setrlimit(resource.RLIMIT_AS, (asked["memory"],) * 2)
    resource.setrlimit(resource.RLIMIT_CPU, (asked["seconds"],) * 2)
    try:
        told, document = _pages(sys.stdin.buffer.read(), asked["pages"], as_text=asked["as_text"])
    except UnreadableError as error:
        told = {"error": str(error)}
    except MemoryError:
        told = {"error": "needs too much memory"}
    sys.stdout.buffer.write(json.dumps(told).encode() + b"\n" + document)


def _pages(data: bytes, pages: str, *, as_text: bool) -> tuple[dict[str, object], bytes]:
    reader, count = _opened(data)
    first, last = _wanted(pages, count)
    told: dict[str, object] = {"pages": count, "first": first, "last": last}
    if not as_text:
        if (first, last) == (1, count) and not reader.is_encrypted and len(data) <= DOCUMENT_BYTES:
            return {**told, "is_whole": True}, b""
        document = _document(reader, first, last)
        if document and len(document) <= DOCUMENT_BYTES:
            return told, document
    return {**told, "text": _text(reader, first, last)}, b""


def _opened(data: bytes) -> "tuple[PdfReader, int]":
    from pypdf import PdfReader
    from pypdf.errors import FileNotDecryptedError

    locked = "is encrypted and needs a password"
    try:
        reader = PdfReader(io.BytesIO(data))
        if reader.is_encrypted and not reader.decrypt(""):
            raise UnreadableError(locked)
        count = len(reader.pages)
    except (UnreadableError, MemoryError):
        raise
    except FileNotDecryptedError:
        raise UnreadableError(locked) from None
    except Exception as error:  # pypdf's parsers raise what they like on damaged bytes
        raise UnreadableError(f"is damaged or no whole PDF: {str(error)[:200] or type(error).__name__}") from error
    if not count:
        raise UnreadableError("has no pages")
    return reader, count


def _wanted(pages: str, count: int) -> tuple[int, int]:
    if not pages.strip():
        if count > PAGES_UNASKED:
            raise UnreadableError(
                f"has {count} pages; more than {PAGES_UNASKED} are shown only if you name them. "
                f"Give pages, such as '1-{PAGES_UNASKED}', at most {PAGES_AT_ONCE} at once"
            )
        return 1, count
    found = _RANGE.fullmatch(pages.strip())
    first, last = (int(found[1]), int(found[2] or found[1])) if found else (0, 0)
    if not 1 <= first <= last:
        raise UnreadableError(
            f"is not shown: {pages[:40]!r} names no page. Give a page or a range, such as '3-7'; pages count from 1"
        )
    if first > count:
        raise UnreadableError(f"has {count} pages: there is no page {first}")
    if last - first >= PAGES_AT_ONCE:
        raise UnreadableError(
            f"is not shown: {last - first + 1} pages are too many: at most {PAGES_AT_ONCE} are shown at once"
        )
    return first, min(last, count)


def _document(reader: "PdfReader", first: int, last: int) -> bytes:
    """A PDF of these pages; empty when none can be made of them."""
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


def _text(reader: "PdfReader", first: int, last: int) -> str:
    parts: list[str] = []
    for number in range(first, last + 1):
        parts += [f"[page {number}]", _page_text(reader, number)]
    return _cut(parts)


def _page_text(reader: "PdfReader", number: int) -> str:
    try:
        text = reader.pages[number - 1].extract_text()
    except Exception as error:  # noqa: BLE001  # one page that cannot be read hides no other
        return f"[its text cannot be read: {str(error)[:200] or type(error).__name__}]"
    return text.strip() or "[no text: perhaps a scanned picture]"


def _cut(parts: Sequence[str]) -> str:
    whole = "\n".join(parts)
    if len(whole) <= TEXT_CHARACTERS:
        return whole
    return f"{whole[:TEXT_CHARACTERS]}\n[PARTIAL: {len(whole) - TEXT_CHARACTERS:,} more characters; name fewer pages]"
