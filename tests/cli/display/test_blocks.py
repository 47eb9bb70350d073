"""Streaming Markdown is cut only where no later line can change what was before."""

import random

from cli.display.blocks import ENDLESS, LONG, Chunk, split

DOCUMENT = """# Title

A paragraph
of two lines.

Setext
------

- item one

  still item one
- item two

```python
# not a heading

x = 1
```

| a | b |
|---|---|
| 1 | 2 |

> quote
lazy

    code

1. first
2. second

The end.
"""


def test_the_last_block_stays_open_and_those_before_it_are_closed() -> None:
    parts = split("one\n\ntwo\n\nthr")
    assert ([chunk.source for chunk in parts.closed], parts.rest) == (["one", "two"], "thr")


def test_a_paragraph_is_open_until_a_blank_line() -> None:
    assert split("one\nmore\n").closed == ()
    assert split("one\nmore\n\n").rest == ""


def test_a_line_that_is_not_whole_decides_nothing() -> None:
    assert split("one\n#").closed == ()
    assert len(split("one\n# h\n").closed) == 2


def test_an_open_fence_holds_what_looks_like_blocks() -> None:
    assert split("```\n# no heading\n\ntext\n\n").closed == ()
    assert split("```\nx\n```\n").rest == ""


def test_a_list_is_open_until_something_else_begins() -> None:
    assert split("- a\n\n- b\n\n").closed == ()
    assert [chunk.source for chunk in split("- a\n\n- b\n\ntext\n").closed] == ["- a\n\n- b"]


def test_wherever_the_stream_is_cut_the_same_chunks_come_out(chance: random.Random) -> None:
    whole = [chunk.source for chunk in _streamed([DOCUMENT])]
    for _ in range(40):
        cuts = sorted(chance.sample(range(len(DOCUMENT)), 12))
        pieces = [DOCUMENT[start:stop] for start, stop in zip([0, *cuts], [*cuts, len(DOCUMENT)], strict=True)]
        assert [chunk.source for chunk in _streamed(pieces)] == whole
    assert len(whole) == 9


def _streamed(pieces: list[str]) -> list[Chunk]:
    closed: list[Chunk] = []
    rest = ""
    for piece in pieces:
        parts = split(rest + piece)
        closed += parts.closed
        rest = parts.rest
    return closed


def test_a_long_fence_is_printed_in_pieces_that_are_fences() -> None:
    source = "```py\n" + "".join(f"line {n}\n" for n in range(LONG + 10))
    parts = split(source)
    assert parts.closed[0].source.endswith("\n```")
    assert parts.rest.startswith("```py\n")
    assert parts.goes_on
    lines = parts.closed[0].source.split("\n")[1:-1] + parts.rest.rstrip("\n").split("\n")[1:]
    assert lines == [f"line {n}" for n in range(LONG + 10)]
    assert split(parts.rest + "```\n", goes_on=True).closed[0].goes_on


def test_a_long_list_is_cut_between_items() -> None:
    parts = split("".join(f"{n}. item\n   more\n" for n in range(1, LONG)))
    assert parts.rest.split(".")[0].isdigit()
    assert parts.goes_on


def test_a_long_paragraph_is_cut_between_lines_and_a_long_table_only_when_it_is_endless() -> None:
    assert split("words\n" * (LONG + 1)).closed
    table = "| a |\n|---|\n" + "| 1 |\n" * (LONG + 1)
    assert split(table).closed == ()
    assert split(table + "| 1 |\n" * ENDLESS).closed
