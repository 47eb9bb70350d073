"""Text from anywhere becomes rows that fit and steer nothing."""

import random

import pytest
from wcwidth import wcswidth

from cli.display.cells import (
    anchored,
    as_typed,
    cells,
    counted,
    fit,
    in_full,
    one_line,
    safe,
    safe_output,
    spread,
    wrap,
)

FAMILY, FLAG, ACCENT = "👨‍👩‍👧‍👦", "🇩🇪", "e\u0301"


@pytest.mark.parametrize(
    "hostile",
    [
        "\x1b[2J",
        "\x1b[3J",
        "\x1b]0;title\x07",
        "\x1b]0;title\x1b\\",
        "\x1b]8;;http://x\x1b\\",
        "\x9b2J",
        "\x9d0;t\x9c",
        "\x1bPq\x1b\\",
        "\x1bc",
        "\x1b(0",
        "\x1b[38;5;1m",
        "\x07",
        "\x08",
        "\x85",
        "\u202e",
    ],
)
def test_what_steers_a_terminal_is_gone_and_the_text_around_it_stays(hostile: str) -> None:
    assert safe(f"a{hostile}b") == "ab"


def test_an_unfinished_sequence_hides_no_further_line() -> None:
    assert safe("a\x1b]0;never ends\nb\x1b[\nc\x1b") == "a\nb\nc"


def test_random_bytes_leave_no_control_character(chance: random.Random) -> None:
    text = chance.randbytes(200_000).decode("latin-1")
    left = {letter for letter in safe_output(text) if ord(letter) < 32 or 0x7F <= ord(letter) < 0xA0}
    assert left <= {"\n", "\t"}


def test_half_a_character_and_a_nul_are_replaced_visibly() -> None:
    assert safe("\ud83d\0") == "\ufffd\u2400"


def test_a_progress_bar_shows_its_last_state() -> None:
    assert safe_output("10%\r50%\r100%\r\ndone\r") == "100%\ndone"


def test_a_lone_carriage_return_of_a_model_starts_a_line() -> None:
    assert safe("a\rb\r\nc") == "a\nb\nc"


def test_tabs_go_to_their_stops_also_behind_wide_characters() -> None:
    assert spread("a\tb") == "a       b"
    assert spread("中文\tb") == "中文    b"


@pytest.mark.parametrize("width", [1, 2, 7, 40])
@pytest.mark.parametrize(
    "text", ["word " * 30, "x" * 500, "中文字" * 50, FAMILY * 20, FLAG * 20, ACCENT * 99, f"a{FAMILY}b中{ACCENT}" * 9]
)
def test_each_wrapped_row_fits_and_nothing_but_blanks_is_lost(text: str, width: int) -> None:
    rows = wrap(text, width)
    assert all(cells(row) <= width or cells(row) == 2 for row in rows)
    assert "".join(rows).replace(" ", "") == text.replace(" ", "")


def test_a_cluster_is_never_cut() -> None:
    assert wrap(FAMILY * 3, 5) == [FAMILY * 2, FAMILY]
    assert wrap(f"abc{ACCENT}d", 4) == [f"abc{ACCENT}", "d"]


def test_a_long_row_is_cut_in_cells_and_says_so() -> None:
    assert fit("中文字符", 5) == "中文…"
    assert wcswidth(fit(FAMILY * 9, 10)) <= 10


def test_a_cell_of_several_code_points_is_followed_by_its_column() -> None:
    assert anchored(f"a{FAMILY}b", 80) == f"a{FAMILY}\x1b[4Gb"
    assert anchored("plain", 80) == "plain"


def test_lines_become_one() -> None:
    assert one_line(" a\n\tb\r\n c ") == "a b c"


@pytest.mark.parametrize(
    ("text", "seen"),
    [
        ("echo \x1b]0;$(evil)\x07 x", "echo ␛]0;$(evil)␇ x"),
        ("evil #\recho good", "evil #␍echo good"),
        ("\x1b[8mevil\x1b[0m", "␛[8mevil␛[0m"),
        ("a\u202eb\u2066c\u200bd", "a<U+202E>b<U+2066>c<U+200B>d"),
        ("r\u200dm\x7f\x9b", "r<U+200D>m<U+007F><U+009B>"),
        ("\U000e0041\u3164\ud83d", "<U+E0041><U+3164>\ufffd"),
        (FAMILY, FAMILY),
        ("Größe 中文", "Größe 中文"),
    ],
)
def test_what_a_person_decides_about_shows_all_that_a_program_would_read(text: str, seen: str) -> None:
    assert one_line(text) == seen
    assert in_full(f"{text}\n\tb") == f"{seen}\n\tb"


def test_a_command_that_is_shown_can_be_pasted_and_steers_no_terminal() -> None:
    assert as_typed("perdure", "trust", "/w/plain") == "perdure trust /w/plain"
    assert as_typed("perdure", "trust", "/w/my work\x1b[2J") == "perdure trust '/w/my work\u241b[2J'"


def test_what_is_counted_stands_in_its_own_number() -> None:
    assert [counted(number, "entry", "entries") for number in (0, 1, 1200)] == ["0 entries", "1 entry", "1,200 entries"]
    assert counted(2, "call") == "2 calls"
