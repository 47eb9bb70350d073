"""Read: show a file."""

import asyncio
import io
import os
import threading
from dataclasses import dataclass
from pathlib import Path

from pydantic import Field, JsonValue

from activities.safety.paths import located, named, own_findings
from activities.stores.digests import digest_of
from activities.stores.notebooks import NOTEBOOK_BYTES, parse_notebook
from activities.stores.pages import LINE_WIDTH, PAGE_CHARACTERS, Page, read_page, text_of
from activities.stores.pdfs import PDF_BYTES, show_pdf
from activities.stores.pictures import Fitted, fitted
from activities.stores.regular_files import chunks, opened, shown
from activities.stores.stored_results import fetch_result, is_result_name
from activities.stores.survey import PDF, Survey, survey
from activities.tool import Call, Tool, ToolInput
from workflows.contracts.errors import ToolError
from workflows.contracts.messages import Document, Image, Shown, Text, clean
from workflows.contracts.permissions import Finding
from workflows.contracts.tools import Effect, Repeat, ToolOutcome

LINES = 2_000
PICTURE_BYTES = 64 * 1024 * 1024
"""Bytes of a picture that are looked at; more is refused unseen."""
UNSIZED_BYTES = 10 * 1024 * 1024
"""Bytes read of a file that says it has none, as those of /proc do."""
PICTURE_NAMES = {".png", ".jpg", ".jpeg", ".gif", ".webp"}


class Input(ToolInput):
    file_path: str = Field(
        description="File to read: absolute, or relative to the workspace; or `result:<digest>` as a preview named it."
    )
    offset: int = Field(default=1, ge=0, description="Number of the first line to show, from 1.")
    limit: int = Field(default=LINES, ge=1, description=f"Most lines to show; {LINES:,} when not given.")
    pages: str = Field(default="", description="Pages of a PDF, such as '3' or '3-7'; at most 20 at once.")
    as_text: bool = Field(default=False, description="Show the text of a PDF's pages instead of the pages themselves.")


class Read(Tool[Input]):
    """Show a file: text with line numbers, a picture, pages of a PDF, or the cells of a notebook.

    - Each line of text is shown as its number, an arrow (→) and the line. Number and arrow are no part of the file.
    - Shows 2,000 lines or 80,000 characters at once, whichever is less, and says how to get the rest with `offset`.
      A line of more than 2,000 characters is cut there, with the number of characters left out.
    - Pictures (PNG, JPEG, GIF, WebP) are recognised by content; of a large one a smaller copy is shown. Notebooks
      (.ipynb) are shown as cells with outputs. Other binary files are only named.
    - A PDF of more than 10 pages needs `pages`. Set `as_text` if its words are enough.
    - Text that is neither marked Unicode nor UTF-8 is shown as Latin-1, with a note.
    - `result:<digest>` shows a stored result that was too long; there, a line over 2,000 characters is broken into
      several, so that all of it can be reached with `offset` and `limit`.
    - Folders, devices, pipes and sockets are refused; use Glob for a folder.
    - Read a file before changing it with Edit or Write. Several files may be read at once.
    """

    name = "Read"
    input = Input
    is_read_only = True
    may_run_beside_others = True
    repeat = Repeat.SAFE
    result_limit = 400_000
    """A page is bounded already; a numbered long line may stand behind its last one."""
    timeout = 120

    def summary(self, given: Input) -> str:
        part = "" if (given.offset, given.limit) == (1, LINES) else f" from line {given.offset}, {given.limit} lines"
        part = f" pages {given.pages}" if given.pages else part
        return f"{shown(given.file_path)}{part}"

    def paths(self, call: Call, given: Input) -> tuple[Path, ...]:
        return () if is_result_name(given.file_path) else (named(call, given.file_path),)

    def findings(self, call: Call, given: Input) -> tuple[Finding, ...]:
        return own_findings(call, self.paths(call, given))

    async def run(self, call: Call, given: Input) -> ToolOutcome:
        if is_result_name(given.file_path):
            data = await fetch_result(call.world.store, given.file_path)
            return await asyncio.to_thread(_result, data, given)
        stop = threading.Event()
        try:
            look = await asyncio.to_thread(_look, call, given, stop)
        finally:
            stop.set()
        return ToolOutcome(
            content=(Text(text=look.text), *[await _stored(call, *each) for each in look.media]),
            effects=(Effect(kind="read", path=shown(look.path), before=look.digest, after=look.digest),),
            data=look.facts,
        )


@dataclass
class _Look:
    """What one look at a file gave."""

    path: Path
    digest: str
    text: str
    media: tuple[tuple[str, bytes], ...]
    """Media type and bytes of pictures and documents."""
    facts: dict[str, JsonValue]


async def _stored(call: Call, media_type: str, data: bytes) -> Shown:
    kind = Image if media_type.startswith("image/") else Document
    return kind(media_type=media_type, digest=await call.world.store.put(data), size=len(data))


def _look(call: Call, given: Input, stop: threading.Event) -> _Look:
    path = located(call, given.file_path)
    with opened(path) as descriptor:
        before = os.fstat(descriptor)
        if before.st_size == 0:
            return _unsized(call, path, descriptor, given)
        seen = survey(descriptor, stop.is_set)
        look = _shown(call, path, descriptor, seen, given, stop)
        after = os.fstat(descriptor)
    if (before.st_size, before.st_mtime_ns) != (after.st_size, after.st_mtime_ns):
        look.text += "\n[The file changed while it was read. Read it again before changing it.]"
    elif seen.digest:
        call.seen.note(path, seen.digest)
    return look


def _unsized(call: Call, path: Path, descriptor: int, given: Input) -> _Look:
    """An empty file, or one of /proc and the like that never says its size."""
    data = b""
    try:
        for piece in chunks(descriptor):
            data += piece
            if len(data) >= UNSIZED_BYTES:
                break
    except BlockingIOError:
        data = data or b"[nothing to read at the moment]"
    if not data:
        digest = digest_of(b"")
        call.seen.note(path, digest)
        return _Look(path, digest, f"{shown(path)} exists and is empty (0 bytes).", (), {"lines": 0})
    text, facts = _page(read_page(text_of(data), given.offset or 1, given.limit), given)
    return _Look(path, "", text, (), facts)


def _shown(call: Call, path: Path, descriptor: int, seen: Survey, given: Input, stop: threading.Event) -> _Look:
    if seen.picture:
        return _picture(path, descriptor, seen)
    if seen.binary == PDF and seen.size <= PDF_BYTES:
        return _pdf(call, path, descriptor, seen, given, stop)
    if seen.binary:
        text = (
            f"{shown(path)} is {seen.binary} of {seen.size:,} bytes: not shown as text. "
            "Use Bash with a program that knows the format (file, strings, xxd, unzip -l, pdftotext …)."
        )
        return _Look(path, seen.digest, text, (), {"bytes": seen.size})
    if path.suffix.lower() == ".ipynb" and seen.size <= NOTEBOOK_BYTES:
        book = parse_notebook(b"".join(chunks(descriptor)))
        os.lseek(descriptor, 0, os.SEEK_SET)
        if book is not None:
            text, facts = _page(read_page(io.StringIO("\n".join(book.lines)), given.offset or 1, given.limit), given)
            tried = [fitted(data, media_type) for media_type, data in book.pictures]
            sound = tuple((each.media_type, each.data) for each in tried if isinstance(each, Fitted))
            if len(sound) < len(book.pictures):
                text += f"\n[{len(book.pictures) - len(sound)} pictures cannot be sent: too large or damaged]"
            note = "[cells and outputs of a notebook; the file itself is JSON, which Bash can show]\n"
            return _Look(path, seen.digest, note + text, sound, facts)
    return _text(path, descriptor, seen, given, stop)


def _picture(path: Path, descriptor: int, seen: Survey) -> _Look:
    name = f"{shown(path)} ({seen.picture}, {seen.size:,} bytes)"
    if seen.size > PICTURE_BYTES:
        return _Look(path, seen.digest, f"{name} is not shown: it is too large to be sent.", (), {"bytes": seen.size})
    picture = fitted(b"".join(chunks(descriptor)), seen.picture)
    if isinstance(picture, str):
        text = f"{name} is not shown: {picture}. Make a smaller or sound copy with Bash and read that."
        return _Look(path, seen.digest, text, (), {"bytes": seen.size})
    text = f"{name}{', ' if picture.note else ''}{picture.note}:"
    return _Look(path, seen.digest, text, ((picture.media_type, picture.data),), {"bytes": seen.size})


def _pdf(call: Call, path: Path, descriptor: int, seen: Survey, given: Input, stop: threading.Event) -> _Look:
    name = f"{shown(path)} ({PDF}, {seen.size:,} bytes)"
    as_text = given.as_text or not call.settings.takes_documents
    pdf = show_pdf(descriptor, name, given.pages, as_text=as_text, stopped=stop.is_set)
    media = (("application/pdf", pdf.document),) if pdf.document else ()
    return _Look(path, seen.digest, pdf.text, media, {"pages": pdf.pages, "first": pdf.first, "last": pdf.last})


def _text(path: Path, descriptor: int, seen: Survey, given: Input, stop: threading.Event) -> _Look:
    os.lseek(descriptor, len(seen.coding.mark), os.SEEK_SET)
    with io.TextIOWrapper(
        io.BufferedReader(io.FileIO(descriptor, closefd=False)), encoding=seen.coding.name, errors="replace"
    ) as source:
        text, facts = _page(read_page(source, given.offset or 1, given.limit, stopped=stop.is_set), given)
    notes = []
    if seen.coding.is_guess:
        notes.append("[not UTF-8: shown as Latin-1, so letters beyond ASCII may be wrong]")
    elif seen.coding.name != "utf-8":
        notes.append(f"[encoded as {seen.coding.name}]")
    if path.suffix.lower() in PICTURE_NAMES:
        notes.append(f"[named {path.suffix}, but its content is text, not a picture]")
    if not seen.digest:
        notes.append("[too large to be changed with Edit or Write]")
    return _Look(path, seen.digest, "\n".join([*map(clean, notes), text]), (), facts)


def _page(page: Page, given: Input) -> tuple[str, dict[str, JsonValue]]:
    """A page as the model reads it, with what it needs to go on; and the facts for the screen."""
    if page.last < page.first:
        if page.total == 0:
            return "[no text]", {"lines": 0}
        raise ToolError(f"There is no line {page.first:,}: the text has {page.total:,} lines. Give a smaller offset.")
    facts: dict[str, JsonValue] = {"first": page.first, "last": page.last, "lines": page.total}
    if not page.has_more:
        return page.text, facts
    of = f" of {page.total:,}" if page.total else ""
    part = f"[PARTIAL: lines {page.first:,} to {page.last:,}{of}. Go on with offset {page.last + 1}.]"
    return f"{page.text}\n{part}", facts


def _result(data: bytes, given: Input) -> ToolOutcome:
    page = read_page(text_of(data), given.offset or 1, given.limit, fold=True)
    text, facts = _page(page, given)
    is_folded = any(len(line) > LINE_WIDTH for line in data[:PAGE_CHARACTERS].decode("utf-8", "replace").split("\n"))
    note = f"[lines over {LINE_WIDTH:,} characters are broken: the numbers count the pieces]\n" if is_folded else ""
    return ToolOutcome(content=(Text(text=note + text),), data=facts)
