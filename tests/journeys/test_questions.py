"""A question of the agent waits through every restart, is answered once, and its answer is the call's result."""

import secrets
from pathlib import Path

import pytest
from temporalio.client import WorkflowUpdateFailedError

from tests.fakes.crash import healthy, kill
from tests.fakes.rig import Rig, Talk, Told, played
from worker.person_key import person_key
from workflows.contracts.messages import Text
from workflows.contracts.permissions import Answer, Approval, Chosen, Mode, Unattended, answer_bytes
from workflows.contracts.questions import Questions
from workflows.contracts.session import TurnEnd
from workflows.contracts.tools import CallStatus
from workflows.session import SessionWorkflow

pytestmark = [pytest.mark.journey, pytest.mark.asyncio(loop_scope="module")]

QUESTION = {
    "question": "Which database?",
    "header": "Database",
    "options": [{"label": "PostgreSQL", "description": "as now"}, {"label": "SQLite", "description": "one file"}],
    "multiSelect": False,
}
ASKS: Told = {
    "replies": [{"content": [{"tool": "AskUserQuestion", "input": {"questions": [QUESTION]}}]}],
    "fallback": "after",
}


async def question(talk: Talk) -> Approval:
    (approval,) = (await talk.until("waiting for approval", 40)).approvals
    return approval


def signed(talk: Talk, asked: Approval, **more: object) -> Answer:
    answer = Answer(
        request=secrets.token_hex(8),
        approval=asked.id,
        digest=asked.digest,
        allow=True,
        by="tester",
        content=asked.content,
    ).model_copy(update=more)
    return answer.model_copy(
        update={"signature": person_key(talk.rig.home).sign(answer_bytes(talk.session, answer)).hex()}
    )


async def test_an_answer_given_after_worker_and_server_died_is_the_result(rig: Rig, tmp_path: Path) -> None:
    async with played(ASKS) as model:
        talk = await rig.start(model, cwd=tmp_path, mode=Mode.BYPASS)
        before = await question(talk)
        kill(rig, "both")
        await healthy(rig)
        asked = await question(talk)
        assert asked == before
        shown = Questions.model_validate_json(await rig.store.get(asked.content))
        assert [option.label for option in shown.questions[0].options] == ["PostgreSQL", "SQLite"]
        answer = signed(talk, asked, chosen=(Chosen(options=(2,), text="but ask again"),))
        kill(rig, "worker")
        await talk.handle.execute_update(SessionWorkflow.answer, answer)
        result = await talk.result(40)
        (outcome,) = await talk.outcomes(result.head)
        (said,) = outcome.content
        assert isinstance(said, Text)
        assert said.text == 'The person (tester) answered:\n- Which database? SQLite, "but ask again"'
        assert said.text.splitlines()[1] in str(model.requests[-1].body).replace('\\"', '"')
        assert (outcome.answer, len(model.requests)) == (answer, 2)


async def test_what_does_not_fit_the_question_is_refused_and_it_waits_on(rig: Rig, tmp_path: Path) -> None:
    async with played(ASKS) as model:
        talk = await rig.start(model, cwd=tmp_path)
        asked = await question(talk)
        for wrong in ({"chosen": ()}, {"chosen": (Chosen(options=(3,)),)}, {"content": "e" * 64}):
            with pytest.raises(WorkflowUpdateFailedError):
                await talk.handle.execute_update(SessionWorkflow.answer, signed(talk, asked, **wrong))
        tampered = signed(talk, asked, chosen=(Chosen(options=(1,)),)).model_copy(
            update={"chosen": (Chosen(options=(2,)),)}
        )
        with pytest.raises(WorkflowUpdateFailedError) as refused:
            await talk.handle.execute_update(SessionWorkflow.answer, tampered)
        assert "needs a person's signature" in str(refused.value.cause)
        assert await question(talk) == asked
        good = signed(talk, asked, chosen=(Chosen(options=(1,)),))
        await talk.handle.execute_update(SessionWorkflow.answer, good)
        await talk.result(40)
        assert "Which database? PostgreSQL" in str(model.requests[-1].body)


async def test_where_nobody_attends_the_model_is_told_at_once(rig: Rig, tmp_path: Path) -> None:
    async with played(ASKS) as model:
        talk = await rig.start(model, cwd=tmp_path, settings={"unattended": Unattended.DENY})
        result = await talk.result(20)
        (outcome,) = await talk.outcomes(result.head)
        assert (outcome.status, outcome.verdict.rule) == (CallStatus.DENIED, "unattended: deny")
        assert "Nobody attends this session" in str(model.requests[-1].body)
        assert result.end == TurnEnd.DENIED
