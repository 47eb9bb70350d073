"""D11: watching a run is calm and correct in any terminal."""

import time
from collections.abc import Iterator

import pytest

from cli.display.cells import cells
from tests.fakes.case_bench import Json, Play, Stage, bash, reply
from tests.fakes.case_terminal import InTerminal
from tests.fakes.command_line import PROGRAM, environment
from tests.fakes.waiting import eventually

pytestmark = pytest.mark.journey

WIDE = (
    "中文和日本語と한국어가 섞인 줄\n"
    "cafe\u0301 nai\u0308ve A\u030a\n"
    "flags 🇩🇪🇰🇷 family 👩‍👩‍👧‍👦 thumb 👍🏽\n"
    "\ttabs\tbetween\twords\n" + "long " * 1_000 + "\n"
)
HOSTILE = r"printf '\033[2J\033[3J\033]0;owned\007\033[31mred\033[0m\033[?1049h\033[5;5H\033P1$r\033\\\033c here\n'"
FLOOD = "for i in $(seq 20); do for j in $(seq 100); do echo line $i.$j; done; sleep 0.25; done"
LAST = "\n\n".join(f"closing line {n:02} 中文 {'word ' * (n % 20)}" for n in range(40))
SIZES = [(40, 10), (200, 50), (80, 24)]


@pytest.fixture
def terminals() -> Iterator[list[InTerminal]]:
    """Every terminal of a test; none is left."""
    opened: list[InTerminal] = []
    yield opened
    for one in opened:
        one.end()


def in_terminal(stage: Stage, opened: list[InTerminal], *words: str, term: str = "xterm-256color") -> InTerminal:
    named = {**environment(stage.cli.home.root, **stage.cli.more), "TERM": term, "LANG": "C.UTF-8"}
    named.pop("NO_COLOR", None)
    opened.append(InTerminal([*PROGRAM, *words], stage.box, named))
    return opened[-1]


def replies() -> list[Json]:
    slow = {"pacing": {"token_ms": 2, "chunk": 60}}
    return [
        reply(WIDE, bash(HOSTILE), **slow),
        reply(bash(FLOOD)),
        reply(bash("sleep 6")),
        reply(LAST, pacing={"token_ms": 10, "chunk": 60}),
    ]


def staged(play: Play) -> Stage:
    stage = play(*replies(), window=100_000)
    stage.words = ("--permission-mode", "bypassPermissions", "--once")
    return stage


def check_calm(seen: InTerminal) -> None:
    """Nothing of what a tool printed steers the terminal; nothing is cleared; every row fits."""
    assert seen.terminal.strange_sequences() == []
    assert seen.raw.count(b"\x1b[2J") + seen.raw.count(b"\x1b[3J") == 0
    assert b"owned" not in seen.raw or b"\x1b]0;" not in seen.raw
    columns = seen.terminal.size()[0]
    assert [row for row in seen.terminal.screen() if cells(row) > columns] == []


def test_a_live_view_survives_wide_text_hostile_output_and_three_resizes(
    play: Play, terminals: list[InTerminal]
) -> None:
    stage = staged(play)
    live = in_terminal(stage, terminals, "run", *stage.words, "--session-id", "d11-live", "go")
    eventually(lambda: len(stage.asked()) >= 2, 40, "the flood's request")
    began = time.monotonic()
    for columns, rows in SIZES:
        time.sleep(1.0)
        live.resize(columns, rows)
    eventually(lambda: len(stage.asked()) >= 3, 40, "the sleep's request")
    flooded = live.bytes_between(began, time.monotonic()) / (time.monotonic() - began)
    time.sleep(2)
    calm_from = time.monotonic()
    time.sleep(3)
    calm = live.bytes_between(calm_from, calm_from + 3) / 3
    assert live.wait() == 0
    check_calm(live)
    assert flooded < 50_000, f"{flooded:.0f} bytes a second"
    assert calm < 1_000, f"{calm:.0f} bytes a second while nothing changes"
    late = in_terminal(stage, terminals, "watch", "d11-live")
    assert late.wait() == 0
    check_calm(late)
    assert body(live) == body(late)
    for word in ("한국어", "中文", "here"):
        assert word in late.shown()


def body(seen: InTerminal) -> list[str]:
    """The last rows of the final screen up to the word that the turn is done; a late watcher tells of the close too."""
    rows = seen.terminal.screen()
    return rows[: rows.index("= done")][-17:]


@pytest.mark.parametrize("way", ["file", "dumb"])
def test_where_nothing_can_be_drawn_lines_are_plain(play: Play, terminals: list[InTerminal], way: str) -> None:
    stage = play(reply(WIDE, bash(HOSTILE)), "closing line", window=100_000)
    words = ("run", "--permission-mode", "bypassPermissions", "--once", "go")
    if way == "file":
        ended = stage.cli(*words)
        code, told = ended.returncode, ended.stdout
    else:
        seen = in_terminal(stage, terminals, *words, term="dumb")
        code, told = seen.wait(), seen.raw.decode()
    assert code == 0
    assert "\x1b" not in told
    assert [letter for letter in told if ord(letter) < 32 and letter not in "\n\r\t"] == []
    for word in ("한국어", "cafe\u0301", "here", "closing line"):
        assert word in told
