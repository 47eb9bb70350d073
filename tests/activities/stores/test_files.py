"""Tests of activities/stores/files.py."""

import errno
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from activities.stores.files import (
    append_line,
    create_once,
    explain_os_error,
    make_folder,
    read_lines,
    write_atomic,
)
from workflows.contracts.errors import UserError

APPENDER = """
import json, sys
from pathlib import Path
from activities.stores.files import append_line
for number in range(int(sys.argv[3])):
    append_line(Path(sys.argv[1]), json.dumps({"by": sys.argv[2], "n": number}).encode(), lasting=False)
"""
LIMITED = """
import resource, signal, sys
from pathlib import Path
from activities.stores.files import append_line, write_atomic
from workflows.contracts.errors import UserError
resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))
folder = Path(sys.argv[1])
for deed in (lambda: write_atomic(folder / "whole", b"x" * 5000), lambda: append_line(folder / "lines", b"{}" * 600)):
    try:
        deed()
    except UserError as error:
        print(error.reason, error)
"""


def run(source: str, *args: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", source, *args], capture_output=True, text=True, timeout=60, check=True, env=os.environ
    )


def test_a_file_is_replaced_as_a_whole_and_readable_by_its_owner_only(tmp_path: Path) -> None:
    path = tmp_path / "state"
    write_atomic(path, b"old")
    write_atomic(path, b"new")
    assert path.read_bytes() == b"new"
    assert path.stat().st_mode & 0o777 == 0o600
    assert [each.name for each in tmp_path.iterdir()] == ["state"]


def test_a_failed_write_leaves_the_old_file_and_no_temporary_one(tmp_path: Path) -> None:
    path = tmp_path / "folder"
    (path / "inside").mkdir(parents=True)
    with pytest.raises(UserError, match="a folder is where a file belongs"):
        write_atomic(path, b"new")
    assert [each.name for each in tmp_path.iterdir()] == ["folder"]


def test_the_first_content_wins_when_a_file_is_created_once(tmp_path: Path) -> None:
    assert create_once(tmp_path / "id", b"a") == b"a"
    assert create_once(tmp_path / "id", b"b") == b"a"
    assert [each.name for each in tmp_path.iterdir()] == ["id"]


def test_a_disk_that_takes_no_more_is_told_and_nothing_half_written_stays(tmp_path: Path) -> None:
    append_line(tmp_path / "lines", b'{"n":1}')
    told = run(LIMITED, str(tmp_path)).stdout.splitlines()
    assert [line.split()[0] for line in told] == ["disk_full", "disk_full"]
    assert [each.name for each in tmp_path.iterdir()] == ["lines"]
    assert (tmp_path / "lines").read_bytes() == b'{"n":1}\n'


def test_a_folder_whose_place_a_file_has_taken_is_told_in_one_line(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(UserError, match="a file is where a folder belongs") as caught:
        make_folder(tmp_path / "file" / "deeper")
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("code", [errno.ENOSPC, errno.EROFS, errno.EACCES, errno.ENOTDIR, errno.EIO, errno.EMFILE])
def test_every_refusal_of_the_disk_becomes_one_line_that_names_the_path(code: int) -> None:
    error = explain_os_error(OSError(code, os.strerror(code)), Path("/some/where"))
    assert str(error).startswith("/some/where cannot be used: ")
    assert "\n" not in str(error)


def test_two_processes_append_whole_lines_side_by_side(tmp_path: Path) -> None:
    path = tmp_path / "lines"
    writers = [subprocess.Popen([sys.executable, "-c", APPENDER, str(path), name, "200"]) for name in ("a", "b")]
    assert [writer.wait(60) for writer in writers] == [0, 0]
    lines, damage = read_lines(path)
    records = [json.loads(line) for line in lines]
    assert damage == []
    assert [record["n"] for record in records if record["by"] == "a"] == list(range(200))
    assert [record["n"] for record in records if record["by"] == "b"] == list(range(200))


@pytest.mark.parametrize("torn", [b'{"n":2,"te', b"\0\0\0\0", b"123", b"   "])
def test_a_torn_last_line_is_set_aside_before_the_next_is_appended(tmp_path: Path, torn: bytes) -> None:
    path = tmp_path / "lines"
    path.write_bytes(b'{"n":1}\n' + torn)
    append_line(path, b'{"n":3}')
    assert read_lines(path) == ([b'{"n":1}', b'{"n":3}'], [])
    assert (tmp_path / "lines.damaged").read_bytes() == torn + b"\n"


def test_a_whole_last_record_that_lacks_its_newline_is_kept(tmp_path: Path) -> None:
    path = tmp_path / "lines"
    path.write_bytes(b'{"n":1}\n{"n":2}')
    append_line(path, b'{"n":3}')
    assert read_lines(path) == ([b'{"n":1}', b'{"n":2}', b'{"n":3}'], [])
    assert not (tmp_path / "lines.damaged").exists()


def test_a_torn_line_longer_than_the_chunk_that_is_read_is_cut_off_whole(tmp_path: Path) -> None:
    path = tmp_path / "lines"
    path.write_bytes(b'{"n":1}\n{"n":"' + b"x" * 300_000)
    append_line(path, b'{"n":3}')
    assert read_lines(path) == ([b'{"n":1}', b'{"n":3}'], [])


def test_a_damaged_file_gives_its_whole_records_and_names_each_damage(tmp_path: Path) -> None:
    path = tmp_path / "lines"
    path.write_bytes(b'{"n":1}\n\n\0\0\nnonsense\n[1]\n\xff\xfe\n{"n":2}\n{"n":3,')
    lines, damage = read_lines(path)
    assert lines == [b'{"n":1}', b'{"n":2}']
    assert [(each.line, each.why) for each in damage] == [
        (2, "blank line"),
        (3, "2 NUL bytes"),
        (4, "not JSON"),
        (5, "not a JSON object"),
        (6, "not JSON"),
        (8, "torn last line: not JSON"),
    ]


def test_a_file_that_is_not_there_has_no_lines(tmp_path: Path) -> None:
    assert read_lines(tmp_path / "none") == ([], [])


def test_a_line_with_a_newline_in_it_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="newline"):
        append_line(tmp_path / "lines", b"{}\n{}")
