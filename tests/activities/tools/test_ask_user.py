"""A question to the person is asked in every mode, shows all of itself, and gives back what they chose."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.activities.tool_calls.stage import Stage, text, use, yes
from workflows.contracts.messages import ToolUse
from workflows.contracts.permissions import Approval, Choice, Chosen, Mode, Unattended
from workflows.contracts.settings import SessionSettings
from workflows.contracts.tools import CallStatus, ToolDone

COLOURS = [{"label": "Red", "description": "warm"}, {"label": "Blue", "description": "cold"}]
ASKED = {"question": "Which colour?", "header": "Colour", "options": COLOURS, "multiSelect": False}
SEVERAL = {"question": "For what?", "options": [*COLOURS, {"label": "Both"}], "multiSelect": True}


def asks(*questions: dict[str, Any]) -> ToolUse:
    return use("AskUserQuestion", questions=list(questions))


async def asked(stage: Stage, call: ToolUse, **changed: Any) -> Approval:
    await stage.reply(call)
    done = await run(stage, **changed)
    assert (done.status, done.outcome) == (CallStatus.NEEDS_APPROVAL, "")
    assert done.approval is not None
    return done.approval


async def run(stage: Stage, **changed: Any) -> ToolDone:
    from activities.tool_calls.run import run_tool

    return await run_tool(stage.world, stage.request(**changed))


@pytest.mark.parametrize("mode", [Mode.DEFAULT, Mode.PLAN, Mode.BYPASS])
async def test_the_person_is_asked_in_every_mode_and_sees_all_options(tmp_path: Path, mode: Mode) -> None:
    stage = Stage(tmp_path)
    question = await asked(stage, asks(ASKED, SEVERAL), mode=mode)
    assert question.choices == (Choice(options=2), Choice(options=3, several=True))
    assert question.summary == "Which colour? (and 1 more)"
    shown = json.loads(await stage.world.store.get(question.content))
    assert [each["question"] for each in shown["questions"]] == ["Which colour?", "For what?"]
    assert shown["questions"][0]["options"] == COLOURS
    assert stage.events() == ["approval_asked"]


async def test_the_answer_is_the_result_with_who_gave_it(tmp_path: Path) -> None:
    stage = Stage(tmp_path)
    question = await asked(stage, asks(ASKED, SEVERAL))
    chosen = (Chosen(options=(2,)), Chosen(options=(1, 3), text="and me"))
    answer = yes(question, content=question.content, chosen=chosen)
    done, body = await stage.again(approval=question, answer=answer)
    assert done.status == CallStatus.OK
    assert text(body) == ('The person (me) answered:\n- Which colour? Blue\n- For what? Red, Both, "and me"')
    assert (body.verdict.by, body.answer) == ("person", answer)


async def test_an_answer_to_other_questions_is_no_answer(tmp_path: Path) -> None:
    stage = Stage(tmp_path)
    question = await asked(stage, asks(ASKED))
    answer = yes(question, content="e" * 64, chosen=(Chosen(options=(1,)),))
    assert (await run(stage, approval=question, answer=answer)).status == CallStatus.NEEDS_APPROVAL


async def test_a_person_who_declines_is_told_of(tmp_path: Path) -> None:
    stage = Stage(tmp_path)
    question = await asked(stage, asks(ASKED))
    answer = yes(question, content=question.content, allow=False, text="decide yourself")
    done, body = await stage.again(approval=question, answer=answer)
    assert done.status == CallStatus.DENIED
    assert "The person said no: decide yourself" in text(body)


async def test_where_nobody_attends_it_says_so_at_once(tmp_path: Path) -> None:
    stage = Stage(tmp_path, SessionSettings(unattended=Unattended.DENY))
    done, body = await stage.run(asks(ASKED))
    assert (done.status, body.verdict.rule) == (CallStatus.DENIED, "unattended: deny")
    assert "Nobody attends this session" in text(body)


@pytest.mark.parametrize(
    ("questions", "wrong"),
    [
        ([], "questions"),
        ([ASKED] * 5, "at most 4"),
        ([ASKED, ASKED], "asked twice"),
        ([ASKED | {"options": COLOURS[:1]}], "at least 2"),
        ([ASKED | {"options": COLOURS * 3}], "at most 4"),
        ([ASKED | {"options": [{"label": "Red"}, {"label": "red "}]}], "same label"),
    ],
)
async def test_a_question_that_cannot_be_put_is_refused(
    tmp_path: Path, questions: list[dict[str, Any]], wrong: str
) -> None:
    _done, body = await Stage(tmp_path).run(asks(*questions))
    assert body.status == CallStatus.ERROR
    assert wrong in text(body)
