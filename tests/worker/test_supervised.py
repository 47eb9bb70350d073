"""A child is started again after growing pauses, and ended whatever it does."""

import os
import sys
import time
from pathlib import Path

import pytest

from worker.process_table import identify, wait_until
from worker.supervised import FIRST_PAUSE_S, LONGEST_PAUSE_S, Supervised, Surroundings

DEAF = "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); print('deaf', flush=True); time.sleep(60)"


@pytest.fixture
def part(tmp_path: Path) -> Supervised:
    return Supervised(Surroundings(tmp_path, tmp_path / "part.log", 0o077))


def run_to_its_end(part: Supervised, *command: str) -> None:
    part.start(command, os.environ)
    assert wait_until(part.has_ended, 10)


def test_pauses_double_up_to_a_limit(part: Supervised) -> None:
    pauses = []
    for _ in range(12):
        part.fail("test")
        pauses.append(round(part.due - time.monotonic(), 1))
    assert pauses[:3] == [FIRST_PAUSE_S, 2 * FIRST_PAUSE_S, 4 * FIRST_PAUSE_S]
    assert pauses[-1] == LONGEST_PAUSE_S


def test_an_end_is_told_with_the_childs_last_words(part: Supervised) -> None:
    run_to_its_end(part, sys.executable, "-I", "-S", "-c", "print('first'); print('the reason'); raise SystemExit(4)")
    assert part.last_error == "ended with exit code 4: the reason"
    assert (part.state.failures, part.state.restarts, part.state.pid) == (1, 0, 0)


def test_what_was_killed_from_outside_gave_no_reason(part: Supervised) -> None:
    run_to_its_end(part, "sh", "-c", "echo about something else; kill -KILL $$")
    assert part.last_error == "killed by SIGKILL"


def test_of_a_long_line_the_beginning_and_the_reason_are_kept(part: Supervised) -> None:
    part.fail("it ended" + "." * 2_000 + "no such table")
    assert part.last_error.startswith("it ended.")
    assert part.last_error.endswith(".no such table")
    assert len(part.last_error) < 310


def test_a_later_end_does_not_repeat_earlier_words(part: Supervised) -> None:
    run_to_its_end(part, "echo", "old words")
    run_to_its_end(part, "true")
    assert part.last_error == "ended with exit code 0"
    assert part.state.restarts == 1


def test_a_missing_program_is_a_failure_like_another(part: Supervised, tmp_path: Path) -> None:
    part.start((str(tmp_path / "nowhere"),), os.environ)
    assert not part.is_running
    assert "could not be started" in part.last_error
    assert part.due > time.monotonic()


def test_a_deaf_child_is_killed(part: Supervised, tmp_path: Path) -> None:
    part.start((sys.executable, "-I", "-S", "-c", DEAF), os.environ)
    identity = part.state.identity
    assert wait_until(lambda: "deaf" in (tmp_path / "part.log").read_text(), 10)
    part.end(grace_s=0.2)
    assert not identity.is_alive
    assert not part.is_running


def test_helpers_in_a_childs_group_end_with_it(part: Supervised, tmp_path: Path) -> None:
    part.start(("sh", "-c", "sleep 60 & echo $!; exit 1"), os.environ)
    assert wait_until(part.has_ended, 10)
    helper = int((tmp_path / "part.log").read_text().split()[0])
    assert wait_until(lambda: identify(helper).start_mark == "", 5)


@pytest.mark.journey
def test_what_has_a_session_of_its_own_lives_on(part: Supervised, tmp_path: Path) -> None:
    part.start(("sh", "-c", "setsid sh -c 'echo $$ > runner; exec sleep 60' & sleep 0.3; exit 1"), os.environ)
    assert wait_until(part.has_ended, 10)
    runner = identify(int((tmp_path / "runner").read_text()))
    try:
        assert runner.is_alive
    finally:
        os.kill(runner.pid, 9)


def test_a_log_is_private_and_appended_to(part: Supervised, tmp_path: Path) -> None:
    before = os.umask(0o077)
    try:
        run_to_its_end(part, "echo", "one")
    finally:
        os.umask(before)
    run_to_its_end(part, "echo", "two")
    log = tmp_path / "part.log"
    assert log.read_text().split() == ["one", "two"]
    assert log.stat().st_mode & 0o077 == 0
