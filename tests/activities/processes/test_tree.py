"""The tree: who is below whom, and that all of it can be ended."""

import os
import subprocess
import sys
import time

import pytest

from activities.processes import tree

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="needs /proc")


def test_a_process_is_told_from_another_that_gets_its_pid() -> None:
    started = tree.start_time(os.getpid())
    assert tree.is_same(os.getpid(), started)
    assert not tree.is_same(os.getpid(), started + 1)
    assert not tree.is_same(0, 0)


@pytest.mark.journey
def test_a_name_with_blanks_and_parentheses_is_read_right() -> None:
    program = "import ctypes; ctypes.CDLL(None).prctl(15, b') R 1 (x', 0, 0, 0); input()"
    process = subprocess.Popen([sys.executable, "-c", program], stdin=subprocess.PIPE)
    try:
        time.sleep(0.3)
        found = tree.read_process(process.pid)
        assert found is not None
        assert (found.parent, found.session) == (os.getpid(), os.getsid(0))
    finally:
        process.kill()
        process.communicate()


def test_all_descendants_are_found_and_ended() -> None:
    process = subprocess.Popen(["bash", "-c", "trap '' TERM; (sleep 60; true) & sleep 60; true"])
    while len(tree.descendants(process.pid)) < 3:
        time.sleep(0.01)
    started = tree.start_time(process.pid)
    itself = [tree.Process(process.pid, 0, 0, started)]

    def alive() -> list[tree.Process]:
        return [*[each for each in itself if tree.is_same(each.pid, each.started)], *tree.descendants(process.pid)]

    assert tree.end_all(alive, grace=0.1, limit=10) == ()
    assert process.wait(timeout=10) == -9


def test_what_cannot_be_ended_is_named() -> None:
    nobody = tree.Process(2**22 + 5, 1, 1, 1)
    assert tree.end_all(lambda: [nobody], grace=0.01, limit=0.05) == (nobody.pid,)


def test_a_tag_is_matched_whole() -> None:
    process = subprocess.Popen(["sleep", "60"], env={"TAG": "ab"})
    try:
        time.sleep(0.1)
        found = tree.read_process(process.pid)
        assert found is not None
        assert (tree.carries(found, b"TAG=ab"), tree.carries(found, b"TAG=a")) == (True, False)
    finally:
        process.kill()
        process.wait()
