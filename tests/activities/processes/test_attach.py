"""Attach: the command runs once, whoever dies; a cancel ends all of it."""

import asyncio
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest

from activities.processes import claim
from activities.processes.attach import end_command, is_running, run_command, start, watch
from activities.processes.command import CommandProgress, EndKind
from tests.activities.processes.place import Place, until

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="the tree kill needs a subreaper")

ROOT = Path(__file__).parents[3]
ONCE = 'echo x >> "$EFFECTS"; echo first; sleep {seconds}; echo last; exit 5'
DAEMON = "(setsid setsid sleep 60 &) ; (trap '' TERM; setsid sh -c 'while :; do sleep 0.1; done' &) ; "


def worker(place: Place, text: str, **options: object) -> subprocess.Popen[bytes]:
    """Another process that runs the command of a place."""
    program = (
        "import asyncio, sys; from pathlib import Path\n"
        "from activities.processes.attach import run_command\n"
        "from activities.processes.command import CommandSpec, shell\n"
        "folder, key, text, cwd, *pairs = sys.argv[1:]\n"
        "spec = CommandSpec(key=key, argv=shell(text), cwd=cwd, environment=dict(p.split('=', 1) for p in pairs))\n"
        "print('ready', flush=True)\n"
        "sys.stdin.readline()\n"
        "print(asyncio.run(run_command(Path(folder), spec)).kind.value, flush=True)\n"
    )
    pairs = [f"PATH={os.environ['PATH']}", f"EFFECTS={place.effects}"]
    argv = [sys.executable, "-c", program, str(place.folder), place.key, text, str(place.path), *pairs]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    process = subprocess.Popen(argv, cwd=ROOT, **pipes, **options)  # type: ignore[call-overload]
    assert process.stdout.readline() == b"ready\n"
    return process  # type: ignore[no-any-return]


def go(process: subprocess.Popen[bytes]) -> None:
    """Let it begin."""
    assert process.stdin
    process.stdin.write(b"\n")
    process.stdin.flush()


def end(process: subprocess.Popen[bytes]) -> bytes:
    """What it said, once it has ended."""
    said, _ = process.communicate(timeout=30)
    return said


def facts(place: Place) -> dict[str, int]:
    found: dict[str, int] = json.loads((place.folder / "started").read_text())
    return found


@pytest.mark.journey
async def test_a_command_outlives_the_worker_that_started_it_and_is_joined(place: Place) -> None:
    first = worker(place, ONCE.format(seconds=1))
    go(first)
    await until(lambda: place.count() == 1)
    first.kill()
    end(first)
    result = await place.run(ONCE.format(seconds=1))
    assert (result.kind, result.exit_code, place.text(), place.count()) == (EndKind.EXITED, 5, "first\nlast\n", 1)


@pytest.mark.journey
async def test_a_command_survives_the_end_of_its_workers_group_and_its_hangup(place: Place) -> None:
    first = worker(place, ONCE.format(seconds=0.5), start_new_session=True)
    go(first)
    await until(lambda: place.count() == 1)
    os.killpg(first.pid, signal.SIGHUP)
    end(first)
    result = await watch(place.folder)
    assert (result.exit_code, place.text()) == (5, "first\nlast\n")


async def test_ten_that_start_a_command_at_once_run_it_once(place: Place) -> None:
    await asyncio.gather(
        *(asyncio.to_thread(start, place.folder, place.spec(ONCE.format(seconds=0.3))) for _ in range(10))
    )
    ends = await asyncio.gather(*(place.run("echo x >> $EFFECTS") for _ in range(10)))
    assert {(each.exit_code, each.kind) for each in ends} == {(5, EndKind.EXITED)}
    assert (place.count(), place.text()) == (1, "first\nlast\n")
    assert not list(place.folder.glob("st*.*"))


@pytest.mark.journey
async def test_a_killed_runner_leaves_no_process_and_an_outcome_that_is_called_unknown(place: Place) -> None:
    running = asyncio.create_task(
        place.run(f"{DAEMON} env -i setsid sleep 61.5 & sleep 0.2; {ONCE.format(seconds=60)}")
    )
    await until(lambda: (place.count(), place.text()) == (1, "first\n"))
    os.kill(facts(place)["runner"], signal.SIGKILL)
    result = await running
    assert (result.kind, result.exit_code, result.remaining) == (EndKind.UNKNOWN, None, ())
    assert (result.note, place.text()) == ("its runner died while it ran", "first\n")
    assert place.alive() == []
    assert not [each for each in psutil.process_iter(["cmdline"]) if each.info["cmdline"] == ["sleep", "61.5"]]
    assert (await place.run("echo again")).kind is EndKind.UNKNOWN
    assert place.count() == 1


@pytest.mark.journey
async def test_a_tree_whose_runner_and_warden_are_both_killed_is_found_by_its_tag(place: Place) -> None:
    running = asyncio.create_task(place.run(f"{DAEMON} {ONCE.format(seconds=60)}"))
    await until(lambda: place.count() == 1)
    os.kill(facts(place)["warden"], signal.SIGKILL)
    os.kill(facts(place)["runner"], signal.SIGKILL)
    assert (await running).kind is EndKind.UNKNOWN
    assert place.alive() == []


@pytest.mark.journey
async def test_a_killed_warden_changes_nothing(place: Place) -> None:
    running = asyncio.create_task(place.run(ONCE.format(seconds=0.3)))
    await until(lambda: place.count() == 1)
    os.kill(facts(place)["warden"], signal.SIGKILL)
    assert ((await running).exit_code, place.text()) == (5, "first\nlast\n")


@pytest.mark.journey
async def test_cancel_ends_the_whole_tree_and_keeps_what_was_said(place: Place) -> None:
    running = asyncio.create_task(place.run(f"{DAEMON} {ONCE.format(seconds=60)}"))
    await until(lambda: place.count() == 1 and "first" in place.text())
    began = time.monotonic()
    result = await end_command(place.folder)
    assert time.monotonic() - began < 5
    assert result is not None
    assert (result.kind, result.exit_code, place.text()) == (EndKind.CANCELLED, None, "first\n")
    assert place.alive() == []
    assert await running == result


@pytest.mark.journey
async def test_a_command_is_ended_when_the_worker_that_started_it_is_dead(place: Place) -> None:
    first = worker(place, f"{DAEMON} {ONCE.format(seconds=60)}")
    go(first)
    await until(lambda: place.count() == 1)
    first.kill()
    end(first)
    result = await end_command(place.folder)
    assert result is not None
    assert result.kind is EndKind.CANCELLED
    assert place.alive() == []


@pytest.mark.journey
async def test_a_runner_that_does_not_answer_is_killed_with_its_tree(place: Place) -> None:
    running = asyncio.create_task(place.run(f"{DAEMON} {ONCE.format(seconds=60)}"))
    await until(lambda: place.count() == 1)
    os.kill(facts(place)["runner"], signal.SIGSTOP)
    result = await end_command(place.folder, grace=0.3)
    assert result is not None
    assert result.kind is EndKind.UNKNOWN
    assert place.alive() == []
    await running


async def test_a_call_ended_before_it_began_never_begins(place: Place) -> None:
    assert await end_command(place.folder) is None
    result = await place.run('echo x >> "$EFFECTS"')
    assert (result.kind, result.is_started, place.count()) == (EndKind.CANCELLED, False, 0)
    assert await end_command(place.folder) is None


async def test_ending_what_has_ended_tells_how_it_ended(place: Place) -> None:
    result = await place.run("exit 4")
    assert await end_command(place.folder) == result


@pytest.mark.journey
async def test_who_stops_waiting_leaves_the_command_running(place: Place) -> None:
    running = asyncio.create_task(place.run(ONCE.format(seconds=0.5)))
    await until(lambda: place.count() == 1)
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    assert is_running(place.folder)
    assert (await watch(place.folder)).exit_code == 5


async def test_a_restarted_machine_makes_the_outcome_unknown_and_ends_nobody(place: Place) -> None:
    place.folder.mkdir()
    bystander = subprocess.Popen(["sleep", "60"])
    record = {"runner": bystander.pid, "session": bystander.pid, "boot": "another", "at": 1.0}
    (place.folder / "started").write_text(json.dumps(record))
    try:
        result = await place.run("echo never")
        assert (result.kind, result.note) == (EndKind.UNKNOWN, "the machine was restarted while it ran")
        assert bystander.poll() is None
    finally:
        bystander.kill()
        bystander.wait()


async def test_a_pid_that_means_another_process_by_now_is_left_alone(place: Place) -> None:
    place.folder.mkdir()
    bystander = subprocess.Popen(["sleep", "60"], start_new_session=True)
    claimed: dict[str, object] = {
        "runner": bystander.pid,
        "runner_started": 1,
        "session": bystander.pid,
        "session_started": 1,
    }
    os.close(claim.take(str(place.folder), claimed) or -1)
    try:
        await asyncio.wait_for(end_command(place.folder, grace=0.2), 30)
        assert bystander.poll() is None
    finally:
        bystander.kill()
        bystander.wait()


@pytest.mark.parametrize("damage", [b"", b"\0" * 300, b'{"reason": "exi', b'{"reason": "odd"}', b"[]"])
async def test_a_damaged_status_is_no_status(place: Place, damage: bytes) -> None:
    await place.run("echo hi")
    (place.folder / "status").write_bytes(damage)
    result = await place.run("echo hi")
    assert (result.kind, place.text()) == (EndKind.UNKNOWN, "hi\n")


@pytest.mark.parametrize("damage", [b"", b"\0" * 300, b'{"argv": ["sh"'])
async def test_a_damaged_command_that_never_started_is_written_again(place: Place, damage: bytes) -> None:
    place.folder.mkdir()
    (place.folder / "command.json").write_bytes(damage)
    assert (await place.run("exit 6")).exit_code == 6


async def test_a_damaged_claim_is_never_run_again(place: Place) -> None:
    place.folder.mkdir()
    (place.folder / "started").write_bytes(b"\0" * 100)
    result = await place.run('echo x >> "$EFFECTS"')
    assert (result.kind, place.count()) == (EndKind.UNKNOWN, 0)


async def test_a_command_that_cannot_be_claimed_has_not_started(place: Place) -> None:
    place.folder.mkdir()
    (place.folder / "output").mkdir()
    with pytest.raises(IsADirectoryError, match="directory"):
        await place.run('echo x >> "$EFFECTS"')
    (place.folder / "output").rmdir()
    result = await place.run("never asked: the first attempt wrote what is asked")
    assert (result.exit_code, place.count()) == (0, 1)


@pytest.mark.journey
async def test_progress_tells_how_much_there_is_to_read(place: Place) -> None:
    seen: list[CommandProgress] = []
    await run_command(place.folder, place.spec("echo one; sleep 0.3; echo two; sleep 0.3"), seen.append)
    assert [each.stored_bytes for each in seen if each.stored_bytes] == [4, 8]


@pytest.mark.journey
async def test_the_runner_keeps_nothing_of_the_worker(place: Place) -> None:
    running = asyncio.create_task(place.run("sleep 0.5"))
    await until((place.folder / "started").exists)
    for name in ("runner", "warden"):
        process = psutil.Process(facts(place)[name])
        assert (process.cwd(), os.getsid(process.pid) == os.getsid(0)) == ("/", False)
        assert set(process.environ()) <= {"PATH", "LD_LIBRARY_PATH", "TMPDIR", "LC_CTYPE"}
    await running
