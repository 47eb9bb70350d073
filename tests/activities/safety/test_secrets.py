"""Secrets of a call: masked in what it gives and shows, put back in what it changes."""

import json
import time

import pytest

from activities.safety.secrets import masked_outcome, masked_summary, progress_text, unmasked
from activities.stores.masking import MARK, Masker
from activities.tool import ToolInput
from activities.tools.bash import Bash
from activities.tools.bash import Input as BashInput
from activities.tools.write import Input as WriteInput
from activities.tools.write import Write
from workflows.contracts.errors import ToolError
from workflows.contracts.messages import Text
from workflows.contracts.tools import Effect, ToolOutcome

TOKEN = "ghp_abcdefghijABCDEFGHIJ0123456789abcdef"
OTHER = "ghp_ABCDEFGHIJabcdefghij0123456789abcdef"
MASKER = Masker(b"k" * 64, {"Known-secret-1": "env"})


def test_every_text_of_an_outcome_is_masked_and_digests_are_not() -> None:
    outcome = ToolOutcome(
        content=(Text(text=f"got {TOKEN}"), Text(text="Known-secret-1")),
        effects=(Effect(kind="write", path=f"/w/{TOKEN}", before="a" * 64, after="b" * 64, before_object="c" * 64),),
        data={"diff": f"+{TOKEN}", "rows": [{"password": "horse2battery"}], "exit_code": 0},
    )
    told = masked_outcome(MASKER, outcome)
    written = told.model_dump_json()
    assert not any(secret in written for secret in (TOKEN, "Known-secret-1", "horse2battery"))
    assert (told.effects[0].before, told.effects[0].before_object) == ("a" * 64, "c" * 64)
    assert told.data["exit_code"] == 0
    assert masked_outcome(MASKER, told) == told


@pytest.mark.parametrize(
    ("tool", "given"),
    [
        (Bash(), BashInput(command=f"{'x' * 180} curl -H 'X: {TOKEN}'")),
        (Write(), WriteInput(file_path=f"/w/{TOKEN}.txt", content=TOKEN)),
    ],
)
def test_a_summary_shows_no_half_of_a_secret_where_the_tool_cuts_it(tool: Bash | Write, given: ToolInput) -> None:
    assert "ghp_" not in masked_summary(MASKER, tool, given)


@pytest.mark.parametrize("before", [0, 60_000, 98_280, 98_300, 98_310, 200_000])
def test_a_summary_of_a_long_command_shows_no_half_of_a_secret_wherever_it_stands(before: int) -> None:
    command = f"echo {' ' * before}{TOKEN} {'x ' * 200_000}"
    assert "ghp_" not in masked_summary(MASKER, Bash(), BashInput(command=command))


@pytest.mark.parametrize("end", ["", "the last line"])
def test_a_summary_of_a_long_text_counts_all_its_lines_and_is_made_at_once(end: str) -> None:
    given = WriteInput(file_path="/w/f", content="many words of one line\n" * 400_000 + end)
    count = f"{400_000 + bool(end)} lines, {9_200_000 + len(end):,} bytes"
    began = time.monotonic()
    assert masked_summary(MASKER, Write(), given) == f"/w/f ({count})"
    assert time.monotonic() - began < 1


@pytest.mark.parametrize(
    ("newest", "is_cut", "shown"),
    [
        ("one\ntwo\n", False, "one\ntwo\n"),
        ("nd-of-a-line\ntwo\n", True, "two\n"),
        ("no line end at all", True, ""),
        ("out\npassword=corr", False, "out\n"),
        (f"out {TOKEN[:12]}", False, "out "),
        ("Compiling", False, "Compiling"),
        (" 45% |####", False, " 45% |####"),
    ],
)
def test_progress_shows_whole_words_of_whole_lines(newest: str, is_cut: bool, shown: str) -> None:
    assert progress_text(MASKER, newest.encode(), is_cut=is_cut) == shown


def test_progress_never_shows_a_secret_wherever_its_pieces_end() -> None:
    text = f"start\nexport GITHUB_TOKEN={TOKEN}\nPGPASSWORD=Known-secret-1 run\n".encode()
    for end in range(len(text) + 1):
        for start in range(0, end, 7):
            told = progress_text(MASKER, text[start:end], is_cut=start > 0)
            assert TOKEN[4:12] not in told
            assert "Known" not in told


def _mark(text: str) -> str:
    return str(MARK.findall(MASKER.text(text))[0])


def test_a_mark_is_replaced_by_the_secret_of_the_file_that_it_stands_for() -> None:
    holder = f"a = '{TOKEN}'\nb = '{OTHER}'\n"
    assert unmasked(MASKER, f"x {_mark(TOKEN)} y {_mark(OTHER)}", holder, "f") == f"x {TOKEN} y {OTHER}"
    assert unmasked(MASKER, "nothing hidden", holder, "f") == "nothing hidden"


def test_a_mark_that_stands_for_nothing_there_is_refused_with_what_to_do() -> None:
    with pytest.raises(ToolError, match=r"stands for no secret in /w/f.*ask the person"):
        unmasked(MASKER, _mark(OTHER), f"only {TOKEN}", "/w/f")


def test_a_mark_that_the_file_holds_as_such_stays() -> None:
    mark = _mark(OTHER)
    assert unmasked(MASKER, f"see {mark}", f"docs say {mark}", "f") == f"see {mark}"


def test_a_private_key_is_found_again_though_its_lines_were_numbered() -> None:
    lines = [f"{number}abcDEF+/" * 7 for number in range(3, 9)]
    block = "\n".join(("-----BEGIN PRIVATE KEY-----", *lines, "-----END PRIVATE KEY-----"))
    shown = MASKER.text("\n".join(f"{number:>6}→{line}" for number, line in enumerate(block.split("\n"), 1)))
    assert lines[0] not in shown
    assert unmasked(MASKER, MARK.findall(shown)[0], block, "f") == "\n".join(lines)


def test_masked_json_stays_json() -> None:
    told = MASKER.json({"a": f"{TOKEN}", "b": [True, 1.5]})
    assert json.loads(json.dumps(told)) == told
