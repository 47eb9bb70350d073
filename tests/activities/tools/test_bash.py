"""Bash returns when its command is done, tells what happened, and leaves nothing behind."""

import json
import os
import resource
import time
import zlib
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import psutil
import pytest

from activities.processes.attach import end_command
from activities.tool import Call
from activities.tools.bash import Bash
from activities.tools.read import Read
from tests.activities.processes.place import tagged
from tests.fakes.held import usual
from tests.fakes.world import make_call, make_world, text_of, use
from workflows.contracts.settings import SessionSettings
from workflows.contracts.tools import CallStatus, ToolOutcome
from workflows.contracts.transcript import canonical

pytestmark = pytest.mark.journey

MIB = 1024 * 1024


class Shell:
    """Commands of one session, each a call of its own."""

    def __init__(self, folder: Path, **settings: Any) -> None:
        environment = {"PATH": os.environ["PATH"], "ANTHROPIC_API_KEY": "secret", "MINE": "kept"}
        self.world = replace(make_world(folder), environment=environment)
        self.workspace = folder.resolve() / "work"
        self.settings = SessionSettings(sandbox=usual(), **settings)
        self.cwd = self.workspace
        self.calls: list[Call] = []
        self.first = zlib.crc32(os.fsencode(folder))
        """Place of its first call: tests side by side look for the processes of their own calls."""

    async def run(self, command: str, **given: Any) -> ToolOutcome:
        call = make_call(
            self.world, self.workspace, "Bash", self.first + len(self.calls), cwd=self.cwd, settings=self.settings
        )
        self.calls.append(call)
        told = await use(call, Bash(), command=command, **given)
        assert canonical(told.model_dump(mode="json")).decode("utf-8")
        if told.cwd:
            self.cwd = Path(told.cwd)
        return told

    def alive(self) -> list[psutil.Process]:
        return [process for call in self.calls for process in tagged(call.key)]


@pytest.fixture
def shell(tmp_path: Path) -> Iterator[Shell]:
    """Nothing of its commands may be left when each of them has returned."""
    made = Shell(tmp_path)
    yield made
    assert made.alive() == []


async def test_both_streams_and_the_exit_code_are_told(shell: Shell) -> None:
    told = await shell.run("echo out; echo err >&2; exit 3")
    assert text_of(told) == "out\nerr\n[exit code 3]"
    assert (told.status, told.is_error, told.data["exit_code"]) == (CallStatus.ERROR, True, 3)


async def test_a_command_that_says_nothing_says_so(shell: Shell) -> None:
    told = await shell.run("true")
    assert (text_of(told), told.status) == ("(no output)", CallStatus.OK)


async def test_a_child_in_the_background_neither_holds_the_call_nor_outlives_it(shell: Shell) -> None:
    began = time.monotonic()
    told = await shell.run("sleep 60 & echo done")
    assert text_of(told).startswith("done\n[1 process(es) it left running were ended]")
    assert time.monotonic() - began < 20
    assert shell.alive() == []


async def test_a_server_that_keeps_the_pipe_open_is_ended_with_the_command(shell: Shell) -> None:
    told = await shell.run("(setsid sh -c 'while :; do echo up; sleep 0.2; done' &) ; sleep 0.3; echo ready")
    assert "ready" in text_of(told)
    assert told.status == CallStatus.OK
    assert shell.alive() == []


async def test_children_that_burn_end_at_the_limit(shell: Shell) -> None:
    told = await shell.run("sleep 0; for i in 1 2 3 4; do (while :; do :; done) & done; echo begun; wait", timeout=1500)
    assert text_of(told).startswith("begun\n[ended after 1.5 s, its time limit")
    assert (told.status, told.is_error) == (CallStatus.ERROR, True)
    assert shell.alive() == []


async def test_endless_output_costs_neither_memory_nor_room_in_the_result(shell: Shell) -> None:
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    told = await shell.run("sleep 0; yes", timeout=4000)
    # The test's own store keeps the output in memory, a real one does not.
    grown = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) * 1024
    kept = len(await shell.world.store.get(told.full))
    assert kept < 34 * MIB
    assert grown - kept < 100 * MIB
    assert len(text_of(told)) < 12_000
    assert f"of {told.size:,} bytes left out" in text_of(told)
    assert told.size > kept


async def test_standard_input_is_empty(shell: Shell) -> None:
    assert text_of(await shell.run("cat; read x || echo nothing; tty")).startswith("nothing\nnot a tty")


async def test_a_command_that_closes_and_opens_descriptors_ends_at_its_limit(shell: Shell) -> None:
    told = await shell.run("sleep 0; exec 3<>/dev/null; echo on; sleep 60", timeout=500)
    assert text_of(told).startswith("on\n[ended after 0.5 s")


async def test_a_silent_command_ends_at_the_silence_limit(tmp_path: Path) -> None:
    shell = Shell(tmp_path, bash_silence=1)
    told = await shell.run("echo on; sleep 60")
    assert text_of(told).startswith("on\n[ended after 1 s without output]")
    assert shell.alive() == []


@pytest.mark.parametrize("most", [2_000, 100_000])
async def test_as_much_of_an_output_is_shown_as_the_session_says(tmp_path: Path, most: int) -> None:
    told = await Shell(tmp_path, bash_shown=most).run("seq 100000")
    assert most * 0.9 < len(text_of(told)) < most + 300


async def test_a_limit_beyond_the_longest_is_shortened(shell: Shell) -> None:
    await shell.run("git --version", timeout=10**9)
    command = json.loads((shell.calls[0].record.folder / "command.json").read_text())
    assert command["deadline"] == 600


async def test_the_next_command_starts_where_the_last_one_ended(shell: Shell) -> None:
    shell.workspace.mkdir(exist_ok=True)
    told = await shell.run("mkdir -p a/b && cd a/b")
    assert (text_of(told), told.cwd) == (f"[now in {shell.workspace}/a/b]", f"{shell.workspace}/a/b")
    stays = await shell.run("pwd")
    assert (text_of(stays), stays.cwd) == (f"{shell.workspace}/a/b", "")
    back = await shell.run("cd ../..")
    assert back.cwd == str(shell.workspace)


async def test_a_folder_outside_the_workspace_is_left_with_a_note(shell: Shell) -> None:
    told = await shell.run("cd /")
    assert text_of(told) == f"[/ is outside the workspace; the next command starts in {shell.workspace}]"
    assert text_of(await shell.run("pwd")) == str(shell.workspace)


async def test_a_folder_reached_through_a_link_is_where_it_really_is(shell: Shell) -> None:
    told = await shell.run("ln -s /tmp out && cd out")
    assert "outside the workspace" in text_of(told)


async def test_a_folder_that_is_gone_or_was_led_outside_is_not_started_in(shell: Shell) -> None:
    await shell.run("mkdir a && cd a")
    (shell.workspace / "a").rmdir()
    assert text_of(await shell.run("pwd")).startswith(f"{shell.workspace}\n[now in")
    (shell.workspace / "a").symlink_to("/")
    shell.cwd = shell.workspace / "a"
    assert text_of(await shell.run("pwd")).startswith(f"{shell.workspace}\n")


async def test_a_folder_whose_name_is_no_utf8_is_not_kept(shell: Shell) -> None:
    told = await shell.run("mkdir $'x\\377' && cd $'x\\377'")
    assert "is no UTF-8 name" in text_of(told)
    assert told.cwd == str(shell.workspace)


async def test_variables_do_not_last_and_the_agents_keys_are_not_there(shell: Shell) -> None:
    await shell.run("export LASTING=1")
    seen = text_of(await shell.run("env"))
    assert "MINE=kept" in seen
    assert "LASTING" not in seen
    assert "secret" not in seen
    assert "ANTHROPIC" not in seen


async def test_long_output_is_shown_by_its_ends_and_read_in_full_by_its_name(shell: Shell) -> None:
    told = await shell.run("seq 1 20000")
    whole = "".join(f"{number}\n" for number in range(1, 20001)).encode()
    shown = text_of(told)
    assert shown.startswith("1\n2\n")
    assert shown.endswith("\n20000")
    assert f"[{len(whole) - 30_000:,} of {len(whole):,} bytes left out; all of it: Read result:{told.full}]" in shown
    assert await shell.world.store.get(told.full) == whole
    read = await use(
        make_call(shell.world, shell.workspace), Read(), file_path=f"result:{told.full}", offset=9_999, limit=2
    )
    assert "9999" in text_of(read)


async def test_of_a_failed_command_less_is_shown(shell: Shell) -> None:
    told = await shell.run("seq 1 20000; exit 2")
    assert len(text_of(told)) < 11_000
    assert text_of(told).endswith("20000\n[exit code 2]")


@pytest.mark.parametrize(
    ("command", "shown"),
    [
        (r"printf 'a\303'", "a\ufffd"),
        (r"printf '\377\376\0z'", "\ufffd\ufffd\u2400z"),
        (r"printf '\360\237\230'", "\ufffd"),
        (r"printf '\033[31mred\033[0m'", "\x1b[31mred\x1b[0m"),
        (r"printf '\355\240\275'", "\ufffd\ufffd\ufffd"),
        (r"printf 'a\r\nb\rc'", "a\nb\nc"),
    ],
)
async def test_broken_text_is_replaced_visibly(shell: Shell, command: str, shown: str) -> None:
    assert text_of(await shell.run(command)) == shown


async def test_random_bytes_are_text_for_the_model_and_bytes_in_the_store(shell: Shell) -> None:
    noise = os.urandom(200_000)
    shell.workspace.mkdir(exist_ok=True)
    (shell.workspace / "noise").write_bytes(noise)
    told = await shell.run("cat noise")
    assert await shell.world.store.get(told.full) == noise
    assert told.size == len(noise)
    assert "\0" not in text_of(told)


async def test_an_emoji_cut_in_half_by_the_limit_is_replaced(shell: Shell) -> None:
    shell.workspace.mkdir(exist_ok=True)
    (shell.workspace / "f").write_text("x" + "😀" * 20_000)
    told = await shell.run("cat f")
    assert "\ufffd" in text_of(told)
    assert await shell.world.store.get(told.full) == (shell.workspace / "f").read_bytes()


async def test_exit_code_1_of_a_search_is_an_answer(shell: Shell) -> None:
    told = await shell.run("grep nothing /dev/null")
    assert (text_of(told), told.status, told.is_error) == ("[exit code 1]", CallStatus.OK, False)


async def test_a_command_killed_by_a_signal_says_which(shell: Shell) -> None:
    told = await shell.run("kill -SEGV $$")
    assert "[ended by signal 11]" in text_of(told)
    assert told.is_error


async def test_an_open_quote_is_told_in_bashs_words(shell: Shell) -> None:
    told = await shell.run("echo 'a")
    assert told.is_error
    assert "unexpected EOF" in text_of(told)


async def test_a_command_of_100_kb_runs(shell: Shell) -> None:
    assert text_of(await shell.run(f"x='{'y' * 100_000}'; echo ${{#x}}")) == "100000"


async def test_a_command_that_cannot_start_did_not_run(shell: Shell) -> None:
    def refuses(_folder: Path) -> None:
        raise PermissionError(13, "not allowed")

    shell.world = replace(shell.world, start_runner=refuses)
    with pytest.raises(Exception, match="did not run"):
        await shell.run("true")


async def test_a_runner_that_does_not_come_in_time_never_comes(shell: Shell) -> None:
    def late(_folder: Path) -> None:
        raise TimeoutError

    on_time, shell.world = shell.world, replace(shell.world, start_runner=late)
    with pytest.raises(Exception, match="could not be started in time"):
        await shell.run("touch f")
    on_time.start_runner(shell.calls[0].record.folder)
    assert (await end_command(shell.calls[0].record.folder)) is None
    assert not (shell.workspace / "f").exists()


async def test_progress_tells_the_newest_output(shell: Shell) -> None:
    seen: list[tuple[bytes, int]] = []
    call = make_call(shell.world, shell.workspace, "Bash", progress=lambda text, size: seen.append((text, size)))
    await use(call, Bash(), command="echo first; sleep 0.3; echo second")
    assert (b"first\n", 6) in seen


def test_the_model_reads_a_summary_on_one_line() -> None:
    assert Bash().summary(Bash.input(command="a\n  b")) == "a b"
