"""Capture: a beginning, an end, a count; a full disk loses text and never the status."""

import random
from pathlib import Path

import pytest

from activities.processes.capture import RING, Capture, Status
from activities.processes.command import CommandEnd, EndKind
from activities.processes.output import read_head, read_output, read_tail, stored_bytes


def end_of(capture: Capture) -> CommandEnd:
    return CommandEnd(kind=EndKind.EXITED, **capture.facts())  # type: ignore[arg-type]  # the facts have its names


@pytest.mark.parametrize("size", [0, 10, 1000, 1001, 5000, 1000 + RING, 1001 + RING, 3 * RING + 17])
def test_both_ends_of_any_output_are_kept(tmp_path: Path, chance: random.Random, size: int) -> None:
    data = chance.randbytes(size)
    capture = Capture(str(tmp_path), 1000)
    place = 0
    while place < size:
        step = chance.randrange(1, 70_000)
        capture.add(data[place : place + step])
        place += step
    end = end_of(capture)
    assert (end.output_bytes, end.stored_bytes, end.tail_bytes) == (
        size,
        min(size, 1000),
        min(max(size - 1000, 0), RING),
    )
    assert read_head(tmp_path, 300) == data[:300]
    assert read_tail(tmp_path, 300, end) == data[max(size - 300, 0) :]
    assert read_tail(tmp_path, RING, end) == data[max(size - RING, 0) :]
    assert read_output(tmp_path, 990, 100) == data[990:1000]


def test_output_that_is_not_there_is_empty(tmp_path: Path) -> None:
    assert (stored_bytes(tmp_path), read_head(tmp_path, 10), read_tail(tmp_path, 10)) == (0, b"", b"")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs a device that is always full")
def test_a_full_disk_is_told_and_the_counting_goes_on(tmp_path: Path) -> None:
    (tmp_path / "output").symlink_to("/dev/full")
    (tmp_path / "tail").symlink_to("/dev/full")
    capture = Capture(str(tmp_path), 1000)
    capture.add(b"x" * 5000)
    capture.add(b"y" * 5000)
    end = end_of(capture)
    assert (end.output_bytes, end.stored_bytes, end.tail_bytes) == (10_000, 0, 0)
    assert end.output_error


def test_a_status_has_its_room_before_it_is_written(tmp_path: Path) -> None:
    status = Status(str(tmp_path))
    assert Path(status.private).stat().st_blocks * 512 >= Status.ROOM
    status.write({"reason": "exited"})
    assert (tmp_path / "status").read_text() == '{"reason": "exited"}\n'
    assert [path.name for path in tmp_path.iterdir()] == ["status"]
