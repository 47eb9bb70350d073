"""Watching is calm and correct in any terminal (case D11, at the renderer)."""

import re
import shutil
import statistics
import subprocess
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from cli.display.cells import cells
from cli.display.inline import InlineView
from cli.display.live import Live
from cli.display.theme import Theme
from cli.watch import Screen, moment, reduce
from tests.fakes.feed import START, call, ended, numbered, opened, reply, stamp
from tests.fakes.terminal import Terminal
from workflows.contracts.events import (
    ApprovalAsked,
    BlockEnded,
    Event,
    ModelRetry,
    TextDelta,
    ToolEnded,
    ToolProgress,
    ToolStarted,
)

NASTY = "\x1b[2J\x1b[3J\x1b]0;owned\x07\x1b[31mred\x1b[0m\x9b2J\x1bc\r\x1b[10A"
FAMILY, FLAG, ACCENT = "👨‍👩‍👧‍👦", "🇩🇪", "e\u0301"


class Recorded(Live):
    """A live area that remembers what it was told to print for good."""

    def __init__(self, terminal: Terminal) -> None:
        super().__init__(terminal.write)
        self.document: list[str] = []

    def frame(self, closed: Sequence[str], live: Sequence[str], size: tuple[int, int]) -> None:
        self.document += closed
        super().frame(closed, live, size)


class Watching:
    """An inline view on an emulated terminal, and the time of the events."""

    def __init__(self, columns: int = 80, rows: int = 24) -> None:
        self.terminal = Terminal(columns, rows)
        self.live = Recorded(self.terminal)
        self.view = InlineView(self.live, self.terminal.size, Theme(), "s1")
        self.view.load()
        self.screen = Screen()
        self.now = START.timestamp()

    def see(self, *events: Event) -> None:
        """Draw a frame after these events."""
        for event in events:
            self.screen = reduce(self.screen, event)
            self.now = max(self.now, moment(event.at) or 0)
        self.screen = self.view.draw(self.screen, self.now)

    def live_rows(self) -> list[str]:
        """What a fresh view would show of what is live now."""
        fresh = Terminal(*self.terminal.size())
        view = InlineView(Live(fresh.write), fresh.size, Theme(), "s1")
        view.load()
        view._group, view._goes_on = self.view._group, self.view._goes_on
        view.draw(self.screen, self.now)
        return fresh.everything()


def pieces(text: str, size: int = 7, block: int = 0) -> Iterator[TextDelta]:
    """The text as it is streamed."""
    for start in range(0, len(text), size):
        yield TextDelta(turn=1, exchange=1, attempt=1, block=block, text=text[start : start + size])


def test_a_turn_ends_as_a_document_with_nothing_live_left() -> None:
    watching = Watching()
    text = "# Head\n\nSome *words*.\n\n- a\n- b\n\n```py\nx = 1\n```\n"
    events = [*opened(), *reply(1, *(each.text for each in pieces(text)), calls=1), *call(1, 0, preview="found it")]
    for event in numbered([*events, *reply(2, "Done."), ended(2)]):
        watching.see(event)
    watching.view.close(watching.screen, watching.now)
    shown = [row.strip() for row in watching.terminal.everything() if row.strip()]
    assert shown[:9] == [
        "> do it", "Head", "Some words.", "• a", "• b", "x = 1", "* Read file0 - 1 s", "found it", "Done.",
    ]  # fmt: skip
    assert "= done" in shown
    assert not watching.terminal.cursor_is_hidden()
    assert watching.terminal.strange_sequences() == []


def test_phase_age_tokens_cost_and_what_it_waits_for_are_always_visible() -> None:
    for columns in (20, 40, 80, 200):
        watching = Watching(columns, 24)
        watching.see(*numbered([*opened(), *reply(1, "x", calls=1), next(call(1, 0, tool="Bash"))]))
        watching.now += 65
        watching.see()
        shown = " ".join(" ".join(watching.terminal.screen()).split())
        for fact in ("running tools", "waits for Bash", "last event 65 s ago", "100 tokens in, 10 out", "$0.0010"):
            assert fact in shown


def test_a_question_says_how_to_answer_it() -> None:
    watching = Watching()
    asked = ApprovalAsked(turn=1, exchange=1, place=0, tool="Bash", approval="1.0", summary="rm x", reason="a rule")
    watching.see(*numbered([*opened(), *reply(1, "x", calls=1), asked]))
    shown = "\n".join(watching.terminal.screen())
    assert "Bash wants: rm x (a rule)" in shown
    assert "perdure approve s1 1.0" in shown
    assert "waits for your answer" in shown


def test_the_rules_that_one_key_would_save_are_shown_before() -> None:
    watching = Watching()
    rules = ("Bash(rm x)", "Bash(ls\x1b[2J)")
    asked = ApprovalAsked(
        turn=1, exchange=1, place=0, tool="Bash", approval="1.0", summary="rm x", suggestions=rules
    )  # fmt: skip
    watching.see(*numbered([*opened(), *reply(1, "x", calls=1), asked]))
    shown = "\n".join(watching.terminal.screen())
    assert "always saves: Bash(rm x), Bash(ls" in shown
    assert "y allows, a allows it always, n denies" in shown


def test_a_question_about_hosts_shows_them_and_what_always_would_save() -> None:
    watching = Watching()
    asked = ApprovalAsked(
        turn=1, exchange=1, place=0, tool="Bash", approval="1.0.hosts", summary="open far.example",
        content="hosts\n  far.example", suggestions=("sandbox.network.allowedDomains far.example",),
    )  # fmt: skip
    watching.see(*numbered([*opened(), *reply(1, "x", calls=1), asked]))
    shown = " ".join(" ".join(watching.terminal.screen()).split())
    assert "the plan" not in shown
    assert "always saves: sandbox.network.allowedDomains far.example" in shown
    assert "y allows, a allows it always, n denies" in shown
    assert "perdure approve s1 1.0.hosts" in shown


def test_a_retry_counts_down() -> None:
    watching = Watching()
    watching.see(
        *numbered([*opened(), ModelRetry(turn=1, exchange=1, attempt=1, failure="overloaded", text="", seconds=30)])
    )
    assert "the next attempt in 30 s (overloaded)" in " ".join(watching.terminal.screen())
    watching.now += 20
    watching.see()
    assert "the next attempt in 10 s (overloaded)" in " ".join(watching.terminal.screen())


def test_a_frame_without_news_writes_nothing_and_idle_costs_under_a_kilobyte_a_second() -> None:
    watching = Watching()
    watching.see(*numbered([*opened(), *reply(1, "x", calls=1), next(call(1, 0))]))
    before = len(watching.terminal.sent)
    for _ in range(30):
        watching.see()
    assert len(watching.terminal.sent) == before
    for _ in range(60):
        watching.now += 1
        watching.see()
    assert len(watching.terminal.sent.encode()) - before < 60 * 1000


def storm() -> Iterator[str]:
    """2,000 lines of all kinds, one of 5,000 characters, paragraphs of ten."""
    for number in range(2000):
        line = f"line {number}: 中文 한국어 {ACCENT} {NASTY if number % 50 == 0 else ''} end\t{number}"
        yield "x" * 5000 + " wide" if number == 1000 else line
        if number % 10 == 9:
            yield ""


@pytest.mark.journey
def test_a_storm_of_lines_over_three_resizes_leaves_the_document_once_and_a_true_live_area() -> None:
    watching = Watching(80, 24)
    watching.see(*numbered(opened()))
    sizes = {500: (40, 10), 900: (200, 50), 1500: (80, 24)}
    seen: list[float] = []
    seq, batch = 10, ""
    for place, line in enumerate(storm()):
        batch += line + "\n"
        if place in sizes:
            watching.terminal.resize(*sizes[place])
        if place % 14 == 0 or place in sizes:
            seq += 1
            began = time.process_time()
            watching.see(TextDelta(seq=seq, at=stamp(seq), turn=1, exchange=1, attempt=1, block=0, text=batch))
            seen.append(time.process_time() - began)
            batch = ""
            if place % 70 == 0 or place in sizes:
                live_rows = watching.live_rows()
                assert watching.terminal.everything()[-len(live_rows) :] == live_rows
    watching.see(TextDelta(seq=9998, turn=1, exchange=1, attempt=1, block=0, text=batch))
    watching.see(BlockEnded(seq=9999, turn=1, exchange=1, attempt=1, block=0, block_kind="text"))
    watching.view.close(watching.screen, watching.now)
    # The emulator loses the rows that a smaller size cuts off, so the document is what was printed for good.
    text = "\n".join(watching.live.document)
    joined = "".join(re.sub(r"\x1b\[[0-9;]*m", "", text).split())
    for number in range(2000):
        assert joined.count(f"line{number}:") == (1 if number != 1000 else 0)
    assert joined.count("x" * 5000) == 1
    assert "owned" not in watching.terminal.sent
    assert watching.terminal.strange_sequences() == []
    # 2,000 lines in five seconds: what was sent for them is under 50 kB a second.
    assert len(watching.terminal.sent.encode()) < 5 * 50_000
    assert statistics.median(seen) < 0.1


@pytest.mark.parametrize("size", [(40, 10), (80, 24), (200, 50), (12, 5)])
def test_each_live_row_fits_the_width(size: tuple[int, int]) -> None:
    watching = Watching(*size)
    text = f"{FAMILY * 40} {FLAG * 40} {ACCENT * 90} 中文字 tab\there {NASTY} " + "y" * 700
    started = ToolStarted(turn=1, exchange=1, attempt=1, place=0, tool="Bash", summary=f"echo {FAMILY * 50}\n{NASTY}")
    progress = ToolProgress(turn=1, exchange=1, attempt=1, place=0, text=f"{NASTY}中{FLAG}" * 20, size=12345)
    watching.see(*numbered([*opened(), *pieces(text), started, progress]))
    rows = watching.view._live_rows(watching.screen, watching.now, *size)
    assert len(rows) < size[1]
    assert [row for row in rows if cells(row) > size[0]] == []


def test_tool_output_steers_nothing() -> None:
    watching = Watching()
    where = {"turn": 1, "exchange": 1, "attempt": 1, "place": 0}
    start = ToolStarted.model_validate({**where, "tool": f"Ba{NASTY}sh", "summary": NASTY})
    end = ToolEnded.model_validate({**where, "tool": "Bash", "status": "error", "preview": f"ok\n{NASTY}after"})
    watching.see(*numbered([*opened(), *reply(1, NASTY, calls=1), start]))
    watching.see(*numbered([end], 20))
    assert watching.terminal.strange_sequences() == []
    assert "after" in "\n".join(watching.terminal.everything())


@pytest.mark.journey
def test_inline_drawing_costs_a_fraction_of_drawing_the_screen_anew() -> None:
    watching = Watching(120, 40)
    text = "".join(f"Paragraph {n} has some **words** that are read by people.\n\n- one\n- two\n\n" for n in range(25))
    watching.see(*numbered(opened()))
    anew = frames = 0
    for seq, piece in enumerate(pieces(text, 5), 10):
        watching.see(piece.model_copy(update={"seq": seq, "at": stamp(seq)}))
        anew += sum(len(row.encode()) + 2 for row in watching.terminal.screen())
        frames += 1
    sent = len(watching.terminal.sent.encode())
    assert statistics.quantiles(watching.terminal.writes, n=20)[-1] <= 600
    # The screen's bare text already is a low measure of a redraw: cells that are packed with colours take 7.5 kB.
    assert sent * 25 < frames * 120 * 40
    assert sent * 3 < anew


@pytest.mark.journey
@pytest.mark.skipif(shutil.which("tmux") is None, reason="tmux is not here, and the emulator is wrong for such cells")
def test_families_flags_and_accents_stand_right_in_a_real_terminal(tmp_path: Path) -> None:
    watching = Watching(40, 12)
    text = f"a{FAMILY}b{FLAG}c{ACCENT}d👍🏽e❤️f 中文\n\n"
    watching.see(
        *numbered([*opened(), *pieces(text, 1), BlockEnded(turn=1, exchange=1, attempt=1, block=0, block_kind="text")])
    )
    sent = tmp_path / "sent"
    sent.write_text(watching.terminal.sent, encoding="utf-8")
    socket = str(tmp_path / "socket")
    tmux = ["tmux", "-u", "-S", socket, "-f", "/dev/null"]
    script = f"stty raw -echo; cat {sent}; sleep 30"
    subprocess.run([*tmux, "new-session", "-d", "-x", "40", "-y", "12", script], check=True, timeout=20)
    try:
        for _ in range(100):
            shown = subprocess.run(
                [*tmux, "capture-pane", "-p"], capture_output=True, check=True, timeout=20, text=True
            )
            if "tokens" in shown.stdout:
                break
            time.sleep(0.05)
    finally:
        subprocess.run([*tmux, "kill-server"], check=True, timeout=20)
    rows = shown.stdout.split("\n")
    assert rows[0] == "> do it"
    assert rows[2].startswith("a👨")
    assert rows[2].endswith("f 中文")
    assert "".join(letter for letter in rows[2] if letter.isascii() and letter != " ") == "abcedef"
    assert any("tokens in" in row for row in rows[3:7])
