"""Survey: what a file is before it is shown; digest, coding, text or not, in flat memory."""

import codecs
import os
from collections.abc import Callable
from dataclasses import dataclass

from activities.stores.regular_files import CHUNK, WHOLE_LIMIT, hash_rest
from activities.stores.text_files import LATIN1, UTF8, Coding, marked_coding

SAMPLE = 64 * 1024
CONTROLS = bytes(set(range(32)) - set(b"\t\n\r\f\b\x1b"))
PDF = "a PDF document"
MAGIC = (
    (b"%PDF-", PDF),
    (b"\x7fELF", "an ELF program or library"),
    (b"PK\x03\x04", "a ZIP archive (or a document made of one)"),
    (b"\x1f\x8b", "gzip data"),
    (b"BZh", "bzip2 data"),
    (b"\xfd7zXZ\x00", "xz data"),
    (b"\x28\xb5\x2f\xfd", "zstd data"),
    (b"SQLite format 3\x00", "an SQLite database"),
    (b"\x00asm", "a WebAssembly module"),
    (b"\xca\xfe\xba\xbe", "a Java class or Mach-O file"),
    (b"\xcf\xfa\xed\xfe", "a Mach-O program"),
)
PICTURES = (
    (b"\x89PNG\r\n\x1a\n", "image/png"),
    (b"\xff\xd8\xff", "image/jpeg"),
    (b"GIF87a", "image/gif"),
    (b"GIF89a", "image/gif"),
)


@dataclass(frozen=True)
class Survey:
    """What a look at a whole file gave."""

    size: int
    digest: str
    """SHA-256 of all bytes; empty for a file too large to be changed."""
    coding: Coding
    picture: str
    """Media type when the bytes are a picture's."""
    binary: str
    """In words what it is when it is neither text nor picture; empty for text."""


def survey(descriptor: int, stopped: Callable[[], bool] = lambda: False) -> Survey:
    """Look at a regular file from its start; the descriptor stands at its start again afterwards."""
    size = os.fstat(descriptor).st_size
    start = os.pread(descriptor, SAMPLE, 0)
    check = _Utf8Check()
    if size > WHOLE_LIMIT:
        digest = ""
        check.look(os.pread(descriptor, CHUNK, 0))
    else:
        digest = hash_rest(descriptor, check.look, stopped)
        check.end()
    os.lseek(descriptor, 0, os.SEEK_SET)
    coding = marked_coding(start) or (UTF8 if check.is_valid else LATIN1)
    picture = picture_type(start)
    return Survey(size, digest, coding, picture, "" if picture else _binary(start, coding))


def picture_type(start: bytes) -> str:
    """Media type of a picture by its first bytes, whatever its name; empty for anything else."""
    if start[:4] == b"RIFF" and start[8:12] == b"WEBP":
        return "image/webp"
    return next((kind for magic, kind in PICTURES if start.startswith(magic)), "")


def _binary(start: bytes, coding: Coding) -> str:
    known = next((name for magic, name in MAGIC if start.startswith(magic)), "")
    if known or coding.mark:
        return known
    controls = len(start) - len(start.translate(None, CONTROLS))
    return "binary data" if controls > max(1, len(start) // 100) else ""


class _Utf8Check:
    """Whether pieces, put together, are UTF-8."""

    def __init__(self) -> None:
        self.is_valid = True
        self._decoder = codecs.getincrementaldecoder("utf-8")()

    def look(self, piece: bytes) -> None:
        if not self.is_valid or (piece.isascii() and not self._decoder.getstate()[0]):
            return
        try:
            self._decoder.decode(piece)
        except UnicodeDecodeError:
            self.is_valid = False

    def end(self) -> None:
        """There is no more: half a character at the end is damage."""
        if self._decoder.getstate()[0]:
            self.is_valid = False
