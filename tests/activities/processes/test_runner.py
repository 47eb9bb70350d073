"""The runner: limits, output, the end of the tree."""

import asyncio
import os
import shlex
import signal
import sys
import time

import psutil
import pytest

from activities.processes import claim
from activities.processes.command import EndKind
from activities.processes.output import read_head, read_output, read_tail
from tests.activities.processes.place import Place, until

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="the tree kill needs a subreaper")

DAEMON = """
import os, signal, sys, time
for _ in range(2):
    if os.fork():
        os._exit(0)
    os.setsid()
if "deaf" in sys.argv:
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
time.sleep(60)
"""


def daemon(*words: str) -> str:
    """A command that leaves a double-forked process in a session of its own."""
    return shlex.join([sys.executable, "-c", DAEMON, *words])


async def test_a_command_ends_with_its_own_exit_code_and_its_text(place: Place) -> None:
    end = await place.run("echo out; echo err >&2; exit 3")
    assert (end.kind, end.exit_code, end.signal, place.text()) == (EndKind.EXITED, 3, None, "out\nerr\n")
    assert (end.output_bytes, end.stored_bytes, end.leftovers, end.remaining) == (8, 8, 0, ())


async def test_a_command_that_is_killed_ends_with_the_signal(place: Place) -> None:
    end = await place.run("kill -9 $$")
    assert (end.kind, end.exit_code, end.signal) == (EndKind.SIGNAL, None, signal.SIGKILL)


async def test_a_command_reads_nothing_from_its_stdin(place: Place) -> None:
    end = await place.run("cat; read line || echo empty")
    assert (end.exit_code, place.text()) == (0, "empty\n")


async def test_the_background_process_of_a_command_does_not_delay_it_and_does_not_outlive_it(place: Place) -> None:
    began = time.monotonic()
    end = await place.run("sleep 60 & echo done")
    assert time.monotonic() - began < 2
    assert (end.kind, end.exit_code, place.text(), end.leftovers) == (EndKind.EXITED, 0, "done\n", 1)
    assert place.alive() == []


async def test_a_server_that_holds_the_output_open_does_not_delay_the_command(place: Place) -> None:
    server = shlex.join([sys.executable, "-m", "http.server", "0", "--bind", "127.0.0.1"])
    began = time.monotonic()
    end = await place.run(f"{server} & echo up")
    assert time.monotonic() - began < 2
    assert (end.exit_code, place.text(), end.leftovers) == (0, "up\n", 1)
    assert place.alive() == []


@pytest.mark.journey
async def test_the_end_of_the_command_ends_what_left_its_session_and_ignores_term(place: Place) -> None:
    end = await place.run(f"{daemon('deaf')}; sleep 0.2; echo done")
    assert (end.kind, place.text(), end.leftovers) == (EndKind.EXITED, "done\n", 1)
    assert place.alive() == []


@pytest.mark.journey
async def test_the_end_of_the_command_ends_what_carries_no_tag(place: Place) -> None:
    end = await place.run("env -i setsid sleep 61.25 & sleep 0.2; echo done")
    assert (end.leftovers, end.exit_code) == (1, 0)
    assert not [each for each in psutil.process_iter(["cmdline"]) if each.info["cmdline"] == ["sleep", "61.25"]]


async def test_the_last_words_of_a_process_substitution_are_kept(place: Place) -> None:
    await place.run("echo late > >(sleep 0.03; cat)")
    assert place.text() == "late\n"


@pytest.mark.journey
async def test_the_deadline_ends_the_whole_tree_and_keeps_the_output_so_far(place: Place) -> None:
    began = time.monotonic()
    end = await place.run(f"echo begun; {daemon()}; for i in 1 2 3 4; do yes > /dev/null & done; wait", deadline=0.5)
    assert time.monotonic() - began < 5
    assert (end.kind, end.exit_code, place.text()) == (EndKind.DEADLINE, None, "begun\n")
    assert place.alive() == []


@pytest.mark.journey
async def test_a_command_that_ignores_term_is_killed_after_the_grace(place: Place) -> None:
    end = await place.run("trap '' TERM; echo deaf; while :; do sleep 0.05; done", deadline=0.3, grace=0.3)
    assert (end.kind, end.signal, place.text()) == (EndKind.DEADLINE, signal.SIGKILL, "deaf\n")
    assert end.seconds is not None
    assert end.seconds >= 0.6


@pytest.mark.journey
async def test_a_command_that_heeds_term_may_say_its_last_words(place: Place) -> None:
    end = await place.run("trap 'echo tidied; exit 7' TERM; while :; do sleep 0.02; done", deadline=0.3)
    assert (end.kind, end.exit_code) == (EndKind.DEADLINE, 7)
    assert place.text().endswith("tidied\n")


@pytest.mark.journey
async def test_a_silent_command_is_ended_and_a_talking_one_is_not(place: Place) -> None:
    end = await place.run("for i in 1 2 3 4; do echo $i; sleep 0.2; done; sleep 60", silence=0.6)
    assert (end.kind, place.text()) == (EndKind.SILENCE, "1\n2\n3\n4\n")


@pytest.mark.journey
async def test_a_command_that_closes_its_output_still_has_its_deadline(place: Place) -> None:
    end = await place.run("exec >&- 2>&- 3<>/dev/null; sleep 60", deadline=0.3)
    assert end.kind is EndKind.DEADLINE


async def test_endless_output_is_counted_and_its_two_ends_are_kept(place: Place) -> None:
    end = await place.run("yes | head -c 5000000; echo the end", output_cap=100_000)
    assert (end.output_bytes, end.stored_bytes, end.tail_bytes) == (5_000_008, 100_000, 1024 * 1024)
    assert read_head(place.folder, 4) == b"y\ny\n"
    assert read_output(place.folder, 99_996, 100) == b"y\ny\n"
    assert read_tail(place.folder, 12, end) == b"y\ny\nthe end\n"


@pytest.mark.journey
async def test_memory_and_disk_stay_flat_under_endless_output(place: Place) -> None:
    peak = 0

    def look() -> bool:
        nonlocal peak
        if not (place.folder / "started").exists():
            return False
        runner = claim.number(claim.facts_of(str(place.folder)), "runner")
        try:
            peak = max(peak, psutil.Process(runner).memory_info().rss)
        except psutil.NoSuchProcess:
            return True
        return False

    running = asyncio.create_task(place.run("yes", deadline=2.0, output_cap=1_000_000))
    await until(look)
    end = await running
    assert end.kind is EndKind.DEADLINE
    assert end.output_bytes > 10_000_000
    assert 0 < peak < 40 * 1024 * 1024
    assert sum(file.stat().st_size for file in place.folder.iterdir()) < 3 * 1024 * 1024


async def test_a_program_that_is_not_there_ends_as_it_would_in_a_shell(place: Place) -> None:
    end = await place.run("", argv=("no-such-program",))
    assert (end.exit_code, place.text()) == (127, "cannot start: no-such-program: No such file or directory\n")


async def test_a_folder_that_is_not_there_is_named(place: Place) -> None:
    end = await place.run("true", cwd="/no/such/folder")
    assert (end.exit_code, place.text()) == (127, "cannot start: /no/such/folder: No such file or directory\n")


async def test_the_environment_is_exactly_the_given_one_and_the_tag(place: Place) -> None:
    await place.run("", argv=("env",), environment={"PATH": os.environ["PATH"], "ODD": "a\udcffb\n"})
    shown = read_head(place.folder, 10_000)
    assert shown == f"PATH={os.environ['PATH']}\n".encode() + b"ODD=a\xffb\n\n" + f"PERDURE_CALL={place.key}\n".encode()


async def test_a_command_inherits_no_descriptor_but_its_own_and_no_ignored_signal(place: Place) -> None:
    await place.run("ls /proc/self/fd; grep -E 'Sig(Blk|Ign)' /proc/self/status")
    words = place.text().split()
    assert {"0", "1", "2", "3", "210"} == {word for word in words if word.isdigit() and len(word) < 4}
    # The C library keeps signals 32 and 33 for itself: no program can change what it inherited of them.
    blocked, ignored = (int(word, 16) & ~(0b11 << 31) for word in (words[-3], words[-1]))
    assert (blocked, ignored) == (0, 0)


async def test_everything_of_a_command_is_its_owners_only(place: Place) -> None:
    await place.run("echo hi")
    assert {file.stat().st_mode & 0o077 for file in [place.folder, *place.folder.iterdir()]} == {0}


async def test_a_command_over_is_not_run_again(place: Place) -> None:
    first = await place.run('echo x >> "$EFFECTS"; echo hi')
    assert await place.run('echo x >> "$EFFECTS"; echo hi') == first
    assert place.count() == 1


@pytest.mark.parametrize("trial", range(3))
async def test_a_script_that_is_ended_does_not_go_on_to_its_next_command(place: Place, trial: int) -> None:
    end = await place.run('sleep 60; echo x >> "$EFFECTS"; sleep 60; echo x >> "$EFFECTS"', deadline=0.1)
    assert (end.kind, place.count()) == (EndKind.DEADLINE, 0)


@pytest.mark.journey
async def test_a_stopped_process_is_ended_too(place: Place) -> None:
    end = await place.run("sleep 60 & kill -STOP $!; kill -STOP $$", deadline=0.3)
    assert end.kind is EndKind.DEADLINE
    assert place.alive() == []


@pytest.mark.parametrize(
    ("text", "cwd"),
    [
        ("cd /usr", "/usr"),
        ("cd /usr; exit 4", "/usr"),
        ("cd /usr; false", "/usr"),
        ("set -e; cd /usr; false; cd /", "/usr"),
        ("(cd /usr)", None),
        ("cd /usr; set -x; true", "/usr"),
        ("cd /usr; pwd() { echo mine; }", "/usr"),
        ("trap 'true' EXIT; cd /usr", ""),
        ("cd /usr; exec true", ""),
        ("cd /usr; kill -9 $$", ""),
        ("mkdir 'a\nb c'; cd 'a\nb c'", "a\nb c"),
        ("mkdir gone; cd gone; rmdir ../gone", ""),
        ("cat <<X\nhi\nX", None),
        ("cd /usr # and so on", "/usr"),
    ],
)
async def test_the_shells_last_folder_is_told_and_never_seen_in_its_output(
    place: Place, text: str, cwd: str | None
) -> None:
    end = await place.run(text)
    home = str(place.path.resolve())
    expected = {None: home, "": None}.get(cwd, str(place.path.resolve() / cwd) if cwd else None)
    assert end.cwd == expected
    assert "pwd" not in place.text()


async def test_a_script_longer_than_an_argument_may_be_runs_as_any_other(place: Place) -> None:
    text = f"wc -c <<'X'\n{'é$1' * 100_000}\nX\ncd /usr; echo $# $LINENO; exit 3"
    end = await place.run(text)
    assert (end.exit_code, end.cwd, place.text()) == (3, "/usr", "400001\n0 4\n")


async def test_a_syntax_error_is_the_shells_own_with_the_right_line(place: Place) -> None:
    end = await place.run("echo one\nif then\n")
    assert end.exit_code == 2
    assert "line 2: syntax error near unexpected token `then'" in place.text()
