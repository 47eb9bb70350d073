"""One key a person, made once, that signs what only a person may do."""

import subprocess
import sys
from pathlib import Path

import pytest

from activities.stores.home import Home
from worker.person_key import person_key, public_key, signature
from workflows.contracts.errors import UserError
from workflows.core.signatures import is_signed


def test_a_session_accepts_what_the_key_signed_and_nothing_else(tmp_path: Path) -> None:
    home = Home(tmp_path)
    signed = signature(home, b"close it")
    assert is_signed(public_key(home), b"close it", signed)
    assert not is_signed(public_key(home), b"close all", signed)


def test_processes_that_ask_at_once_get_the_same_key(tmp_path: Path) -> None:
    code = (
        "import sys, pathlib; from activities.stores.home import Home; from worker.person_key import public_key;"
        "print(public_key(Home(pathlib.Path(sys.argv[1]))))"
    )
    started = [
        subprocess.Popen([sys.executable, "-c", code, str(tmp_path)], stdout=subprocess.PIPE, text=True)
        for _ in range(4)
    ]
    assert len({process.communicate(timeout=60)[0] for process in started}) == 1
    assert (tmp_path / "keys" / "person.key").stat().st_mode & 0o777 == 0o600


def test_a_damaged_key_is_told_and_not_replaced(tmp_path: Path) -> None:
    (tmp_path / "keys").mkdir()
    (tmp_path / "keys" / "person.key").write_text("not a key\n")
    with pytest.raises(UserError, match="holds no key"):
        person_key(Home(tmp_path))
    assert (tmp_path / "keys" / "person.key").read_text() == "not a key\n"
