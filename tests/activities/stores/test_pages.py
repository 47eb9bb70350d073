"""A page is bounded and says what follows."""

import pytest

from activities.stores.pages import LINE_WIDTH, read_page, text_of


@pytest.mark.parametrize("count", [LINE_WIDTH - 1, LINE_WIDTH, LINE_WIDTH + 1, 2 * LINE_WIDTH, 2 * LINE_WIDTH + 1])
def test_folding_loses_nothing_and_makes_no_empty_piece(count: int) -> None:
    page = read_page(text_of(b"x" * count + b"\n\nend"), 1, 100, fold=True)
    pieces = [line.partition("→")[2] for line in page.text.split("\n")]
    assert "".join(pieces) == "x" * count + "end"
    assert pieces.count("") == 1


@pytest.mark.parametrize(("data", "total"), [(b"a\nb\nc", 3), (b"a\nb\nc\n", 3), (b"a\r\nb\rc\n\n", 4)])
def test_all_lines_are_counted(data: bytes, total: int) -> None:
    page = read_page(text_of(data), 1, 1)
    assert (page.first, page.last, page.total, page.has_more) == (1, 1, total, True)


def test_an_empty_text_has_no_lines() -> None:
    page = read_page(text_of(b""), 1, 1)
    assert (page.text, page.last, page.total, page.has_more) == ("", 0, 0, False)
