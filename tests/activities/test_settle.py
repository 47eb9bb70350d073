"""Settling writes what waits, gives every call a result, and notes how the turn ended."""

from pathlib import Path

import pytest

from activities.settle import settle
from activities.stores.index import index_path
from tests.activities.tool_calls.stage import AT, Stage, text, use
from workflows.contracts.messages import Role, Text, ToolResult, ToolUse
from workflows.contracts.model import MOST_CALLS
from workflows.contracts.permissions import Mode
from workflows.contracts.session import SetMode, Totals, TurnEnd
from workflows.contracts.session_steps import SettleRequest
from workflows.contracts.tools import CallStatus
from workflows.contracts.transcript import Entry, MessageBody, NoticeBody, OutcomeBody
from workflows.core.view import messages_of


@pytest.fixture
def stage(tmp_path: Path) -> Stage:
    return Stage(tmp_path)


def request(stage: Stage, **changed: object) -> SettleRequest:
    given = {"session": "s1", "head": stage.entry, "at": AT, "what": "interrupted", "turn": 1, "exchange": 1}
    return SettleRequest.model_validate({**given, **changed})


async def entries(stage: Stage, head: str) -> list[Entry]:
    return [link.entry for link in await stage.world.transcript.read(head)]


async def test_an_interrupted_reply_is_answered_call_by_call(stage: Stage) -> None:
    done, _ = await stage.run(use("Glob", pattern="*"), use("Bash", command="b"), use("Bash", command="c"))
    asked = request(
        stage,
        entry=stage.entry,
        waiting=(done.outcome,),
        unanswered=(1, 2),
        text="[interrupted]",
        shown=True,
        end=TurnEnd.INTERRUPTED,
    )
    chain = await entries(stage, (await settle(stage.world, asked)).head)
    outcomes = [entry.body for entry in chain if isinstance(entry.body, OutcomeBody)]
    assert [(body.place, body.status) for body in outcomes] == [
        (0, CallStatus.OK),
        (1, CallStatus.CANCELLED),
        (2, CallStatus.CANCELLED),
    ]
    *_, told = messages_of(chain)
    assert [block.kind for block in told.blocks] == ["tool_result"] * 3 + ["text"]
    assert isinstance(chain[-1].body, NoticeBody)
    assert chain[-1].body.data["end"] == "interrupted"


async def test_a_cut_off_call_of_an_ended_turn_is_told_as_broken(stage: Stage) -> None:
    await stage.reply(ToolUse(id="t", name="Write", cut_off=True))
    asked = request(stage, entry=stage.entry, unanswered=(0,), what="turn_ended", end=TurnEnd.OUTPUT_CAP)
    chain = await entries(stage, (await settle(stage.world, asked)).head)
    (outcome,) = [entry.body for entry in chain if isinstance(entry.body, OutcomeBody)]
    assert outcome.status == CallStatus.BROKEN
    assert "cut off" in text(outcome)


async def test_the_same_request_gives_the_same_head(stage: Stage) -> None:
    await stage.reply(use("Bash", command="b"))
    asked = request(stage, entry=stage.entry, unanswered=(0,))
    first = await settle(stage.world, asked)
    assert await settle(stage.after_a_crash().world, asked) == first


async def test_prompts_that_never_got_their_turn_are_kept(stage: Stage) -> None:
    await stage.reply()
    prompts = [await stage.world.store.put(data) for data in (b"eins", b"zwei \xff")]
    chain = await entries(stage, (await settle(stage.world, request(stage, prompts=prompts, what="closed"))).head)
    said = [entry.body for entry in chain if isinstance(entry.body, MessageBody) and entry.body.role == Role.USER]
    assert said[-1].blocks == (Text(text="eins"), Text(text="zwei \ufffd"))


async def test_mode_changes_are_notices_of_their_own(stage: Stage) -> None:
    await stage.reply()
    signed = SetMode(request="r", mode=Mode.DEFAULT, by="me@here", signature="55")
    asked = request(stage, what="mode_changed", modes=(SetMode(request="", mode=Mode.PLAN), signed))
    chain = await entries(stage, (await settle(stage.world, asked)).head)
    notices = [entry.body for entry in chain if isinstance(entry.body, NoticeBody)]
    assert [notice.data for notice in notices] == [
        {"mode": "plan"},
        {"mode": "default", "request": "r", "by": "me@here", "signature": "55"},
    ]


async def test_a_mode_change_tells_how_many_before_it_were_not_kept(stage: Stage) -> None:
    await stage.reply()
    asked = request(stage, what="mode_changed", modes=(SetMode(request="", mode=Mode.PLAN, unkept=3),))
    chain = await entries(stage, (await settle(stage.world, asked)).head)
    (notice,) = [entry.body for entry in chain if isinstance(entry.body, NoticeBody)]
    assert notice.text == "mode is now plan, after 3 changes that were not kept"


@pytest.mark.parametrize(
    ("what", "kinds"),
    [
        ("turn_ended", ["turn_ended"]),
        ("interrupted", ["turn_ended"]),
        ("closed", ["session_closed"]),
        ("mode_changed", ["notice"]),
    ],
)
async def test_watchers_are_told_once(stage: Stage, what: str, kinds: list[str]) -> None:
    await stage.reply()
    modes = (SetMode(request="r", mode=Mode.PLAN),) if what == "mode_changed" else ()
    await settle(stage.world, request(stage, what=what, end=TurnEnd.DONE, modes=modes, totals=Totals(cost=3)))
    assert stage.events() == kinds


async def test_the_head_is_noted_on_this_host(stage: Stage) -> None:
    await stage.reply()
    head = (await settle(stage.world, request(stage))).head
    assert head in index_path(stage.world.home, "s1").read_text().splitlines()[-1]


async def test_results_are_shown_in_call_order_however_they_came(stage: Stage) -> None:
    await stage.reply(use("Glob", pattern="a"), use("Glob", pattern="b"))
    second, first = [(await stage.again(place=place))[0].outcome for place in (1, 0)]
    chain = await entries(stage, (await settle(stage.world, request(stage, waiting=(second, first)))).head)
    places = [entry.body.place for entry in chain if isinstance(entry.body, OutcomeBody)]
    assert places == [0, 1]
    assert sum(isinstance(block, ToolResult) for message in messages_of(chain) for block in message.blocks) == 2


async def test_a_prompt_that_cannot_be_read_is_told_where_it_would_stand(stage: Stage) -> None:
    await stage.reply()
    asked = request(stage, prompts=("0" * 64, await stage.world.store.put(b"good")), what="closed")
    chain = await entries(stage, (await settle(stage.world, asked)).head)
    (said,) = [entry.body for entry in chain if isinstance(entry.body, MessageBody) and entry.body.role == Role.USER]
    first, second = said.blocks
    assert isinstance(first, Text)
    assert first.text.startswith(f"[prompt {'0' * 64} cannot be read: ")
    assert second == Text(text="good")


@pytest.mark.parametrize("is_missing", [True, False])
async def test_an_outcome_that_cannot_be_read_becomes_unknown_at_its_place(stage: Stage, is_missing: bool) -> None:
    await stage.reply(*(use("Glob", pattern=name) for name in "abc"))
    done, _ = await stage.again(place=2)
    bad = "0" * 64 if is_missing else await stage.world.store.put(b"no outcome")
    asked = request(stage, entry=stage.entry, waiting=(bad, done.outcome), unanswered=(0,))
    chain = await entries(stage, (await settle(stage.world, asked)).head)
    outcomes = [entry.body for entry in chain if isinstance(entry.body, OutcomeBody)]
    assert [(body.place, body.status) for body in outcomes] == [
        (0, CallStatus.CANCELLED),
        (1, CallStatus.UNKNOWN),
        (2, CallStatus.OK),
    ]
    assert bad in text(outcomes[1])


async def test_calls_that_left_no_outcome_or_were_too_many_are_answered(stage: Stage) -> None:
    await stage.reply(*(use("Bash", command=str(place)) for place in range(MOST_CALLS + 2)))
    asked = request(stage, entry=stage.entry, unanswered=tuple(range(1, MOST_CALLS)), lost=(0,), beyond=2)
    chain = await entries(stage, (await settle(stage.world, asked)).head)
    outcomes = [entry.body for entry in chain if isinstance(entry.body, OutcomeBody)]
    assert [body.place for body in outcomes] == [*range(MOST_CALLS + 2)]
    assert (outcomes[0].status, outcomes[0].crash) == (CallStatus.UNKNOWN, "unknown")
    assert [body.status for body in outcomes[-2:]] == [CallStatus.BROKEN] * 2
    assert "at most 128 calls" in text(outcomes[-1])


async def test_what_could_not_be_written_is_named_in_the_notice(stage: Stage) -> None:
    await stage.reply()
    asked = request(stage, what="turn_ended", end=TurnEnd.DONE, unwritten=("1" * 64,), why="a fault")
    chain = await entries(stage, (await settle(stage.world, asked)).head)
    notice = chain[-1].body
    assert isinstance(notice, NoticeBody)
    assert (notice.data["unwritten"], notice.data["why"]) == (["1" * 64], "a fault")
