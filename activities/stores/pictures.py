"""Pictures: what a provider takes of them, and what is wrong with the others."""

import io
import warnings

SIDE = 8_000
"""Most pixels of a side."""
BASE64_BYTES = 5 * 1024 * 1024
"""Most bytes of a picture as it travels, in base64."""


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
        return SIDE + 1, SIDE + 1
    except Exception:  # noqa: BLE001  # Pillow's parsers raise what they like on damaged bytes
        return None
    return width, height


def why_refused(data: bytes) -> str:
    """What keeps this picture from being sent, as half a sentence; empty when nothing does."""
    travelling = (len(data) + 2) // 3 * 4
    if travelling > BASE64_BYTES:
        return f"it takes {travelling:,} bytes in base64, and {BASE64_BYTES:,} is the most that can be sent"
    size = picture_size(data)
    if size is None:
        return "its bytes are damaged or incomplete"
    if max(size) > SIDE:
        return f"it is {size[0]} × {size[1]} pixels or more, and {SIDE} a side is the most that can be sent"
    return ""
