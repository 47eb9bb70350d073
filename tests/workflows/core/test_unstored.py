"""Every call of a reply has exactly one outcome, also one that stored none."""

from workflows.contracts.digests import call_digest
from workflows.contracts.messages import Role, Text, ToolUse
from workflows.contracts.model import MOST_CALLS
from workflows.contracts.tools import CallStatus
from workflows.contracts.transcript import MessageBody, NoticeBody, OutcomeBody
from workflows.core.unstored import Unstored, calls_of

AT = "2026-01-02T03:04:05.006Z"


def reply(count: int) -> MessageBody:
    """A reply with so many calls."""
    uses = tuple(ToolUse(id=f"t{place}", name="Bash", input={"command": str(place)}) for place in range(count))
    return MessageBody(role=Role.ASSISTANT, blocks=(Text(text="so"), *uses))


def said(body: OutcomeBody) -> str:
    """What the model reads of it."""
    (block,) = body.content
    assert isinstance(block, Text)
    return block.text


def test_each_is_the_call_that_stands_at_its_place() -> None:
    outcomes = Unstored(turn=1, exchange=2, at=AT, unanswered=(1,), lost=(0,)).outcomes(reply(3))
    uses = calls_of(reply(3))
    assert [(body.place, body.call, body.digest) for body in outcomes] == [
        (place, uses[place].id, call_digest(uses[place].name, uses[place].input)) for place in (0, 1)
    ]


def test_a_lost_call_is_told_as_one_that_may_have_done_something() -> None:
    (body,) = Unstored(turn=1, exchange=2, at=AT, lost=(0,)).outcomes(reply(1))
    assert (body.status, body.crash, body.is_error) == (CallStatus.UNKNOWN, "unknown", True)
    assert "look before you call it again" in said(body)


def test_an_unreadable_outcome_says_why() -> None:
    (body,) = Unstored(turn=1, exchange=2, at=AT, unreadable={0: "its disk is gone"}).outcomes(reply(1))
    assert body.status == CallStatus.UNKNOWN
    assert "its disk is gone" in said(body)


def test_calls_beyond_the_most_are_told_to_come_again() -> None:
    outcomes = Unstored(turn=1, exchange=2, at=AT, beyond=3).outcomes(reply(MOST_CALLS + 3))
    assert [body.place for body in outcomes] == [MOST_CALLS, MOST_CALLS + 1, MOST_CALLS + 2]
    assert {body.status for body in outcomes} == {CallStatus.BROKEN}
    assert "in another reply" in said(outcomes[0])


def test_a_place_that_the_reply_does_not_have_makes_nothing() -> None:
    assert Unstored(turn=1, exchange=2, at=AT, lost=(7,), beyond=2).outcomes(reply(1)) == []
    assert Unstored(turn=1, exchange=2, at=AT, lost=(0,)).outcomes(NoticeBody(what="closed")) == []
