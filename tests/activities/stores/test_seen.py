"""Which files a session has read, and how they looked."""

from pathlib import Path

from activities.stores.seen import SeenFiles


def test_the_last_look_counts_also_for_the_next_worker(tmp_path: Path) -> None:
    seen = SeenFiles(tmp_path / "s1/seen.ndjson")
    assert seen.digest(Path("/w/f")) == ""
    seen.note(Path("/w/f"), "a")
    seen.note(Path("/w/f"), "b")
    seen.note(Path("/w/ü \udcff"), "c")
    again = SeenFiles(tmp_path / "s1/seen.ndjson")
    assert (again.digest(Path("/w/f")), again.digest(Path("/w/ü \udcff"))) == ("b", "c")


def test_the_same_look_is_written_once(tmp_path: Path) -> None:
    seen = SeenFiles(tmp_path / "seen.ndjson")
    for _ in range(3):
        seen.note(Path("/w/f"), "a")
    assert len((tmp_path / "seen.ndjson").read_text().splitlines()) == 1


def test_a_damaged_line_only_means_that_its_file_is_read_again(tmp_path: Path) -> None:
    path = tmp_path / "seen.ndjson"
    SeenFiles(path).note(Path("/w/f"), "a")
    with path.open("ab") as file:
        file.write(b'\0\0\n7\n{"path": "/w/g"}\n{"path": "/w/h", "sha')
    seen = SeenFiles(path)
    assert (seen.digest(Path("/w/f")), seen.digest(Path("/w/g")), seen.digest(Path("/w/h"))) == ("a", "", "")
    seen.note(Path("/w/h"), "b")
    assert SeenFiles(path).digest(Path("/w/h")) == "b"
