"""Pictures: what a provider takes, smaller copies of those that are too large, what is wrong with the others."""

import io
import threading
import warnings
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from PIL.Image import Image as Picture

SIDE = 8_000
"""Most pixels of a side."""
BASE64_BYTES = 5 * 1024 * 1024
"""Most bytes of a picture as it travels, in base64."""
SENT_SIDE = 2_000
"""Pixels of a side that a smaller copy has: the provider takes no more of each where a request holds many pictures."""
MOST_PIXELS = 64_000_000
"""Pixels of a picture that is decoded: some 250 MB of memory, twice that where some of it is transparent."""
LONGEST_SIDE = 65_535
"""Pixels of a side of such a picture: each line takes memory of its own."""
_ONE = threading.Lock()
"""Held while one is decoded: many at once would take all memory."""
_QUALITIES = (85, 70, 50, 30)


@dataclass(frozen=True)
class Fitted:
    """A picture as it is sent."""

    media_type: str
    data: bytes
    note: str = ""
    """How it differs from the file; empty for the file's own bytes."""


def fitted(data: bytes, media_type: str) -> Fitted | str:
    """The picture itself if it can be sent, else a smaller copy; half a sentence that says why there is none."""
    size = picture_size(data)
    if size is None:
        return "its bytes are damaged or incomplete"
    can_be_sent = travelling(len(data)) <= BASE64_BYTES and max(size) <= SIDE
    if can_be_sent and max(size) <= SENT_SIDE:
        return Fitted(media_type, data)
    smaller = _smaller(data, size)
    return Fitted(media_type, data) if isinstance(smaller, str) and can_be_sent else smaller


def travelling(size: int) -> int:
    """Bytes that so many take in base64."""
    return (size + 2) // 3 * 4


def picture_size(data: bytes) -> tuple[int, int] | None:
    """Width and height in pixels; None when the bytes are no whole picture."""
    from PIL import Image

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", Image.DecompressionBombWarning)
            with Image.open(io.BytesIO(data)) as picture:
                width, height = picture.size
                picture.verify()
    except Image.DecompressionBombError:
        return MOST_PIXELS, MOST_PIXELS
    except Exception:  # noqa: BLE001  # Pillow's parsers raise what they like on damaged bytes
        return None
    return width, height


def _smaller(data: bytes, size: tuple[int, int]) -> Fitted | str:
    from PIL import Image, ImageOps

    if size[0] * size[1] > MOST_PIXELS or max(size) > LONGEST_SIDE:
        return f"it is {size[0]} × {size[1]} pixels, too many to make a smaller copy of"
    try:
        with _ONE, Image.open(io.BytesIO(data)) as picture:
            is_photo = picture.format == "JPEG"
            ImageOps.exif_transpose(picture, in_place=True)
            picture.thumbnail((SENT_SIDE, SENT_SIDE))
            made = _within_limit(picture, is_photo=is_photo)
    except Exception as error:  # noqa: BLE001  # Pillow's parsers raise what they like on damaged bytes
        return f"no smaller copy can be made of it ({type(error).__name__})"
    if made is None:
        return "even a smaller copy takes too many bytes"
    now = f"{picture.size[0]} × {picture.size[1]}"
    return Fitted(*made, f"a smaller copy of {now} pixels; the file has {size[0]} × {size[1]}")


def _within_limit(picture: "Picture", *, is_photo: bool) -> tuple[str, bytes] | None:
    """As PNG where that is small enough and no photo, else as JPEG of falling quality."""
    mode = "RGBA" if _has_alpha(picture) else "RGB"
    if not is_photo and (copy := _written(picture.convert(mode), "PNG")) is not None:
        return "image/png", copy
    from PIL import Image

    flat = picture.convert("RGB")
    if _has_alpha(picture):
        flat = Image.new("RGB", picture.size, "white")
        flat.paste(picture.convert("RGBA"), mask=picture.convert("RGBA").getchannel("A"))
    for quality in _QUALITIES:
        if (copy := _written(flat, "JPEG", quality)) is not None:
            return "image/jpeg", copy
    return None


def _has_alpha(picture: "Picture") -> bool:
    return picture.mode in {"RGBA", "LA", "PA"} or "transparency" in picture.info


def _written(picture: "Picture", kind: str, quality: int = 0) -> bytes | None:
    made = io.BytesIO()
    picture.save(made, kind, **({"quality": quality} if quality else {}))
    return made.getvalue() if travelling(made.tell()) <= BASE64_BYTES else None
