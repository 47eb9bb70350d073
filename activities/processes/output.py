"""Read a command's output: its beginning, its end, or from any place, while it runs and after."""

from pathlib import Path

from activities.processes.capture import RING
from activities.processes.command import CommandEnd


def stored_bytes(folder: Path) -> int:
    """Bytes of the beginning that can be read by now."""
    try:
        return (folder / "output").stat().st_size
    except FileNotFoundError:
        return 0


def read_output(folder: Path, offset: int, limit: int) -> bytes:
    """At most `limit` bytes of the stored beginning from a place on; empty beyond it."""
    try:
        with (folder / "output").open("rb") as file:
            file.seek(offset)
            return file.read(limit)
    except FileNotFoundError:
        return b""


def read_head(folder: Path, limit: int) -> bytes:
    """The first bytes."""
    return read_output(folder, 0, limit)


def read_tail(folder: Path, limit: int, end: CommandEnd | None = None) -> bytes:
    """The last bytes; of a command over its cap they come from the ring, which takes its end to be read."""
    ring = read_ring(folder, end) if end is not None and end.tail_bytes else b""
    if len(ring) >= limit:
        return ring[len(ring) - limit :]
    if end is not None and end.output_bytes > end.stored_bytes + end.tail_bytes:
        return ring  # what lies before it was not kept
    stored = stored_bytes(folder)
    wanted = min(limit - len(ring), stored)
    return read_output(folder, stored - wanted, wanted) + ring


def read_ring(folder: Path, end: CommandEnd) -> bytes:
    """The kept end of an output over its cap, in order."""
    try:
        data = (folder / "tail").read_bytes()
    except FileNotFoundError:
        return b""
    if end.tail_bytes < RING:
        return data[: end.tail_bytes]
    place = (end.output_bytes - end.stored_bytes) % RING
    return data[place:] + data[:place]
