"""A question waits through every restart, is answered once and only by the person, and for exactly what was asked."""

import json
import secrets
import shlex
import sys
from pathlib import Path

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from temporalio.client import WorkflowUpdateFailedError

from tests.fakes.crash import healthy, kill
from tests.fakes.rig import Rig, Talk, Told, played
from tests.fakes.waiting import eventually_async
from worker.engine_state import read_state
from worker.person_key import person_key
from workflows.contracts.messages import Text
from workflows.contracts.permissions import Answer, Approval, Mode, Unattended, answer_bytes
from workflows.contracts.session import TurnEnd
from workflows.contracts.tools import CallStatus
from workflows.contracts.transcript import OutcomeBody
from workflows.session import SessionWorkflow

pytestmark = [pytest.mark.journey, pytest.mark.asyncio(loop_scope="module")]

PROGRAMS = Path(sys.executable).parent


def asks(command: str) -> Told:
    """A model that wants to run one command."""
    return {"replies": [{"content": [{"tool": "Bash", "input": {"command": command}}]}], "fallback": "after"}


async def question(talk: Talk) -> Approval:
    """The one question that is open."""
    (approval,) = (await talk.until("waiting for approval", 40)).approvals
    return approval


def unsigned(approval: Approval) -> Answer:
    """Yes, without a signature."""
    return Answer(request=secrets.token_hex(8), approval=approval.id, digest=approval.digest, allow=True, by="somebody")


async def refusal(talk: Talk, answer: Answer) -> str:
    """What the session says to an answer that it does not take."""
    with pytest.raises(WorkflowUpdateFailedError) as refused:
        await talk.handle.execute_update(SessionWorkflow.answer, answer)
    return str(refused.value.cause)


def text_of(outcome: OutcomeBody) -> str:
    """What the model is shown of an outcome."""
    return "\n".join(block.text for block in outcome.content if isinstance(block, Text))


async def test_a_question_outlives_worker_and_server_and_its_call_runs_once(rig: Rig, tmp_path: Path) -> None:
    async with played(asks("echo ran >> log")) as model:
        talk = await rig.start(model, cwd=tmp_path, mode=Mode.DEFAULT)
        before = await question(talk)
        assert (before.id, before.tool, before.summary) == ("1.0", "Bash", "echo ran >> log")
        kill(rig, "both")
        await healthy(rig)
        after = await question(talk)
        assert after == before
        assert not (tmp_path / "log").exists()
        kill(rig, "worker")
        await talk.answer(after.id, after.digest, allow=True)
        result = await talk.result(40)
        assert (tmp_path / "log").read_text() == "ran\n"
        (outcome,) = await talk.outcomes(result.head)
        assert (outcome.verdict.by, outcome.verdict.rule, outcome.status) == ("person", "tester", CallStatus.OK)
        assert outcome.answer is not None
        assert outcome.answer.signature
        assert len(model.requests) == 2


async def test_only_the_persons_own_answer_to_this_question_is_taken_and_only_once(rig: Rig, tmp_path: Path) -> None:
    async with played(asks("echo ran >> log")) as model:
        talk = await rig.start(model, cwd=tmp_path, mode=Mode.DEFAULT)
        asked = await question(talk)
        answer = unsigned(asked)
        said = answer_bytes(talk.session, answer)
        forged = answer.model_copy(update={"signature": Ed25519PrivateKey.generate().sign(said).hex()})
        assert "needs a person's signature" in await refusal(talk, answer)
        assert "needs a person's signature" in await refusal(talk, forged)
        stolen = answer_bytes("another", answer)
        replayed = answer.model_copy(update={"signature": person_key(rig.home).sign(stolen).hex()})
        assert "needs a person's signature" in await refusal(talk, replayed)
        other = answer.model_copy(update={"digest": "0" * 64})
        assert "is now about something else" in await refusal(talk, other)
        assert "no question 7.0 is open" in await refusal(talk, answer.model_copy(update={"approval": "7.0"}))
        long = answer.model_copy(update={"text": "x" * 1025})
        assert "over 1 KB" in await refusal(talk, long)
        assert not (tmp_path / "log").exists()
        good = answer.model_copy(update={"signature": person_key(rig.home).sign(said).hex()})
        assert not (await talk.handle.execute_update(SessionWorkflow.answer, good)).repeated
        second = good.model_copy(update={"request": "another"})
        assert "is open" in await refusal(talk, second)
        result = await talk.result(40)
        assert (tmp_path / "log").read_text() == "ran\n"
        assert result.totals.calls == 1


async def test_a_repeated_answer_counts_once(rig: Rig, tmp_path: Path) -> None:
    async with played(asks("sleep 1; echo ran >> log")) as model:
        talk = await rig.start(model, cwd=tmp_path, mode=Mode.DEFAULT)
        answer = unsigned(await question(talk))
        signature = person_key(rig.home).sign(answer_bytes(talk.session, answer)).hex()
        signed = answer.model_copy(update={"signature": signature})
        taken = [await talk.handle.execute_update(SessionWorkflow.answer, signed) for _ in range(2)]
        assert [each.repeated for each in taken] == [False, True]
        await talk.result(40)
        assert (tmp_path / "log").read_text() == "ran\n"


async def test_the_model_reads_why_the_person_said_no(rig: Rig, tmp_path: Path) -> None:
    async with played(asks("echo ran >> log")) as model:
        talk = await rig.start(model, cwd=tmp_path, mode=Mode.DEFAULT)
        asked = await question(talk)
        await talk.answer(asked.id, asked.digest, allow=False, text="use the other log")
        result = await talk.result(40)
        assert "The person said no: use the other log" in str(model.requests[-1].body)
        assert not (tmp_path / "log").exists()
        (outcome,) = await talk.outcomes(result.head)
        assert (outcome.status, outcome.verdict.by) == (CallStatus.DENIED, "person")
        assert result.totals.denials == 1


async def test_an_unattended_session_is_denied_by_a_named_rule(rig: Rig, tmp_path: Path) -> None:
    async with played(asks("echo ran >> log")) as model:
        talk = await rig.start(model, cwd=tmp_path, mode=Mode.DEFAULT, settings={"unattended": Unattended.DENY})
        result = await talk.result(20)
        assert not (tmp_path / "log").exists()
        (outcome,) = await talk.outcomes(result.head)
        assert (outcome.verdict.by, outcome.verdict.rule) == ("unattended", "unattended: deny")
        assert outcome.status == CallStatus.DENIED
        assert result.end == TurnEnd.DENIED
        assert "unattended: deny" in str(model.requests[-1].body)


_FORGER = """
import asyncio, sys
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from temporalio.client import Client
from temporalio.contrib.pydantic import pydantic_data_converter
from workflows.contracts.permissions import Answer, answer_bytes

async def main() -> None:
    address, session, approval, digest = sys.argv[1:]
    client = await Client.connect(address, data_converter=pydantic_data_converter)
    answer = Answer(request="mine", approval=approval, digest=digest, allow=True, by="person")
    signature = Ed25519PrivateKey.generate().sign(answer_bytes(session, answer)).hex()
    signed = answer.model_copy(update={"signature": signature})
    await client.get_workflow_handle(f"session-{session}").execute_update("answer", signed)

asyncio.run(main())
"""


async def test_an_agent_cannot_approve_its_own_call_in_any_of_four_ways(rig: Rig, tmp_path: Path) -> None:
    async with played(asks("echo ran >> log")) as model:
        victim = await rig.start(model, cwd=tmp_path, mode=Mode.DEFAULT)
        asked = await question(victim)
        attempts = _attempts(rig, victim, asked, tmp_path)
        calls = [{"tool": "Bash", "input": {"command": command}} for command in attempts]
        async with played({"replies": [{"content": calls}], "fallback": "I give up."}) as agents:
            agent = await rig.start(agents, cwd=tmp_path)
            result = await agent.result(80)
        openly, hidden, engine, forged = await agent.outcomes(result.head)
        assert (openly.status, openly.verdict.rule) == (CallStatus.DENIED, "self-protection")
        assert hidden.status == CallStatus.ERROR
        assert "is for a person, and this is a command that an agent runs" in text_of(hidden)
        assert "[exit code 3]" in text_of(hidden)
        for outcome in (engine, forged):
            assert outcome.status == CallStatus.ERROR
            told = text_of(outcome)
            # Where there is a sandbox, the engine is not even reached.
            assert "needs a person's signature" in told or "sandbox denial: 127.0.0.1" in told, told
        assert (await question(victim)) == asked
        assert not (tmp_path / "log").exists()
        await victim.answer(asked.id, asked.digest, allow=True)
        await eventually_async((tmp_path / "log").exists, 20, "the person's answer counts")
        await victim.result(40)


def _attempts(rig: Rig, victim: Talk, asked: Approval, folder: Path) -> list[str]:
    address = read_state(rig.home).address
    answer = shlex.quote(json.dumps(unsigned(asked).model_dump(mode="json")))
    (folder / "forge.py").write_text(_FORGER)
    where = f"--address {address} --workflow-id session-{victim.session}"
    forge = f"PYTHONPATH={Path(__file__).parents[2]} {sys.executable} {folder}/forge.py"
    # In a file, for what stands in the command itself is seen by the analysis, however it is disguised.
    scripts = {
        "hidden": f"env -u PERDURE_CALL setsid -w {PROGRAMS}/perdure approve {victim.session}",
        "engine": f"{PROGRAMS}/temporal workflow update execute {where} --name answer --input {answer}",
        "forged": f"{forge} {address} {victim.session} {asked.id} {asked.digest} 2>&1 | tail -c 2000; exit 1",
    }
    for name, text in scripts.items():
        (folder / f"{name}.sh").write_text(text)
    return [f"{PROGRAMS}/perdure approve {victim.session}", *(f"bash {name}.sh" for name in scripts)]
