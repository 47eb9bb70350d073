"""A person's answers: from another terminal, by a key, and never by the agent itself."""

import os
import pty
import subprocess
import sys
from pathlib import Path

import pytest

from tests.fakes.command_line import PROGRAM, Cli, bash, environment
from tests.fakes.waiting import eventually

pytestmark = [pytest.mark.journey, pytest.mark.timeout(180)]


def asking(cli: Cli, session: str, *then: str) -> str:
    """A session that waits for an answer; the number of its question."""
    model = cli.scenario(replies=[bash("touch made"), *(then or ("Done.",))])
    cli.detached(model, "--unattended", "wait", "--session-id", session, "go")
    return cli.await_question(session)


def test_an_approved_call_runs_and_the_inbox_is_empty_again(cli: Cli) -> None:
    number = asking(cli, "yes")
    inbox = [found for found in cli.json("approvals", "--json") if found["session"] == "yes"]
    assert [(found["approval"], found["tool"], found["summary"]) for found in inbox] == [(number, "Bash", "touch made")]
    assert cli("approve", "yes").returncode == 0
    cli.await_state("yes", "idle")
    assert (cli.folder / "made").exists()
    assert "yes" not in cli("approvals").stdout


def test_the_inbox_shows_every_line_of_a_command_and_what_it_was_counts_for_the_answer(cli: Cli) -> None:
    model = cli.scenario(replies=[bash("touch made # all is well\ntouch second"), "Done."])
    cli.detached(model, "--unattended", "wait", "--session-id", "lines", "go")
    cli.await_question("lines")
    shown = cli("approvals").stdout
    assert "    | touch made # all is well\n    | touch second\n" in shown
    assert cli("approve", "lines").returncode == 0
    cli.await_state("lines", "idle")
    assert (cli.folder / "second").exists()
    assert cli("audit", "lines", "--verify").returncode == 0


def test_a_denied_call_does_not_run_and_the_model_is_told_why(cli: Cli) -> None:
    number = asking(cli, "no")
    assert cli("deny", "no", number, "--text", "not today").returncode == 0
    cli.await_state("no", "idle")
    assert not (cli.folder / "made").exists()
    told = cli("audit", "no", "--json")
    assert "not today" in told.stdout


def test_an_answer_to_no_question_is_refused_with_what_is_open(cli: Cli) -> None:
    asking(cli, "which")
    for words in (("9.9",), ("--mode", "acceptEdits")):
        wrong = cli("approve", "which", *words)
        assert (wrong.returncode, wrong.stderr.count("\n")) == (2, 1)
    assert cli("deny", "which").returncode == 0
    cli.await_state("which", "idle")
    assert cli("approve", "which").returncode == 2


def test_an_answer_signed_by_another_person_is_refused(cli: Cli, tmp_path: Path) -> None:
    asking(cli, "signed")
    key = cli.home.keys / "person.key"
    mine = key.read_bytes()
    try:
        key.write_text("ab" * 32 + "\n")
        refused = cli("approve", "signed")
    finally:
        key.write_bytes(mine)
    assert refused.returncode == 1
    assert "signature" in refused.stderr
    assert cli("deny", "signed").returncode == 0


@pytest.mark.parametrize(("key", "is_made", "ends"), [("y", True, 0), ("n", False, 3)])
def test_a_key_answers_where_the_question_is_shown(cli: Cli, key: str, ends: int, *, is_made: bool) -> None:
    model = cli.scenario(replies=[bash("touch made"), "Done."])
    code, screen = on_terminal(cli, ["run", "--model", model, "go"], "wants: touch made", key)
    assert code == ends
    assert "Done." in screen
    assert (cli.folder / "made").exists() is is_made


OWN_TERMINAL = (
    "import fcntl, os, sys, termios; fcntl.ioctl(0, termios.TIOCSCTTY, 0); os.execv(sys.argv[1], sys.argv[1:])"
)
"""A terminal belongs to the session leader that asks for it."""


def on_terminal(cli: Cli, words: list[str], until: str, key: str) -> tuple[int, str]:
    """Run it on a terminal of its own, press the key once that text is shown; exit code and all that was written."""
    leader, follower = pty.openpty()
    process = subprocess.Popen(
        [sys.executable, "-c", OWN_TERMINAL, *PROGRAM, *words],
        stdin=follower, stdout=follower, stderr=subprocess.DEVNULL, cwd=cli.folder,
        env=environment(cli.home.root, TERM="xterm"), start_new_session=True,
    )  # fmt: skip
    os.close(follower)
    os.set_blocking(leader, False)
    seen = bytearray()
    try:
        eventually(lambda: until.encode() in _read(leader, seen), 45, until)
        os.write(leader, key.encode())
        eventually(lambda: _read(leader, seen) and process.poll() is not None, 45, "its end")
    finally:
        process.kill()
        process.wait(timeout=10)
        os.close(leader)
    return process.returncode, seen.decode("utf-8", "replace")


def _read(leader: int, seen: bytearray) -> bytearray:
    try:
        while data := os.read(leader, 65536):
            seen += data
    except OSError:
        pass
    return seen
