"""Bodies are kept up to a size; with a folder none is lost."""

from pathlib import Path

import pytest

from worker.rehearsal.asked import Asked
from worker.rehearsal.record import Record


def test_without_a_folder_the_oldest_bodies_go_first_and_say_so() -> None:
    record = Record(None, kept_bytes=25)
    for number in range(3):
        record.add("/v1/messages", Asked(b'{"n": %d}   ' % number))
    with pytest.raises(LookupError, match="request 1 was let go"):
        _ = record.requests[0].body
    assert record.requests[2].body == {"n": 2}


def test_with_a_folder_every_body_can_be_read(tmp_path: Path) -> None:
    record = Record(tmp_path, kept_bytes=0)
    record.add("/v1/messages", Asked(b'{"n": 0}'))
    assert record.requests[0].raw is None
    assert record.requests[0].body == {"n": 0}
