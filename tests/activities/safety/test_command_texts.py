"""A command's end is told as what it was."""

from pathlib import Path

import pytest

from activities.processes.command import CommandEnd, CommandSpec, EndKind
from activities.safety.command_texts import is_failure, outcome_of, readable
from tests.fakes.world import make_call, make_world, text_of
from workflows.contracts.errors import FailureKind, StepFailure, UserError
from workflows.contracts.tools import CallStatus, ToolOutcome

SPEC = CommandSpec(key="k", argv=(), cwd="/w", environment={}, deadline=2.5, silence=9)


@pytest.mark.parametrize(
    ("command", "is_question"),
    [
        ("grep x f", True),
        ("grep -E 'a|b' f", True),
        ('grep "a;b" f', True),
        ("cat f | grep x", True),
        ("cd sub && grep x f", True),
        ("make; grep x f", True),
        ("make\ngrep x f\n", True),
        ("grep x f 2>/dev/null", True),
        ("grep x f >out 2>&1", True),
        ("LC_ALL=C /usr/bin/grep x f", True),
        ("diff a b && echo same", True),
        ("test -e f", True),
        ("[ -e f ];", True),
        ("[[ -e f ]]", True),
        ("git diff --exit-code", True),
        ("git --no-pager grep x", True),
        ("rg x", True),
        ("make", False),
        ("grep x f && make", False),
        ("grep x f; make", False),
        ("grep x f | sort", False),
        ("git status", False),
        ("git", False),
        ("echo x", False),
        ("grep 'x", False),
        ("", False),
        ("A=1", False),
    ],
)
def test_exit_code_1_is_an_answer_where_the_last_command_asks(command: str, is_question: bool) -> None:
    assert is_failure(command, CommandEnd(kind=EndKind.EXITED, exit_code=1)) is not is_question
    assert is_failure(command, CommandEnd(kind=EndKind.EXITED, exit_code=2))
    assert not is_failure(command, CommandEnd(kind=EndKind.EXITED, exit_code=0))


@pytest.mark.parametrize("kind", [kind for kind in EndKind if kind != EndKind.EXITED])
def test_every_other_end_is_a_failure(kind: EndKind) -> None:
    assert is_failure("grep x", CommandEnd(kind=kind, exit_code=1))
    assert is_failure("grep x", CommandEnd(kind=kind, exit_code=0))


async def told_of(folder: Path, end: CommandEnd) -> ToolOutcome:
    return await outcome_of(make_call(make_world(folder), folder / "work", "Bash"), "make", SPEC, end)


@pytest.mark.parametrize(
    ("end", "status", "text"),
    [
        (CommandEnd(kind=EndKind.EXITED, exit_code=0), CallStatus.OK, "(no output)"),
        (CommandEnd(kind=EndKind.EXITED, exit_code=7), CallStatus.ERROR, "[exit code 7]"),
        (CommandEnd(kind=EndKind.SIGNAL, signal=9), CallStatus.ERROR, "[ended by signal 9]"),
        (CommandEnd(kind=EndKind.DEADLINE), CallStatus.ERROR, "[ended after 2.5 s, its time limit"),
        (CommandEnd(kind=EndKind.SILENCE), CallStatus.ERROR, "[ended after 9 s without output]"),
        (CommandEnd(kind=EndKind.CANCELLED), CallStatus.CANCELLED, "[interrupted by the person; what it printed"),
        (CommandEnd(kind=EndKind.UNKNOWN, note="its host died"), CallStatus.UNKNOWN, "[outcome unknown: its host died"),
    ],
)
async def test_each_end_has_its_words(tmp_path: Path, end: CommandEnd, status: CallStatus, text: str) -> None:
    told = await told_of(tmp_path, end)
    assert told.status == status
    assert text_of(told).startswith(text)
    assert told.data["end"] == end.kind.value


async def test_what_never_began_has_no_effect(tmp_path: Path) -> None:
    told = await told_of(tmp_path, CommandEnd(kind=EndKind.CANCELLED, is_started=False))
    assert "it did not run" in text_of(told)
    assert told.effects == ()


async def test_what_could_not_be_ended_or_kept_is_said(tmp_path: Path) -> None:
    end = CommandEnd(kind=EndKind.EXITED, exit_code=0, leftovers=2, remaining=(7, 8), output_error="disk full")
    told = text_of(await told_of(tmp_path, end))
    assert "[2 process(es) it left running were ended]" in told
    assert "[could not be ended: processes 7, 8]" in told
    assert "[not all output could be kept: disk full]" in told


class FullStore:
    url = "full:"

    async def put(self, data: bytes) -> str:
        raise UserError("the disk is full", reason=FailureKind.DISK_FULL)

    async def get(self, digest: str) -> bytes:
        raise NotImplementedError

    async def store_id(self) -> str:
        raise NotImplementedError


async def test_a_store_that_takes_nothing_now_does_not_cost_the_result(tmp_path: Path) -> None:
    call = make_call(make_world(tmp_path, FullStore()), tmp_path / "work", "Bash")
    call.record.folder.mkdir(parents=True)
    (call.record.folder / "output").write_bytes(b"x" * 40_000)
    end = CommandEnd(kind=EndKind.EXITED, exit_code=0, output_bytes=40_000, stored_bytes=40_000)
    with pytest.raises(StepFailure) as failure:
        await outcome_of(call, "make", SPEC, end)
    assert failure.value.retryable


def test_line_ends_become_one_kind() -> None:
    assert readable(b"a\r\nb\rc\n\n") == "a\nb\nc"
