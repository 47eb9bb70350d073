"""A session that goes on from an older head takes over what was said, and owes no call an answer."""

from pathlib import Path

import pytest

from activities.prompt.open import open_session
from activities.world import World
from tests.activities.prompt.test_open import SPECS, context_of, request
from tests.activities.tool_calls.stage import AT
from tests.fakes.world import make_world
from workflows.contracts.digests import call_digest
from workflows.contracts.messages import Role, Text, ToolResult, ToolUse
from workflows.contracts.permissions import Decision, Verdict
from workflows.contracts.settings import SessionSettings
from workflows.contracts.tools import CallStatus
from workflows.contracts.transcript import Body, MessageBody, NoticeBody, OutcomeBody

USES = (ToolUse(id="a", name="Read", input={"file_path": "f"}), ToolUse(id="b", name="Glob", input={"pattern": "*"}))


@pytest.fixture
def world(tmp_path: Path) -> World:
    (tmp_path / "work").mkdir()
    return make_world(tmp_path)


def _done(place: int) -> OutcomeBody:
    use = USES[place]
    return OutcomeBody(
        turn=4, exchange=7, place=place, tool=use.name, call=use.id, digest=call_digest(use.name, use.input),
        verdict=Verdict(decision=Decision.ALLOW, by="mode"), status=CallStatus.OK,
        content=(Text(text=f"gave {place}"),),
    )  # fmt: skip


async def _older(world: World, folder: Path, *bodies: Body) -> str:
    """The head of an older session that ends with these entries."""
    settings = SessionSettings(system_prompt="Words of the older one.")
    opened = await open_session(world, await request(world, folder, settings, session="older"), SPECS[:2])
    said = MessageBody(role=Role.USER, blocks=(Text(text="go"),), turn=4, exchange=7)
    return await world.transcript.append(opened.head, AT, (said, *bodies))


REPLY = MessageBody(role=Role.ASSISTANT, blocks=USES, turn=4, exchange=7)


async def _added(world: World, folder: Path, start: str) -> list[Body]:
    """What opening adds behind that head."""
    known = len(await world.transcript.read(start))
    asked = await request(world, folder, session="newer", start=start, start_of="older")
    opened = await open_session(world, asked, SPECS)
    assert (opened.turns, opened.exchanges) == (4, 7 if known > 2 else 0)
    context = await context_of(world, opened.context)
    assert context.session == "newer"
    assert context.system[0] == "Words of the older one."
    assert [tool.name for tool in context.tools] == [spec.name for spec in SPECS[:2]]
    return [link.entry.body for link in (await world.transcript.read(opened.head))[known:]]


async def test_what_the_calls_gave_is_shown_before_anything_else(world: World, tmp_path: Path) -> None:
    work = tmp_path / "work"
    start = await _older(world, work, REPLY, _done(0), _done(1))
    results, notice = await _added(world, work, start)
    assert isinstance(results, MessageBody)
    assert [block.id for block in results.blocks if isinstance(block, ToolResult)] == ["a", "b"]
    assert isinstance(notice, NoticeBody)
    assert (notice.what, notice.shown) == ("rewound", True)
    assert (notice.data["from"], notice.data["start"]) == ("older", start)


async def test_calls_without_an_outcome_get_one_that_says_so(world: World, tmp_path: Path) -> None:
    work = tmp_path / "work"
    start = await _older(world, work, REPLY, _done(0))
    made, results, _notice = await _added(world, work, start)
    assert isinstance(made, OutcomeBody)
    assert (made.place, made.status) == (1, CallStatus.CANCELLED)
    assert isinstance(results, MessageBody)
    assert [block.id for block in results.blocks if isinstance(block, ToolResult)] == ["a", "b"]


@pytest.mark.parametrize("is_answered", [True, False])
async def test_where_nothing_is_owed_only_the_notice_is_written(
    world: World, tmp_path: Path, is_answered: bool
) -> None:
    work = tmp_path / "work"
    answer = MessageBody(role=Role.ASSISTANT, blocks=(Text(text="done"),), turn=4, exchange=7)
    (notice,) = await _added(world, work, await _older(world, work, *((answer,) if is_answered else ())))
    assert isinstance(notice, NoticeBody)
