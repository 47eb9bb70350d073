"""A picture that unpacks to very much takes bounded memory, however many are read at once."""

import struct
import subprocess
import sys
import zlib
from pathlib import Path

import pytest

from activities.stores.pictures import fitted

ROOT = Path(__file__).parents[3]
MANY = """
import resource, sys, threading
from pathlib import Path
from activities.stores.pictures import fitted
data = Path(sys.argv[1]).read_bytes()
readers = [threading.Thread(target=fitted, args=(data, "image/png")) for _ in range(int(sys.argv[2]))]
[each.start() for each in readers]
[each.join() for each in readers]
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)
"""


def blank(width: int, height: int) -> bytes:
    """A PNG, partly transparent by its kind, of which nearly nothing is left when it is packed."""

    def piece(name: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))

    packing = zlib.compressobj(1)
    lines = b"".join(packing.compress(bytes(1 + 4 * width)) for _ in range(height)) + packing.flush()
    head = struct.pack(">IIBBBBB", width, height, 8, 6, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + piece(b"IHDR", head) + piece(b"IDAT", lines) + piece(b"IEND", b"")


def peak(file: Path, readers: int) -> int:
    """Kilobytes that so many readers of the picture take at most."""
    command = [sys.executable, "-c", MANY, str(file), str(readers)]
    return int(subprocess.run(command, cwd=ROOT, check=True, capture_output=True, timeout=100).stdout)


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere it is told in bytes")
@pytest.mark.timeout(120)
def test_many_large_pictures_at_once_take_the_memory_of_one(tmp_path: Path) -> None:
    file = tmp_path / "blank.png"
    file.write_bytes(blank(5_000, 5_000))
    assert peak(file, 6) < 1.6 * peak(file, 1)


def test_a_picture_of_one_very_long_side_is_not_unpacked() -> None:
    assert "too many" in str(fitted(blank(70_000, 1), "image/png"))
