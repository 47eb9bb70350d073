"""The frame loop on real pseudo-terminals and pipes, in processes of their own."""

import asyncio
import fcntl
import io
import os
import pty
import select
import shutil
import signal
import struct
import subprocess
import sys
import termios
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from cli.display.screen import watch_events
from cli.watch import Screen
from tests.fakes.feed import ended, numbered, opened, reply
from tests.fakes.terminal import Terminal
from tests.fakes.waiting import eventually
from workflows.contracts.events import Event, TextDelta, TurnEnded

ROOT = Path(__file__).parents[3]
WATCH = """
import asyncio, sys, time
sys.path.insert(0, ".")
from cli.display.screen import watch_events
from workflows.contracts.events import EVENT

async def events():
    loop = asyncio.get_running_loop()
    reader = asyncio.StreamReader()
    await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), sys.stdin)
    while line := await reader.readline():
        yield EVENT.validate_json(line)

asyncio.run(watch_events(events(), sys.stdout, lambda event: event.kind == "turn_ended"))
"""


def lines(events: list[Event]) -> bytes:
    return b"".join(event.model_dump_json().encode() + b"\n" for event in events)


TURN = numbered([*opened(), *reply(1, "# Head\n\nword ", "and \x1b[2Jword.\n"), ended(1)])


class Watcher:
    """A process that watches what is fed to it, on a pseudo-terminal."""

    def __init__(self, term: str = "xterm-256color") -> None:
        self.main, side = pty.openpty()
        self.resize(80, 24)
        env = {**{name: value for name, value in os.environ.items() if name != "TMUX"}, "TERM": term}
        self.process = subprocess.Popen(
            [sys.executable, "-c", WATCH], cwd=ROOT, env=env, stdin=subprocess.PIPE, stdout=side, stderr=subprocess.PIPE
        )
        os.close(side)
        self.sent = ""

    def resize(self, columns: int, rows: int) -> None:
        """Another size of the terminal."""
        fcntl.ioctl(self.main, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))

    def feed(self, *events: Event) -> None:
        """Events to see now."""
        assert self.process.stdin is not None
        self.process.stdin.write(lines(list(events)))
        self.process.stdin.flush()

    def read(self, until: str = "", seconds: float = 20) -> float:
        """Take in what is sent until that text was; when it came."""
        end, start = time.monotonic() + seconds, len(self.sent)
        while time.monotonic() < end:
            if until and until in self.sent[start:]:
                return time.monotonic()
            if not select.select([self.main], [], [], 0.1)[0]:
                continue
            try:
                piece = os.read(self.main, 65536)
            except OSError:
                piece = b""
            if not piece:
                break
            self.sent += piece.decode("utf-8", "replace")
        assert not until or until in self.sent[start:], self.sent[start:]
        return time.monotonic()

    def shown(self, columns: int = 80, rows: int = 24) -> Terminal:
        """An emulated terminal that was sent the same."""
        terminal = Terminal(columns, rows)
        terminal.write(self.sent)
        return terminal


@contextmanager
def watcher(term: str = "xterm-256color") -> Iterator[Watcher]:
    watching = Watcher(term)
    try:
        yield watching
    finally:
        watching.process.kill()
        watching.process.communicate(timeout=20)
        os.close(watching.main)


@pytest.mark.journey
def test_a_turn_on_a_terminal_ends_in_order() -> None:
    with watcher() as watching:
        watching.feed(*TURN)
        watching.read()
        assert watching.process.wait(timeout=20) == 0
        terminal = watching.shown()
        assert not terminal.cursor_is_hidden()
        assert terminal.strange_sequences() == []
        assert [row.strip() for row in terminal.everything() if row][:3] == ["> do it", "Head", "word and word."]


@pytest.mark.journey
@pytest.mark.parametrize(("number", "code"), [(signal.SIGTERM, -signal.SIGTERM), (signal.SIGINT, -signal.SIGINT)])
def test_a_signal_leaves_the_terminal_in_order(number: signal.Signals, code: int) -> None:
    with watcher() as watching:
        watching.feed(*TURN[:4])
        watching.read("word")
        watching.process.send_signal(number)
        watching.read()
        assert watching.process.wait(timeout=20) in {code, 130}
        terminal = watching.shown()
        assert not terminal.cursor_is_hidden()
        assert "word" in "\n".join(terminal.everything())


@pytest.mark.journey
def test_an_error_of_the_feed_leaves_the_terminal_in_order_and_is_not_hidden() -> None:
    with watcher() as watching:
        watching.feed(*TURN[:4])
        watching.read("word")
        assert watching.process.stdin is not None
        watching.process.stdin.write(b"no event\n")
        watching.process.stdin.flush()
        watching.read()
        _, errors = watching.process.communicate(timeout=20)
        assert b"ValidationError" in errors
        assert not watching.shown().cursor_is_hidden()


@pytest.mark.journey
def test_a_resize_is_seen_at_once_and_rewrites_the_live_area_only() -> None:
    with watcher() as watching:
        watching.feed(*TURN[:4])
        watching.read("word")
        watching.resize(40, 10)
        watching.read("out")
        assert "Head" not in watching.sent[watching.sent.rfind("\x1b7\x1b8") :]
        assert "\x1b[2J" not in watching.sent


@pytest.mark.journey
def test_the_first_text_after_a_pause_is_drawn_at_once() -> None:
    with watcher() as watching:
        watching.feed(*TURN[:3])
        watching.read("asking the model")
        time.sleep(1.2)
        waits = []
        for number in range(12):
            time.sleep(0.15)
            began = time.monotonic()
            delta = TextDelta(turn=1, exchange=1, attempt=1, block=0, seq=100 + number, text=f"<{number}>\n")
            watching.feed(delta)
            waits.append(watching.read(f"<{number}>") - began)
        # Generous for a busy machine; the bench holds it to 20 ms.
        assert sorted(waits)[len(waits) // 2] < 0.1


@pytest.mark.journey
@pytest.mark.parametrize("term", ["dumb", ""])
def test_a_dumb_terminal_gets_no_control_codes(term: str) -> None:
    with watcher(term) as watching:
        watching.feed(*TURN)
        watching.read()
        assert watching.process.wait(timeout=20) == 0
        assert "\x1b" not in watching.sent
        assert "word and word." in watching.sent


@pytest.mark.journey
def test_a_pipe_gets_plain_text_without_an_escape_byte() -> None:
    done = subprocess.run(
        [sys.executable, "-c", WATCH], cwd=ROOT, input=lines(TURN), capture_output=True, timeout=60, check=True
    )
    assert b"\x1b" not in done.stdout
    assert b"# Head\n\nword and word.\n" in done.stdout


async def told(events: list[Event]) -> AsyncIterator[Event]:
    for event in events:
        yield event


async def test_watching_stops_at_the_event_that_was_asked_for() -> None:
    out = io.StringIO()
    after = numbered([TextDelta(turn=1, exchange=2, attempt=1, block=0, text="too far")], 50)
    screen = await watch_events(told([*TURN, *after]), out, lambda event: isinstance(event, TurnEnded))
    assert screen.ended is not None
    assert "too far" not in out.getvalue()


async def test_watching_stops_when_the_events_do_and_says_where_it_stood() -> None:
    out = io.StringIO()
    await watch_events(told(TURN[:-1]), out, lambda _: False)
    assert "last event" in out.getvalue().splitlines()[-1]


async def test_an_output_that_cannot_say_all_letters_gets_replacements() -> None:
    out = io.TextIOWrapper(io.BytesIO(), encoding="ascii")
    events = numbered([*opened(), *reply(1, "Grüße 中"), ended(1)])
    await watch_events(told(events), out, lambda event: isinstance(event, TurnEnded))
    out.seek(0)
    assert "Gr??e ?" in out.read()


@pytest.mark.journey
async def test_the_engine_is_asked_what_it_waits_for_and_its_silence_is_told() -> None:
    asked = 0

    async def nothing_more() -> AsyncIterator[Event]:
        for event in TURN[:3]:
            yield event
        await asyncio.sleep(60)

    async def source() -> tuple[str, str]:
        nonlocal asked
        asked += 1
        return "host X", "running tools"

    out = io.StringIO()
    watching = asyncio.create_task(
        watch_events(nothing_more(), out, lambda _: False, screen=Screen(session="s1"), status_source=source)
    )
    for _ in range(150):
        await asyncio.sleep(0.1)
        if "waits for host X" in out.getvalue():
            break
    watching.cancel()
    with pytest.raises(asyncio.CancelledError):
        await watching
    assert asked >= 1
    assert "waits for host X" in out.getvalue()


TYPES = """
import asyncio, sys, time
sys.path.insert(0, ".")
from cli.display.screen import watch_events
from tests.fakes.feed import ended, numbered, opened
from workflows.contracts.events import TextDelta

async def events():
    for event in numbered(opened()):
        yield event
    for n in range(120):
        text = f"line{n:03d} some words of a sentence that fill the row until it is long\\n" + "\\n" * (n % 4 == 3)
        yield TextDelta(turn=1, exchange=1, attempt=1, block=0, seq=n + 9, text=text)
        await asyncio.sleep(0.03)
    yield ended(1)

asyncio.run(watch_events(events(), sys.stdout, lambda event: event.kind == "turn_ended"))
time.sleep(60)
"""


@pytest.mark.journey
@pytest.mark.skipif(shutil.which("tmux") is None, reason="tmux is not here")
def test_in_a_terminal_that_wraps_rows_anew_each_line_is_there_once_after_four_resizes(tmp_path: Path) -> None:
    tmux = ["tmux", "-u", "-S", str(tmp_path / "socket"), "-f", "/dev/null"]

    def run(*given: str) -> str:
        done = subprocess.run([*tmux, *given], cwd=ROOT, capture_output=True, check=True, timeout=20, text=True)
        return done.stdout

    run("new-session", "-d", "-x", "80", "-y", "24", sys.executable, "-c", TYPES)
    try:
        run("set-option", "-g", "window-size", "manual")
        eventually(lambda: "line003" in run("capture-pane", "-p"), 30)
        for columns, rows in ((40, 10), (120, 40), (50, 15), (80, 24)):
            run("resize-window", "-x", str(columns), "-y", str(rows))
            time.sleep(0.6)
        eventually(lambda: "= done" in run("capture-pane", "-p"), 30)
        text = "".join(run("capture-pane", "-p", "-J", "-S", "-").split())
    finally:
        run("kill-server")
    assert [text.count(f"line{n:03d}") for n in range(120)] == [1] * 120
    assert "answering" not in text
