"""A process is known by pid and start, never by pid alone."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from worker.process_table import NOBODY, Identity, boot_id, end_all, identify, running, wait_until


def test_this_process_is_alive() -> None:
    assert identify(os.getpid()).is_alive


def test_the_same_pid_with_another_start_is_another_process() -> None:
    me = identify(os.getpid())
    assert not Identity(me.pid, me.start_mark + "0").is_alive


def test_nobody_is_not_alive() -> None:
    assert not NOBODY.is_alive
    assert identify(2**22 + 1) == Identity(2**22 + 1, "")


def test_a_zombie_is_not_alive() -> None:
    child = subprocess.Popen(["sleep", "60"])
    identity = identify(child.pid)
    child.kill()
    assert wait_until(lambda: not identity.is_alive, 5)
    child.wait()


def test_a_name_with_brackets_does_not_confuse(tmp_path: Path) -> None:
    path = tmp_path / "a) R 1 (b"
    path.symlink_to(Path("/bin/sleep").resolve())
    child = subprocess.Popen([path, "60"])
    try:
        assert wait_until(lambda: identify(child.pid).is_alive, 5)
    finally:
        child.kill()
        child.wait()


def test_a_process_is_listed_with_its_words_and_surroundings() -> None:
    child = subprocess.Popen(["sleep", "61"], env={"MARK": "here=there"})
    try:
        assert wait_until(lambda: any(one.arguments == ("sleep", "61") for one in running()), 5)
        found = next(one for one in running() if one.identity.pid == child.pid)
        assert (found.environment, found.parent) == ({"MARK": "here=there"}, os.getpid())
    finally:
        child.kill()
        child.wait()


@pytest.mark.parametrize("deaf", [False, pytest.param(True, marks=pytest.mark.journey)])
def test_all_are_ended_the_deaf_too(deaf: bool) -> None:
    code = "import signal, sys, time; signal.signal(signal.SIGTERM, signal.SIG_IGN if sys.argv[1] == '1' else"
    code += " signal.SIG_DFL); print('ready', flush=True); time.sleep(60)"
    children = [
        subprocess.Popen([sys.executable, "-I", "-S", "-c", code, str(int(deaf))], stdout=subprocess.PIPE)
        for _ in range(2)
    ]
    identities = [identify(child.pid) for child in children]
    for child in children:
        assert child.stdout is not None
        child.stdout.readline()
    end_all(identities, grace_s=0.3)
    assert not any(one.is_alive for one in identities)
    for child in children:
        child.communicate(timeout=5)


def test_a_boot_has_one_id() -> None:
    assert boot_id() == boot_id() != ""
