"""A call is read from the chain, with what it stands in."""

from pathlib import Path

import pytest

from activities.tool_calls.opened import Begun, opened
from tests.activities.tool_calls.stage import AT, Stage, use, yes
from workflows.contracts.errors import ToolError
from workflows.contracts.permissions import Approval, Decision, Verdict

BEGUN = Begun(
    verdict=Verdict(decision=Decision.ALLOW, by="person", rule="me"),
    answer=yes(Approval(id="1.0", tool="Bash", summary="", digest="d" * 64, found="f" * 64, asked_at=AT)),
)


@pytest.fixture
def stage(tmp_path: Path) -> Stage:
    return Stage(tmp_path)


async def test_a_call_runs_where_the_last_command_ended_else_in_the_workspace(stage: Stage) -> None:
    await stage.reply(use("Bash", command="ls"))
    at = await opened(stage.world, stage.request())
    assert at.call(stage.world, stage.request()).cwd == stage.workspace
    assert at.call(stage.world, stage.request(cwd="/w/sub")).cwd == Path("/w/sub")
    assert at.call(stage.world, stage.end()).cwd == stage.workspace


async def test_the_same_call_has_the_same_key_in_every_attempt_and_another_one_another(stage: Stage) -> None:
    await stage.reply(use("Bash", command="ls", timeout=1), use("Bash", timeout=1, command="ls"))
    first, second = [await opened(stage.world, stage.request(place)) for place in (0, 1)]
    assert (await opened(stage.after_a_crash().world, stage.request())).record.key == first.record.key
    assert first.record.key != second.record.key
    assert first.digest == second.digest


async def test_a_tool_outside_the_pool_is_unknown(stage: Stage) -> None:
    await stage.reply(use("Nothing"))
    at = await opened(stage.world, stage.request())
    assert at.tool is None
    with pytest.raises(ToolError, match="There is no tool Nothing"):
        at.given()


async def test_what_let_a_call_begin_is_known_after_a_crash(stage: Stage) -> None:
    await stage.reply(use("Bash", command="ls"))
    at = await opened(stage.world, stage.request())
    assert at.begun() is None
    at.begin(stage.request(), BEGUN, "here")
    assert (await opened(stage.after_a_crash().world, stage.request())).begun() == BEGUN


async def test_a_damaged_intent_tells_nothing_of_who_allowed_it(stage: Stage) -> None:
    await stage.reply(use("Bash", command="ls"))
    at = await opened(stage.world, stage.request())
    at.begin(stage.request(), BEGUN, "here")
    (at.record.path / "intent").write_bytes(b"\0" * 20)
    assert at.begun() is None
    assert at.record.read_intent() is not None
