"""The nearest region is found quickly, or nothing is claimed."""

import time

import pytest

from activities.stores.nearest import nearest_region


@pytest.mark.parametrize(
    ("wanted", "shown"),
    [
        ("def alpha(a):\n  return a + 1", "     2→def alpha(a):\n     3→    return a + 1"),
        ("return beta * 3", "     5→    return beta * 2"),
    ],
)
def test_the_region_most_like_it_is_shown_with_numbers(wanted: str, shown: str) -> None:
    text = "import os\ndef alpha(a):\n    return a + 1\ndef other(b):\n    return beta * 2\n"
    assert nearest_region(text, wanted) == shown


@pytest.mark.parametrize("wanted", ["completely different words", "}", "", "\n\n"])
def test_nothing_is_claimed_where_nothing_is_like_it(wanted: str) -> None:
    assert nearest_region("alpha\nbeta\n", wanted) == ""


@pytest.mark.parametrize(
    "text", ["return value\n" * 900_000, "return value " * 900_000, "\n" * 12_000_000], ids=["lines", "one", "empty"]
)
def test_a_large_text_of_one_kind_takes_no_time(text: str) -> None:
    began = time.monotonic()
    nearest_region(text, "return value\nof another\nkind\n" * 200)
    assert time.monotonic() - began < 2
