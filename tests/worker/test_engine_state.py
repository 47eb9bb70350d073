"""The engine's state is read as it was written, or not at all."""

import fcntl
import os
import stat
from dataclasses import replace
from pathlib import Path

import pytest

from activities.stores.home import Home
from worker.engine_state import (
    ROTATE_AT_BYTES,
    DamagedState,
    EngineState,
    PartState,
    Ports,
    is_locked,
    keep_aside,
    locked,
    read_state,
    rotate,
    state_path,
    take_lock,
    write_state,
)
from worker.process_table import boot_id

STATE = EngineState(
    ports=Ports(1, 2, 3),
    boot_id=boot_id(),
    is_serving=True,
    sync="normal",
    supervisor=PartState(4, "5", 6.5, 7, 8, "nine", ("ten", "eleven")),
    notices=("twelve",),
)


@pytest.fixture
def home(tmp_path: Path) -> Home:
    home = Home(tmp_path / "home")
    home.ensure()
    return home


def test_what_was_written_is_read(home: Home) -> None:
    write_state(home, STATE)
    assert read_state(home) == STATE
    assert stat.S_IMODE(state_path(home).stat().st_mode) == 0o600


def test_no_file_is_a_blank_state(home: Home) -> None:
    assert read_state(home) == EngineState()


def test_a_reboot_leaves_the_ports_and_no_process(home: Home) -> None:
    write_state(home, replace(STATE, boot_id="another"))
    assert read_state(home) == EngineState(ports=STATE.ports, sync="normal")


@pytest.mark.parametrize("cut", [0, 1, 30, 200])
def test_a_torn_file_is_damaged(home: Home, cut: int) -> None:
    write_state(home, STATE)
    content = state_path(home).read_bytes()
    state_path(home).write_bytes(content[:cut])
    with pytest.raises(DamagedState):
        read_state(home)


@pytest.mark.parametrize("port", ["1", "70000", "-1", "null", "[]"])
def test_what_is_no_port_is_damage(home: Home, port: str) -> None:
    write_state(home, STATE)
    content = state_path(home).read_text()
    state_path(home).write_text(content.replace('"grpc": 1', f'"grpc": {port if port != "1" else "true1"}'))
    with pytest.raises(DamagedState):
        read_state(home)


def test_the_oldest_notice_gives_way() -> None:
    state = STATE
    for number in range(9):
        state = state.with_notice(str(number))
    assert state.notices == ("4", "5", "6", "7", "8")


def test_what_is_kept_aside_keeps_its_bytes(home: Home) -> None:
    state_path(home).write_bytes(b"\0x")
    assert keep_aside(state_path(home)).read_bytes() == b"\0x"
    assert not state_path(home).exists()


def test_a_lock_is_held_by_one_and_let_go_by_its_end(home: Home) -> None:
    path = home.engine / "some.lock"
    with locked(path, 0.0):
        assert is_locked(path)
        with pytest.raises(TimeoutError):
            take_lock(path, 0.05)
    assert not is_locked(path)


def test_a_lock_is_not_inherited(home: Home) -> None:
    descriptor = take_lock(home.engine / "some.lock", 0.0)
    assert fcntl.fcntl(descriptor, fcntl.F_GETFD) & fcntl.FD_CLOEXEC
    os.close(descriptor)


@pytest.mark.parametrize(("size", "is_new"), [(ROTATE_AT_BYTES, False), (ROTATE_AT_BYTES + 1, True)])
def test_a_log_begins_anew_when_it_is_large(tmp_path: Path, size: int, is_new: bool) -> None:
    log = tmp_path / "a.log"
    log.touch()
    os.truncate(log, size)
    rotate(log)
    assert log.exists() != is_new
    assert (tmp_path / "a.log.1").exists() == is_new
