"""A pattern that minds no case finds a word in any, and keeps what its escapes mean."""

import re

import pytest

from activities.safety.bash.caseless import Caseless


@pytest.mark.parametrize("text", ["Popen", "POPEN", "a popen b", "ſubprocess"])
def test_a_word_is_found_in_any_case(text: str) -> None:
    assert Caseless(r"Popen|Subprocess").is_in(text)


@pytest.mark.parametrize(
    ("pattern", "text"), [(r"a\Sb", "axB"), (r"\bRm\b", "x rM y"), (r"A\\B", r"a\b"), (r"[A-C]x", "BX")]
)
def test_escapes_and_classes_mean_what_they_meant(pattern: str, text: str) -> None:
    assert Caseless(pattern).is_in(text)
    assert re.search(pattern, text, re.IGNORECASE)


@pytest.mark.parametrize(("pattern", "text"), [(r"a\Sb", "a b"), (r"\bRm\b", "arm"), (r"A\Wb", "a_b")])
def test_what_is_not_there_is_not_found(pattern: str, text: str) -> None:
    assert not Caseless(pattern).is_in(text)
