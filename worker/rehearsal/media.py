"""What the provider refuses of pictures and documents."""

import base64
import binascii
import hashlib
import io
import re
import warnings
from collections.abc import Iterator
from functools import lru_cache

from worker.rehearsal.asked import Asked, Json
from worker.rehearsal.scenario import Limits

IMAGE_TYPES = frozenset({"image/png", "image/jpeg", "image/gif", "image/webp"})

_PAGE = re.compile(rb"/Type\s*/Page(?![A-Za-z])")
_COUNT = re.compile(rb"/Count\s+(\d+)")


def image_too_large(asked: Asked, limits: Limits) -> str | None:
    """A picture of more base64 bytes than the provider takes."""
    for place, source in _sources(asked, "image"):
        if (size := len(source["data"])) > limits.image_base64:
            return f"{place}.image.source.base64: image exceeds {limits.image_base64} bytes maximum: {size} bytes"
    return None


def image_too_wide(asked: Asked, limits: Limits) -> str | None:
    """A picture with a side of more pixels than the provider takes."""
    for place, source in _sources(asked, "image"):
        size = _picture(source)
        if size is not None and max(size) > limits.image_side:
            side = f"At least one of the image dimensions exceed max allowed size: {limits.image_side} pixels"
            return f"{place}.image.source.base64.data: {side}"
    return None


def image_unreadable(asked: Asked, _: Limits) -> str | None:
    """A picture that is none, or not of the type it is said to be."""
    for place, source in _sources(asked, "image"):
        if source.get("media_type") not in IMAGE_TYPES:
            return f"{place}.image.source.base64.media_type: Input should be one of {', '.join(sorted(IMAGE_TYPES))}"
        if _picture(source) is None:
            return f"{place}.image.source.base64: Could not process image"
    return None


def pdf_too_long(asked: Asked, limits: Limits) -> str | None:
    """A document of more pages than the provider takes."""
    for place, data in _pdfs(asked):
        if (pages := _pages(data)) > limits.pdf_pages:
            return f"{place}.document: A maximum of {limits.pdf_pages} PDF pages may be provided, found {pages}."
    return None


def pdf_unreadable(asked: Asked, _: Limits) -> str | None:
    """A document that is not a PDF."""
    for place, data in _pdfs(asked):
        if not data.lstrip().startswith(b"%PDF-"):
            return f"{place}.document.source.base64.data: The PDF specified was not valid."
    return None


def pdf_encrypted(asked: Asked, _: Limits) -> str | None:
    """A document that needs a password."""
    for place, data in _pdfs(asked):
        if b"/Encrypt" in data:
            return f"{place}.document.source.base64.data: The PDF specified is password protected."
    return None


def _sources(asked: Asked, kind: str) -> Iterator[tuple[str, Json]]:
    """The base64 sources of one kind of block, each with its place."""
    for place, block in asked.media:
        source = block["source"]
        if block["type"] == kind and source.get("type") == "base64" and isinstance(source.get("data"), str):
            yield place, source


def _pdfs(asked: Asked) -> Iterator[tuple[str, bytes]]:
    for place, source in _sources(asked, "document"):
        try:
            yield place, base64.b64decode(source["data"], validate=True)
        except (binascii.Error, ValueError):
            yield place, b""


def _pages(data: bytes) -> int:
    """Pages by their objects; where those are compressed, by the largest count that is stated."""
    return len(_PAGE.findall(data)) or max((int(n) for n in _COUNT.findall(data)), default=0)


def _picture(source: Json) -> tuple[int, int] | None:
    data = source["data"].encode("utf-8", "surrogatepass")
    return _size(_Data(hashlib.sha256(data).hexdigest(), data), str(source.get("media_type")))


class _Data:
    """A picture's base64, compared by digest, so that one picture in a thousand requests is decoded once."""

    def __init__(self, digest: str, data: bytes) -> None:
        self.digest = digest
        self.data = data

    def __hash__(self) -> int:
        return hash(self.digest)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Data) and other.digest == self.digest


@lru_cache(maxsize=16)
def _size(picture: _Data, media_type: str) -> tuple[int, int] | None:
    """Width and height; None if the picture cannot be read as what it is said to be."""
    from PIL import Image, UnidentifiedImageError  # a tenth of a second that only pictures need

    try:
        data = base64.b64decode(picture.data, validate=True)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", Image.DecompressionBombWarning)
            image = Image.open(io.BytesIO(data))
            size: tuple[int, int] = image.size
            image.verify()
    except Image.DecompressionBombError:
        return (1 << 31, 1 << 31)
    except (binascii.Error, ValueError, OSError, SyntaxError, UnidentifiedImageError):
        return None
    return size if image.get_format_mimetype() == media_type else None
