"""*Always* saves the rules that the question offered, each where it belongs, once; the next call needs no person."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from activities.tool_calls.run import run_tool
from tests.activities.tool_calls.stage import Stage, use, yes
from worker.person_key import person_key
from workflows.contracts.messages import ToolUse
from workflows.contracts.permissions import Approval, Mode
from workflows.contracts.tools import CallStatus, Pass

pytestmark = pytest.mark.journey

ASKS = use("Bash", command="python3 -c 'print(6 * 7)'")
RULE = 'Bash(python3 -c "print(6 \\* 7)")'
DEFAULT: dict[str, Any] = {"mode": Mode.DEFAULT}


@pytest.fixture
def stage(tmp_path: Path) -> Stage:
    stage = Stage(tmp_path)
    person_key(stage.world.home)
    return stage


async def asked(stage: Stage, call: ToolUse, exchange: int = 1) -> Approval:
    """The question that the call makes."""
    await stage.reply(call)
    done = await run_tool(stage.world, stage.request(**DEFAULT, exchange=exchange))
    assert done.approval is not None
    return done.approval


async def offered(stage: Stage, question: Approval) -> tuple[str, ...]:
    return Pass.model_validate_json(await stage.world.store.get(question.found)).suggestions


def local_rules(stage: Stage) -> list[str]:
    file = stage.workspace / ".perdure/settings.local.json"
    return list(json.loads(file.read_text())["permissions"]["allow"])


async def test_a_commands_rule_goes_into_the_local_file_and_answers_the_next_call(stage: Stage) -> None:
    question = await asked(stage, ASKS)
    assert await offered(stage, question) == (RULE,)
    _, body = await stage.again(**DEFAULT, approval=question, answer=yes(question, always=True))
    file = str(stage.workspace / ".perdure/settings.local.json")
    assert body.data["always"] == {"rules": [RULE], "file": file}
    assert local_rules(stage) == [RULE]
    _, body = await stage.again(**DEFAULT, exchange=2)
    assert (body.verdict.by, body.verdict.rule, body.verdict.source) == ("rule", RULE, "local")
    assert body.verdict.file == file


async def test_a_yes_without_always_saves_nothing(stage: Stage) -> None:
    question = await asked(stage, ASKS)
    await stage.again(**DEFAULT, approval=question, answer=yes(question))
    assert not (stage.workspace / ".perdure").exists()


async def test_what_died_after_it_was_saved_is_not_saved_twice(stage: Stage) -> None:
    question = await asked(stage, ASKS)
    answer = yes(question, always=True)
    await stage.again(**DEFAULT, approval=question, answer=answer)
    for exchange in (2, 3):
        again = await asked(stage, use("Bash", command=f"python3 -c 'print({exchange})'"), exchange)
        given = {**DEFAULT, "approval": again, "answer": yes(again, always=True), "exchange": exchange}
        await stage.again(**given)
        await stage.after_a_crash().again(**given)
    assert local_rules(stage) == [RULE, 'Bash(python3 -c "print(2)")', 'Bash(python3 -c "print(3)")']


async def test_an_edits_rule_lasts_until_the_session_ends(stage: Stage) -> None:
    (stage.folder / "outside").write_text("old")
    call = use("Read", file_path="../outside")
    question = await asked(stage, call)
    _, body = await stage.again(**DEFAULT, approval=question, answer=yes(question, always=True))
    assert isinstance(body.data["always"], dict)
    assert body.data["always"]["file"] == "the session"
    _, body = await stage.again(**DEFAULT, exchange=2)
    assert (body.verdict.by, body.verdict.source) == ("rule", "session")
    assert not (stage.workspace / ".perdure").exists()
    other = await run_tool(stage.world, stage.request(**DEFAULT, session="s2"))
    assert other.status == CallStatus.NEEDS_APPROVAL


async def test_a_local_file_that_cannot_be_read_loses_nothing_and_is_told(stage: Stage) -> None:
    question = await asked(stage, ASKS)
    file = stage.workspace / ".perdure/settings.local.json"
    file.parent.mkdir()
    file.write_text('{"env": {"A": "1"}} and more')
    _, body = await stage.again(**DEFAULT, approval=question, answer=yes(question, always=True))
    told = body.data["always"]
    assert isinstance(told, dict)
    assert told["rules"] == []
    assert "malformed" in str(told["why"])
    assert file.read_text() == '{"env": {"A": "1"}} and more'


async def test_a_command_with_a_secret_gets_no_rule(stage: Stage) -> None:
    question = await asked(stage, use("Bash", command="python3 x.py --key sk-ant-api03-" + "aB3dE5fG7h" * 9 + "-AA"))
    assert await offered(stage, question) == ()


async def test_where_only_managed_rules_allow_no_yes_lasts(stage: Stage) -> None:
    (stage.folder / "outside").write_text("old")
    reads = use("Read", file_path="../outside")
    question = await asked(stage, reads)
    await stage.again(**DEFAULT, approval=question, answer=yes(question, always=True))
    managed = stage.folder / "managed.json"
    managed.write_text('{"allowManagedPermissionRulesOnly": true}')
    stage.world = replace(stage.world, managed_settings=(managed,))
    for exchange, call in enumerate((reads, ASKS), 2):
        again = await asked(stage, call, exchange)
        assert await offered(stage, again) == ()
