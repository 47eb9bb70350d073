"""PDFs: their pages as a document for the model, or as text; what is wrong with the others."""

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path

from activities.stores.pdf_pages import DOCUMENT_BYTES, MEMORY, SECONDS
from workflows.contracts.errors import ToolError
from workflows.contracts.messages import clean

PDF_BYTES = 100 * 1024 * 1024
"""Bytes of a file that is looked at."""

_ROOT = str(Path(__file__).resolve().parents[2])
_LAUNCH = "import sys; sys.path.append(sys.argv.pop(1)); from activities.stores import pdf_pages; pdf_pages.main()"
_LOOK_S = 0.1


@dataclass(frozen=True)
class Limits:
    """What the reading of one file may take; more of either ends it."""

    seconds: int = SECONDS
    memory: int = MEMORY
    """Bytes."""


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


def show_pdf(
    descriptor: int,
    name: str,
    pages: str,
    *,
    as_text: bool,
    stopped: Callable[[], bool],
    limits: Limits | None = None,
) -> ShownPdf:
    """The wanted pages, as a document if that can be sent, else as text. Raises ToolError for what cannot be read."""
    limits = limits or Limits()
    os.lseek(descriptor, 0, os.SEEK_SET)
    asked = json.dumps({"pages": pages, "as_text": as_text, **asdict(limits)})
    line, _, document = _read(descriptor, name, asked, limits.seconds, stopped).partition(b"\n")
    told = json.loads(line)
    if error := told.get("error"):
        raise ToolError(f"{name} {clean(error)}.{_advice(error)}")
    count, first, last = told["pages"], told["first"], told["last"]
    what = f"{name}, {count} pages" if count > 1 else f"{name}, 1 page"
    part = "" if (first, last) == (1, count) else f", pages {first} to {last}"
    if "text" in told:
        return ShownPdf(f"{what}{part}, as text:\n{clean(told['text'])}", count, first, last)
    if told.get("is_whole"):
        document = os.pread(descriptor, DOCUMENT_BYTES, 0)
    return ShownPdf(f"{what}{part}:", count, first, last, document)


def _read(descriptor: int, name: str, asked: str, seconds: int, stopped: Callable[[], bool]) -> bytes:
    """What the process that reads it prints; it ends with us, with its time, or when this is stopped."""
    kept = {each: os.environ[each] for each in ("PATH", "LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH") if each in os.environ}
    command = [sys.executable, "-I", "-X", "utf8", "-c", _LAUNCH, _ROOT, asked]
    until = time.monotonic() + seconds
    with subprocess.Popen(
        command, stdin=descriptor, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, cwd="/", env=kept
    ) as process:
        while True:
            try:
                output, _errors = process.communicate(timeout=_LOOK_S)
                break
            except subprocess.TimeoutExpired:
                if stopped() or time.monotonic() >= until:
                    process.kill()
                    raise ToolError(f"{name} could not be read within {seconds} s.{_advice('')}") from None
    if process.returncode:
        raise ToolError(f"{name} could not be read: it takes too long, or too much memory.{_advice('')}")
    return output


def _advice(error: str) -> str:
    if "password" in error:
        return " Ask the person for a copy without one, or decrypt it with Bash (qpdf --decrypt)."
    if "damaged" in error:
        return " Get a sound copy, or look at its bytes with Bash."
    return "" if "pages" in error else " Try fewer pages, or a program for it in Bash (pdftotext)."
