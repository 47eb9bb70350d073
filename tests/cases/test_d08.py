"""D08: the shell tool returns when the command is done, and leaves nothing behind."""

import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Self

import psutil
import pytest

from tests.fakes.case_bench import Json, Play, Stage, bash, end_tagged, of_kind, reply, tagged, text_of
from tests.fakes.waiting import eventually

pytestmark = pytest.mark.journey

SHOWN = 33_000
"""Most characters of a result: what the tool shows, and its notes."""
MOST_GROWTH = 100 * 1024 * 1024
SLACK = 2.0


@dataclass(frozen=True)
class Row:
    """One command, its limit, and what is seen of it."""

    command: str
    limit: float
    """Seconds within which it must have ended."""
    text: str
    timeout: int | None = None
    """Milliseconds that the call asks for."""
    is_over: bool = False
    """Ended by its time limit."""

    def call(self) -> Json:
        more = {"timeout": self.timeout} if self.timeout else {}
        # A command that begins with a wait is ended at its limit; any other would go on in the background.
        wait = "sleep 0; " if self.is_over else ""
        return bash(f"{wait}export TAG=d08; {self.command}", **more)


BURN = "yes > /dev/null"
"""Burns a core; an endless loop of the shell itself in the background is denied as a bomb."""

ROWS = {
    "a sleep in the background": Row("sleep 60 & echo done", 2, "done"),
    "a server in the background": Row("python3 -m http.server 0 & sleep 0.2; echo up", 2, "up"),
    "a daemon that left its session": Row("(setsid sh -c 'setsid sleep 60 & sleep 60' &) ; echo away", 2, "away"),
    "children that burn": Row(f"for i in 1 2 3 4; do {BURN} & done; echo on; wait", 3, "on", 3_000, is_over=True),
    "endless output": Row("yes", 5, "y\ny\n", 5_000, is_over=True),
    "endless output without a newline": Row("tr '\\0' x < /dev/zero", 2, "xxx", 2_000, is_over=True),
    "a reader of stdin": Row("cat; echo read", 2, "read"),
    "a reader of the terminal": Row("cat /dev/tty; echo none; read -r x; echo $?", 2, "none\n1"),
    "an open descriptor": Row("exec 3<>/dev/null; echo open; sleep 60", 2, "open", 2_000, is_over=True),
    "one that ignores TERM": Row("trap '' TERM; echo deaf; sleep 60; sleep 60", 2, "deaf", 2_000, is_over=True),
}


@dataclass
class Peak:
    """Resident memory of the worker while the block runs."""

    pid: int
    before: int = 0
    most: int = 0
    _stop: threading.Event = field(default_factory=threading.Event)

    def __enter__(self) -> Self:
        self.before = self.most = psutil.Process(self.pid).memory_info().rss
        self._thread = threading.Thread(target=self._look)
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._thread.join()

    def _look(self) -> None:
        while not self._stop.wait(0.05):
            self.most = max(self.most, psutil.Process(self.pid).memory_info().rss)


@pytest.fixture(autouse=True)
def nothing_left() -> Iterator[None]:
    """What a failed case left is ended."""
    yield
    end_tagged("d08")


def warmed(play: Play) -> None:
    """One run before, so that the SDK's own import is no growth."""
    assert play(reply(bash("echo warm")), "done").run().code == 0


def test_each_command_returns_at_its_time_with_its_text_and_leaves_no_process(play: Play) -> None:
    warmed(play)
    stage = play(*[reply(row.call()) for row in ROWS.values()], "done", window=200_000)
    with Peak(stage.worker()) as peak:
        ran = stage.run()
    assert ran.code == 0, ran
    eventually(lambda: not tagged("d08"), 5, "no process of the commands")
    calls = of_kind(stage.audit(ran.session), "call")
    wrong = [told for told in (check(stage, name, place, calls[place]) for place, name in enumerate(ROWS)) if told]
    assert wrong == []
    assert peak.most - peak.before < MOST_GROWTH, f"{(peak.most - peak.before) / 1e6:.0f} MB"


def check(stage: Stage, name: str, place: int, call: Json) -> str:
    """What is wrong with one row; empty when nothing is."""
    row = ROWS[name]
    shown = text_of(stage.results(place + 1)[0])
    if call["seconds"] > row.limit + SLACK:
        return f"{name}: {call['seconds']} s"
    if row.text not in shown or len(shown) > SHOWN:
        return f"{name}: {len(shown)} characters, {shown[:200]!r}"
    if row.is_over != ("time limit" in shown):
        return f"{name}: {shown[-200:]!r}"
    if call["size"] > SHOWN and f"{call['size']:,}" not in shown:
        return f"{name}: the full length {call['size']:,} is not stated"
    return ""


def test_a_command_that_goes_on_printing_after_its_shell_ended_holds_nothing_up(play: Play) -> None:
    stage = play(reply(bash("export TAG=d08; (sleep 0.1; yes more) & echo first")), "done")
    began = time.monotonic()
    assert stage.run().code == 0
    assert time.monotonic() - began < 30
    assert "first" in text_of(stage.results()[0])
    eventually(lambda: not tagged("d08"), 5, "no process of the command")
