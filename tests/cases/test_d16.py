"""D16: several lines, tabs and CRLF."""

from pathlib import Path

import pytest

from tests.fakes.case_bench import Json, Play, of_kind, reply, text_of

pytestmark = pytest.mark.journey


def edit(name: str, old: str, new: str) -> Json:
    return {"tool": "Edit", "input": {"file_path": name, "old_string": old, "new_string": new}}


def read(name: str, **more: int) -> Json:
    return {"tool": "Read", "input": {"file_path": name, **more}}


def lines(count: int, ending: str = "\r\n") -> bytes:
    """Numbered lines, indented by tabs, as a file of Windows has them."""
    return "".join(f"\tline {n:02} = {n * 7}{ending}" for n in range(1, count + 1)).encode()


def swapped(data: bytes, old: bytes, new: bytes) -> bytes:
    """The file with that one piece replaced, made without our own tools."""
    assert data.count(old) == 1
    place = data.index(old)
    return data[:place] + new + data[place + len(old) :]


CRLF = lines(40)
MIXED = b"one\r\n\ttwo\nthree\rfour\r\nfive\n\tsix\r\nseven\n"
OPEN_END = b"alpha\r\n\tbeta\r\ngamma"
TWICE = b"x\n\tsame\n\tagain\n\tthere\ny\nz\n\tsame\n\tagain\n\tthere\n"
DONE = b"head\r\n\tnew one\r\n\tnew two\r\ntail\r\n"
MARKED = b"\xef\xbb\xbf" + lines(5)
LATIN = "caf\u00e9\r\n\tna\u00efve\r\nend\r\n".encode("latin-1")

WHOLE = {
    "crlf.txt": (
        CRLF,
        edit("crlf.txt", "\tline 10 = 70\n\tline 11 = 77\n\tline 12 = 84", "\tline 10 = 1\n\tnew\n\tline 12 = 3"),
        swapped(CRLF, b"10 = 70\r\n\tline 11 = 77\r\n\tline 12 = 84", b"10 = 1\r\n\tnew\r\n\tline 12 = 3"),
    ),
    "longer.txt": (
        CRLF,
        edit("longer.txt", "\tline 39 = 273\n\tline 40 = 280\n", "\tline 39 = 273\n\tmore\n\tmost\n\tline 40 = 0\n"),
        swapped(CRLF, b"39 = 273\r\n\tline 40 = 280", b"39 = 273\r\n\tmore\r\n\tmost\r\n\tline 40 = 0"),
    ),
    "shorter.txt": (
        CRLF,
        edit("shorter.txt", "\tline 01 = 7\n\tline 02 = 14\n\tline 03 = 21\n", "\tline 01 = 7\n"),
        swapped(CRLF, b"\tline 02 = 14\r\n\tline 03 = 21\r\n", b""),
    ),
    "mixed.txt": (
        MIXED,
        edit("mixed.txt", "\ttwo\nthree\nfour", "\t2\n3\n4"),
        b"one\r\n\t2\n3\r4\r\nfive\n\tsix\r\nseven\n",
    ),
    "mixed2.txt": (
        MIXED,
        edit("mixed2.txt", "\tsix\nseven\n", "\tsix\nadded\nseven\n"),
        b"one\r\n\ttwo\nthree\rfour\r\nfive\n\tsix\r\nadded\r\nseven\n",
    ),
    "open.txt": (OPEN_END, edit("open.txt", "alpha\n\tbeta\ngamma", "a\n\tb\nc"), b"a\r\n\tb\r\nc"),
    "open2.txt": (OPEN_END, edit("open2.txt", "\tbeta\ngamma", "\tbeta\ngamma\ndelta"), OPEN_END + b"\r\ndelta"),
    "marked.txt": (
        MARKED,
        edit("marked.txt", "\tline 01 = 7\n\tline 02 = 14\n", "\tfirst\n\tsecond\n"),
        swapped(MARKED, b"\tline 01 = 7\r\n\tline 02 = 14\r\n", b"\tfirst\r\n\tsecond\r\n"),
    ),
    "latin.txt": (LATIN, edit("latin.txt", "na\u00efve\nend", "na\u00efve\nfin"), swapped(LATIN, b"end", b"fin")),
    "crlf2.txt": (  # a model that writes CRLF itself
        CRLF,
        edit("crlf2.txt", "\tline 20 = 140\r\n\tline 21 = 147", "\tline 20 = 0\r\n\tline 21 = 0"),
        swapped(CRLF, b"20 = 140\r\n\tline 21 = 147", b"20 = 0\r\n\tline 21 = 0"),
    ),
}
"""Name: the file, the edit, the file as it must be then."""

REFUSED = {
    "twice.txt": (TWICE, edit("twice.txt", "\tsame\n\tagain\n\tthere", "\tonce\n\tonly\n\there"), ("2", "7"), True),
    "done.txt": (
        DONE,
        edit("done.txt", "\told one\n\told two", "\tnew one\n\tnew two"),
        ("lready applied", "2"),
        False,
    ),
    "near.txt": (CRLF, edit("near.txt", "\tline 30 = 210\n\tlin 31 = 217\n", "x\n"), ("30", "31", "nearest"), True),
    "spaces.txt": (CRLF, edit("spaces.txt", "    line 07 = 49\n    line 08 = 56\n", "x\n"), ("7→", "8→"), True),
}
"""Name: the file, the edit, what its refusal says, whether that is an error."""


def test_edits_change_the_lines_they_touch_and_no_other_byte(play: Play) -> None:
    stage = play(reply(*map(read, WHOLE)), reply(*[call for _, call, _ in WHOLE.values()]), "done", window=100_000)
    for name, (data, _, _) in WHOLE.items():
        (stage.box / name).write_bytes(data)
    assert stage.run().code == 0
    results = dict(zip(WHOLE, map(text_of, stage.results()), strict=True))
    found = {name: (stage.box / name).read_bytes() for name in WHOLE}
    wrong = {name: (found[name], results[name]) for name, (_, _, whole) in WHOLE.items() if found[name] != whole}
    assert wrong == {}


def test_an_edit_that_cannot_be_says_where_and_changes_nothing(play: Play) -> None:
    stage = play(reply(*map(read, REFUSED)), reply(*[each[1] for each in REFUSED.values()]), "done", window=100_000)
    for name, each in REFUSED.items():
        (stage.box / name).write_bytes(each[0])
    assert stage.run().code == 0
    for name, result in zip(REFUSED, stage.results(), strict=True):
        data, _, words, is_error = REFUSED[name]
        assert (stage.box / name).read_bytes() == data, name
        assert [word for word in words if word not in text_of(result)] == [], (name, text_of(result))
        assert bool(result.get("is_error")) == is_error, (name, text_of(result))


@pytest.mark.parametrize("ending", ["\r\n", "\n"])
def test_a_file_of_twelve_megabytes_is_edited_quickly_and_not_echoed(play: Play, ending: str) -> None:
    row = "\tone line of many, {:07}" + ending
    data = "".join(map(row.format, range(12_000_000 // len(row.format(0)))))
    old = "".join(map("\tone line of many, {:07}\n".format, range(250_000, 250_003)))
    stage = play(reply(read("big.txt", limit=3)), reply(edit("big.txt", old, "\tnow\n\tthree\n\tothers\n")), "done")
    path: Path = stage.box / "big.txt"
    path.write_bytes(data.encode())
    ran = stage.run()
    assert ran.code == 0, ran
    new = ending.join(["\tnow", "\tthree", "\tothers", ""]).encode()
    assert path.read_bytes() == swapped(data.encode(), old.replace("\n", ending).encode(), new)
    (result,) = stage.results()
    assert len(text_of(result)) < 2_000
    assert of_kind(stage.audit(ran.session), "call")[-1]["seconds"] < 4, "2 s on a machine of its own"
