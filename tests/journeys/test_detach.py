"""Sessions that nobody watches, and how a person leaves one: by a real terminal's Ctrl-C."""

import json
import os
import pty
import signal
import subprocess
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest

from tests.fakes.command_line import PROGRAM, Cli, bash, environment
from tests.fakes.stranger import home_for
from tests.fakes.waiting import eventually
from worker.engine_state import read_state
from worker.health import read_health

pytestmark = [pytest.mark.journey, pytest.mark.timeout(180)]


@pytest.fixture(scope="module")
def started() -> Iterator[Cli]:
    with home_for(is_up=True) as home:
        yield Cli(home, home.root)


@pytest.fixture
def cli(started: Cli, tmp_path: Path) -> Cli:
    return replace(started, folder=tmp_path)


@dataclass
class Terminal:
    """The command on a terminal of its own; what it shows, colours and all."""

    process: "subprocess.Popen[bytes]"
    side: int
    shown: bytes = field(default=b"")

    def until(self, word: str) -> None:
        """Read until that was shown, bounded."""
        eventually(lambda: self._read() or word.encode() in self.shown, 60, word)

    def press(self, key: bytes) -> None:
        """A key, as the keyboard's owner presses it."""
        os.write(self.side, key)

    def code(self) -> int:
        """Its exit code, all output read."""
        eventually(lambda: self._read() or self.process.poll() is not None, 60, "its end")
        self._read()
        return self.process.wait(1)

    def _read(self) -> bool:
        with suppress(BlockingIOError, OSError):
            while piece := os.read(self.side, 65_536):
                self.shown += piece
        return False


@pytest.fixture
def terminals() -> Iterator[list[Terminal]]:
    opened: list[Terminal] = []
    yield opened
    for terminal in opened:
        if terminal.process.poll() is None:
            terminal.process.kill()
            terminal.process.wait(10)
        os.close(terminal.side)


def watched(cli: Cli, terminals: list[Terminal], session: str, command: str) -> Terminal:
    """A session on a terminal, its command running."""
    replies = [bash(command), "Done."]
    words = ("--model", cli.scenario(replies=replies), "--allowed-tools", "Bash", "--session-id", session)
    terminal = on_terminal(cli, terminals, *words)
    eventually(lambda: (cli.folder / "began").exists() or terminal._read(), 60, "the command")
    return terminal


def on_terminal(cli: Cli, terminals: list[Terminal], *words: str) -> Terminal:
    """A session that is begun and watched on a terminal."""
    side, far = pty.openpty()
    process = subprocess.Popen(
        [*PROGRAM, "run", *words, "go"], cwd=cli.folder, env=environment(cli.home.root, TERM="xterm"),
        stdin=far, stdout=far, stderr=far, start_new_session=True,
        preexec_fn=_own_terminal,  # noqa: PLW1509 - no thread runs here, and only the child can take the terminal
    )  # fmt: skip
    os.close(far)
    os.set_blocking(side, False)
    terminals.append(Terminal(process, side))
    return terminals[-1]


def _own_terminal() -> None:
    import fcntl
    import termios

    fcntl.ioctl(0, termios.TIOCSCTTY, 0)


def test_ctrl_c_leaves_the_session_and_says_how_to_come_back(cli: Cli, terminals: list[Terminal]) -> None:
    terminal = watched(cli, terminals, "left", "touch began; sleep 3; touch done")
    terminal.press(b"\x03")
    terminal.until("perdure watch left")
    assert terminal.code() == 9
    cli.await_state("left", "idle")
    assert (cli.folder / "done").exists()


def test_ctrl_c_twice_interrupts_the_turn(cli: Cli, terminals: list[Terminal]) -> None:
    terminal = watched(cli, terminals, "cut", "touch began; sleep 60; touch done")
    terminal.press(b"\x03")
    terminal.until("again")
    terminal.press(b"\x03")
    assert terminal.code() == 130
    cli.await_state("cut", "idle")
    assert not (cli.folder / "done").exists()
    assert b"Traceback" not in terminal.shown


def test_one_key_allows_it_always_by_the_rules_that_were_shown(cli: Cli, terminals: list[Terminal]) -> None:
    scenario = cli.scenario(replies=[bash("touch made"), bash("touch made; touch made"), "Done."])
    terminal = on_terminal(cli, terminals, "--model", scenario, "--session-id", "always")
    terminal.until("always saves: Bash(touch made)")
    terminal.press(b"a")
    assert terminal.code() == 0
    assert (cli.folder / "made").exists()
    kept = json.loads((cli.folder / ".perdure/settings.local.json").read_bytes())
    assert kept["permissions"]["allow"] == ["Bash(touch made)"]


def test_sigterm_leaves_the_session_with_143_and_a_shown_cursor(cli: Cli, terminals: list[Terminal]) -> None:
    terminal = watched(cli, terminals, "termed", "touch began; sleep 3; touch done")
    terminal.process.send_signal(signal.SIGTERM)
    assert terminal.code() == 143
    assert terminal.shown.rfind(b"\x1b[?25h") >= terminal.shown.rfind(b"\x1b[?25l")
    cli.await_state("termed", "idle")


def test_an_unattended_question_is_denied_at_once_by_a_named_rule_and_counted_first(cli: Cli) -> None:
    session = cli.detached(cli.scenario(replies=[bash("touch made"), "I could not."]), "go")
    cli.await_state(session, "idle")
    audit = [json.loads(line) for line in cli("audit", session, "--json").stdout.splitlines()]
    (call,) = [step for step in audit if step.get("kind") == "call"]
    assert (call["decision"], call["by"], call["rule"]) == ("deny", "unattended", "unattended: deny")
    assert call["seconds"] < 1
    assert not (cli.folder / "made").exists()
    assert cli("audit", session).stdout.splitlines()[1].startswith("1 denied call")
    told = cli("run", "--model", cli.scenario(replies=[bash("touch made"), "No."]), "-p", "go")
    assert (told.returncode, told.stderr.splitlines()[0]) == (3, "1 call was denied.")


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ((), "is denied"),
        (("--allowed-tools", "Bash(ls)"), "except Bash(ls)"),
        (("--unattended", "wait"), "perdure approvals"),
        (("--permission-mode", "bypassPermissions"), "bypassPermissions allows"),
    ],
)
def test_detach_says_what_will_be_denied_and_the_flags_that_change_it(
    cli: Cli, words: tuple[str, ...], said: str
) -> None:
    ended = cli("run", "--model", cli.scenario(replies=["Done."]), "--detach", *words, "go")
    assert (ended.returncode, len(ended.stdout.split())) == (0, 1)
    assert said in ended.stderr
    if "denied" in said:
        assert all(flag in ended.stderr for flag in ("--permission-mode", "--allowed-tools", "--unattended wait"))


def test_a_question_waits_through_the_death_of_worker_and_server(cli: Cli) -> None:
    session = cli.detached(cli.scenario(replies=[bash("touch made"), "Done."]), "--unattended", "wait", "go")
    approval = cli.await_question(session)
    worker, server = read_health(cli.home).process.pid, read_state(cli.home).server.pid
    for pid in (worker, server):
        os.kill(pid, signal.SIGKILL)
    eventually(lambda: read_health(cli.home).is_polling and read_health(cli.home).process.pid != worker, 60, "another")
    assert cli.await_question(session) == approval
    ended = cli("approve", session, approval)
    assert (ended.returncode, "Approved" in ended.stdout) == (0, True), ended.stderr
    cli.await_state(session, "idle")
    assert (cli.folder / "made").exists()
