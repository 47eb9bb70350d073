"""Which entries stay, and what becomes of the files."""

import pytest

from workflows.contracts.audit import Line
from workflows.contracts.errors import UsageError
from workflows.contracts.messages import Role, Text
from workflows.contracts.permissions import Decision, Verdict
from workflows.contracts.tools import CallStatus, Effect
from workflows.contracts.transcript import Body, Entry, MessageBody, NoticeBody, OutcomeBody, digest_of
from workflows.core.rewind import FileChange, FilePlan, FileStep, changes_of, plan_files, point_of


def chain(*bodies: Body) -> list[Line]:
    return [
        Line(n, digest_of(str(n).encode()), Entry(n=n, parent="", page="", at="", body=body))
        for n, body in enumerate(bodies)
    ]


def reply(exchange: int, turn: int = 1) -> MessageBody:
    return MessageBody(role=Role.ASSISTANT, blocks=(Text(text="x"),), exchange=exchange, turn=turn)


def said(exchange: int, turn: int = 1) -> MessageBody:
    return MessageBody(role=Role.USER, blocks=(Text(text="x"),), exchange=exchange, turn=turn)


def outcome(exchange: int, *effects: Effect, turn: int = 1) -> OutcomeBody:
    verdict = Verdict(decision=Decision.ALLOW, by="mode")
    return OutcomeBody(
        exchange=exchange, turn=turn, place=0, tool="Edit", call="c", digest="d", verdict=verdict,
        status=CallStatus.OK, effects=effects,
    )  # fmt: skip


def wrote(path: str, before: str, after: str) -> Effect:
    return Effect(kind="write" if before else "create", path=path, before=before, after=after, before_object=before * 2)


OPENED = NoticeBody(what="session_opened")


def ended(turn: int) -> NoticeBody:
    return NoticeBody(what="turn_ended", data={"turn": turn})


def talk() -> list[Line]:
    return chain(
        OPENED,
        said(1),
        reply(1),
        outcome(1, wrote("/a", "1", "2"), Effect(kind="read", path="/r", before="9", after="9")),
        said(2),
        reply(2),
        outcome(2, wrote("/b", "", "5"), Effect(kind="command", path="/w")),
        said(3),
        reply(3),
        ended(1),
        said(4, 2),
        reply(4, 2),
        outcome(4, wrote("/a", "2", "3"), turn=2),
        said(5, 2),
        reply(5, 2),
        ended(2),
    )


@pytest.mark.parametrize(
    ("word", "n"),
    [
        ("start", 0),
        ("0", 0),
        ("turn:0", 0),
        ("1", 3),
        ("exchange:2", 6),
        ("3", 9),
        ("turn:1", 9),
        ("T2", 15),
        ("4", 12),
        (digest_of(b"7")[:8], 7),
    ],
)
def test_a_point_is_the_newest_entry_that_stays(word: str, n: int) -> None:
    point = point_of(talk(), word)
    assert (point.n, point.digest) == (n, digest_of(str(n).encode()))


@pytest.mark.parametrize("word", ["9", "turn:7", "yesterday", "abcdef0123", ""])
def test_what_names_no_point_is_told_with_what_does(word: str) -> None:
    with pytest.raises(UsageError, match="Give a number of an exchange"):
        point_of(talk(), word)


def test_each_file_gets_its_first_version_since_the_point() -> None:
    lines = talk()
    plan = plan_files(lines, point_of(lines, "start"))
    assert plan == FilePlan((FileStep("/a", "3", "1", "11", 2), FileStep("/b", "5", "", "", 1)), (), 1)


def test_the_folders_that_were_made_for_a_file_go_with_it_however_often_it_was_changed() -> None:
    made = Effect(kind="create", path="/new/a", before="", after="1", folders=1)
    lines = chain(OPENED, outcome(1, made), outcome(2, wrote("/new/a", "1", "2")))
    assert plan_files(lines, point_of(lines, "start")).steps == (FileStep("/new/a", "2", "", "", 2, 1),)


def test_what_was_changed_before_the_point_stays() -> None:
    lines = talk()
    assert plan_files(lines, point_of(lines, "2")).steps == (FileStep("/a", "3", "2", "22", 1),)
    assert plan_files(lines, point_of(lines, "turn:2")) == FilePlan()


def test_a_file_that_somebody_changed_between_two_changes_is_in_the_way() -> None:
    lines = chain(OPENED, outcome(1, wrote("/a", "1", "2")), outcome(2, wrote("/a", "7", "8"), wrote("/b", "1", "2")))
    plan = plan_files(lines, point_of(lines, "start"))
    assert plan.obstacles == ("/a was changed by somebody else between two changes of the agent",)
    assert [step.path for step in plan.steps] == ["/b"]


def test_a_file_that_the_agent_itself_put_back_needs_nothing() -> None:
    lines = chain(OPENED, outcome(1, wrote("/a", "1", "2")), outcome(2, wrote("/a", "2", "1")))
    assert plan_files(lines, point_of(lines, "start")).steps == ()


def test_an_earlier_rewind_counts_as_a_change() -> None:
    lines = talk()
    rewound = [FileChange(15, "/a", "3", "2", "33")]
    plan = plan_files(lines, point_of(lines, "start"), rewound)
    assert plan.steps[0] == FileStep("/a", "2", "1", "11", 3)
    assert plan_files(lines, point_of(lines, "2"), rewound).steps == ()


def test_only_changes_count_as_changes() -> None:
    assert [(change.n, change.path) for change in changes_of(talk())] == [(3, "/a"), (6, "/b"), (12, "/a")]
