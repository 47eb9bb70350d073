"""Lean JSON reads and writes what json does."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from activities.processes.lean import dump_json, parse_json
from activities.processes.spawn import ROOT

VALUE = {"a": [1, -2.5, True, False, None, 'é\udcff\0\n"\\'], "b": {"": {}}, "c": [], "big": 10**30}


def test_what_is_written_is_json_in_ascii_and_comes_back() -> None:
    text = dump_json(VALUE)
    assert text.isascii()
    assert json.loads(text) == VALUE == parse_json(text)


def test_it_reads_what_json_writes() -> None:
    assert parse_json(json.dumps(VALUE, indent=2) + "\n") == VALUE


@pytest.mark.parametrize("text", ["", "[]", "{", '{"a": 1} {"b": 2}', '{"a"}', "\0\0", '{"a": 1}x', "null"])
def test_what_is_not_one_object_is_a_value_error(text: str) -> None:
    with pytest.raises(ValueError, match=r".+"):
        parse_json(text)


def test_a_value_without_a_place_is_refused() -> None:
    with pytest.raises(TypeError, match="no place"):
        dump_json({"path": Path("/")})


def test_the_runner_imports_nothing_that_is_slow() -> None:
    program = (
        "import sys; sys.path.append(sys.argv.pop(1)); import activities.processes.runner\n"
        "print(*sys.modules.keys() & {'json', 're', 'enum', 'typing', 'ctypes', 'signal', 'pathlib', 'subprocess'})"
    )
    argv = [sys.executable, "-I", "-S", "-c", program, ROOT]
    assert subprocess.run(argv, capture_output=True, check=True, timeout=60).stdout == b"\n"
