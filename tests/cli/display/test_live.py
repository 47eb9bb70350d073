"""The live area changes what differs, by relative moves, and nothing above it."""

import random

import pytest

from cli.display.live import Live, reflows
from tests.fakes.terminal import Terminal


def test_an_unchanged_frame_writes_nothing() -> None:
    terminal = Terminal()
    live = Live(terminal.write)
    live.frame([], ["a", "b"], terminal.size())
    before = terminal.sent
    live.frame([], ["a", "b"], terminal.size())
    assert terminal.sent == before


def test_a_row_that_grows_sends_what_is_new() -> None:
    terminal = Terminal()
    live = Live(terminal.write)
    live.frame([], ["the quick brown", "status"], terminal.size())
    before = len(terminal.sent)
    live.frame([], ["the quick brown fox", "status"], terminal.size())
    assert "quick" not in terminal.sent[before:]
    assert terminal.screen()[:2] == ["the quick brown fox", "status"]


def test_closed_rows_stay_and_live_ones_go() -> None:
    terminal = Terminal()
    live = Live(terminal.write)
    live.frame([], ["x", "status"], terminal.size())
    live.frame(["one", "two"], ["status"], terminal.size())
    live.close(["three"], terminal.size())
    assert terminal.everything() == ["one", "two", "three"]
    assert not terminal.cursor_is_hidden()


@pytest.mark.journey
def test_after_any_frames_the_terminal_shows_the_document_once_and_the_live_rows(chance: random.Random) -> None:
    for is_on_top in (False, True):
        terminal = Terminal(30, 8)
        live = Live(terminal.write, rests_on_top=is_on_top)
        document: list[str] = []
        for _ in range(300):
            closed = [_row(chance, len(document) + n) for n in range(chance.choice([0, 0, 1, 3, 12]))]
            rows = [_row(chance, chance.randrange(3)) for _ in range(chance.randrange(7))]
            live.frame(closed, rows, terminal.size())
            document += closed
            shown = [row.rstrip() for row in _plain([*document, *rows])]
            while shown and not shown[-1]:
                shown.pop()
            assert terminal.everything() == shown
    assert terminal.strange_sequences() == []


def _row(chance: random.Random, number: int) -> str:
    return chance.choice(
        [
            "",
            f"row {number}",
            f"\x1b[1mbold\x1b[0m {number} {'x' * chance.randrange(20)}",
            f"\x1b[2m{'dim' * 10}\x1b[0m",
            f"中文 {number} 字符",
            "a" * 30,
        ]
    )


def _plain(rows: list[str]) -> list[str]:
    return [row.replace("\x1b[1m", "").replace("\x1b[2m", "").replace("\x1b[0m", "") for row in rows]


def test_a_resize_rewrites_the_live_area_only() -> None:
    terminal = Terminal(80, 24)
    live = Live(terminal.write)
    document = [f"line {n}" for n in range(100)]
    live.frame(document, ["tail", "status"], terminal.size())
    for size in ((40, 10), (200, 50), (80, 24)):
        terminal.resize(*size)
        live.frame([], [f"tail {size[0]}", "status"], terminal.size())
    assert [row for row in terminal.everything() if "tail" in row] == ["tail 80"]
    assert terminal.scrollback() == document[: len(terminal.scrollback())]
    assert terminal.strange_sequences() == []


def test_terminals_that_wrap_rows_anew_are_known() -> None:
    assert reflows({"TERM": "xterm-256color", "TMUX": "/tmp/x"})
    assert reflows({"TERM": "tmux-256color"})
    assert not reflows({"TERM": "xterm-256color"})
