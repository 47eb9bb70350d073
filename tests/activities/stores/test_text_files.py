"""Text keeps its bytes on the way in and out."""

import random

import pytest

from activities.stores.text_files import EndingText, decode, encode, unified


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"plain\n",
        "ä\r\n→".encode(),
        b"\xef\xbb\xbfx",
        "\ufeffx\n".encode("utf-16-le"),
        "\ufeffx\n".encode("utf-16-be"),
        "\ufeffx\n".encode("utf-32-le"),
        b"\xff\xfe\x00",
        b"\xff\xfe\x00\xd8",
        b"caf\xe9\r",
        bytes(range(256)),
    ],
)
def test_any_bytes_come_back_unchanged(data: bytes) -> None:
    assert encode(*decode(data)) == data


def test_a_replacement_gives_the_lines_it_should_whatever_the_endings(chance: random.Random) -> None:
    for _ in range(2_000):
        lines = [chance.choice("abc") * chance.randint(0, 3) for _ in range(chance.randint(1, 12))]
        raw = "".join(line + chance.choice(["\n", "\r\n", "\r"]) for line in lines)
        text = EndingText(raw)
        start = chance.randint(0, len(text.text))
        end = chance.randint(start, len(text.text))
        old = text.text[start:end]
        new = "".join(chance.choice("xy\n") for _ in range(chance.randint(0, 6)))
        changed = text.replaced([start], old, new)
        assert unified(changed) == text.text[:start] + new + text.text[end:]
        assert text.replaced([start], old, old) == raw


def test_lines_are_counted_over_every_kind_of_ending() -> None:
    text = EndingText("a\r\nb\rc\nd")
    assert [text.line(text.text.index(letter)) for letter in "abcd"] == [1, 2, 3, 4]
