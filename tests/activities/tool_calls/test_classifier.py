"""In auto mode a small model judges what nothing else decides: two stages, no verdict is a no, its cost is counted."""

import asyncio
import json
import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from activities.model.client import AnthropicEndpoint
from activities.tool_calls.classifier import Spent, classify
from activities.tool_calls.denials import denials_before
from activities.tool_calls.registry import find
from activities.tool_calls.run import run_tool
from activities.tool_calls.vet import parse_input
from tests.activities.tool_calls.stage import AT, Stage, text, use, yes
from tests.fakes.waiting import eventually_async
from tests.fakes.world import SESSION, make_call
from worker.rehearsal.scenario import Scenario
from worker.rehearsal.server import Rehearsal, rehearse
from workflows.contracts.extensions import HookKind, HookRule
from workflows.contracts.messages import Role, Text, ToolResult
from workflows.contracts.permissions import Answer, Chosen, Decision, Mode, Unattended, Verdict
from workflows.contracts.settings import SessionSettings
from workflows.contracts.tools import CallStatus
from workflows.contracts.transcript import MessageBody, OutcomeBody

pytestmark = pytest.mark.journey

CHANGED = {"hookEventName": "PreToolUse", "updatedInput": {"command": 'python3 -c "print(7 * 7)"'}}
RUN = use("Bash", command="python3 -c 'print(6 * 7)'")
BLOCKED = ["BLOCK", "It sends data away.\nVERDICT: BLOCK it uploads the project"]


@asynccontextmanager
async def auto_stage(
    folder: Path, *replies: Any, unattended: Unattended = Unattended.NO, hooks: tuple[HookRule, ...] = ()
) -> AsyncIterator[tuple[Stage, Rehearsal]]:
    """A session in auto mode, with a small model that answers so."""
    async with rehearse(Scenario.model_validate({"order": "arrival", "replies": list(replies)})) as model:
        settings = SessionSettings(model="rehearsal", base_url=model.url, unattended=unattended, hooks=hooks)
        stage = Stage(folder, settings)
        endpoint = AnthropicEndpoint({})
        stage.world = replace(stage.world, model=endpoint)
        try:
            yield stage, model
        finally:
            await endpoint.close()


async def run(stage: Stage, place: int = 0, exchange: int = 1) -> Any:
    return await stage.again(mode=Mode.AUTO, place=place, exchange=exchange)


async def test_what_the_fast_stage_lets_through_runs_and_its_cost_is_counted(tmp_path: Path) -> None:
    async with auto_stage(tmp_path, "ALLOW") as (stage, model):
        await stage.reply(RUN)
        done, body = await run(stage)
        assert "42" in text(body)
        assert (body.verdict.decision, body.verdict.by, body.verdict.rule) == (Decision.ALLOW, "classifier", "auto")
        assert len(model.requests) == 1
        told = body.data["classifier"]
    assert isinstance(told, dict)
    assert (told["stages"], told["model"]) == (1, "rehearsal")
    assert told["cost"] == done.cost > 0


async def test_what_the_fast_stage_blocks_is_reasoned_about_and_the_reason_is_told(tmp_path: Path) -> None:
    async with auto_stage(tmp_path, *BLOCKED) as (stage, model):
        await stage.reply(RUN)
        done, body = await run(stage)
        assert len(model.requests) == 2
    assert done.status == CallStatus.DENIED
    assert "Denied by the classifier of auto mode: it uploads the project" in text(body)
    assert done.cost > 0


async def test_the_second_stage_may_let_through_what_the_first_did_not(tmp_path: Path) -> None:
    async with auto_stage(tmp_path, "BLOCK", "It only computes.\nVERDICT: ALLOW") as (stage, _):
        await stage.reply(RUN)
        _, body = await run(stage)
    assert "42" in text(body)


@pytest.mark.parametrize(
    "replies", [["BLOCK", "I do not know."], [{"content": "ALLOW", "faults": [{"status": 529, "times": "always"}]}]]
)
async def test_without_a_verdict_the_call_is_denied(tmp_path: Path, replies: list[Any]) -> None:
    async with auto_stage(tmp_path, *replies) as (stage, _):
        await stage.reply(RUN)
        done, body = await run(stage)
    assert done.status == CallStatus.DENIED
    assert "gave no verdict" in body.verdict.text


async def test_it_sees_what_the_user_said_and_what_was_done_but_no_result(tmp_path: Path) -> None:
    async with auto_stage(tmp_path, "ALLOW") as (stage, model):
        (stage.workspace / "CLAUDE.md").write_text("Tests: make test")
        said = MessageBody(role=Role.USER, blocks=(Text(text="Build it. Never deploy."),))
        did = MessageBody(
            role=Role.ASSISTANT,
            blocks=(
                Text(text="MUSINGS"),
                use("Bash", command="make all"),
                use("Read", file_path="zebra").model_copy(update={"id": "t2"}),
            ),
        )
        results = tuple(ToolResult(id=name, content=(Text(text="SECRET RESULT"),)) for name in ("t1", "t2"))
        got = MessageBody(role=Role.USER, blocks=results)
        await stage.reply(RUN)
        head = await stage.world.transcript.append("", AT, [said, did, got])
        entry = await stage.world.transcript.entry(stage.entry)
        stage.entry = await stage.world.transcript.append(head, AT, [entry.body])
        await run(stage)
        asked = model.requests[0].body["messages"][0]["content"][0]["text"]
    assert all(seen in asked for seen in ("Never deploy", "make all", "Tests: make test", "print(6 * 7)"))
    assert not any(unseen in asked for unseen in ("SECRET RESULT", "MUSINGS", "zebra"))


@pytest.mark.parametrize("kind", ["link", "pipe", "folder"])
async def test_notes_that_are_no_file_of_the_folder_are_left_out_and_never_waited_for(
    tmp_path: Path, kind: str
) -> None:
    (tmp_path / "private").write_text("OF THE PERSON")
    async with auto_stage(tmp_path, "ALLOW") as (stage, model):
        notes = stage.workspace / "CLAUDE.md"
        match kind:
            case "link":
                notes.symlink_to(tmp_path / "private")
            case "pipe":
                os.mkfifo(notes)
            case _:
                notes.mkdir()
        (stage.workspace / "AGENTS.md").write_text("Tests: make test")
        await stage.reply(RUN)
        await asyncio.wait_for(run(stage), 30)
        asked = model.requests[0].body["messages"][0]["content"][0]["text"]
    assert ("OF THE PERSON" in asked, "Tests: make test" in asked) == (False, True)


async def test_it_sees_no_secret(tmp_path: Path) -> None:
    key = "AKIA" + "Q3EGRIT5TZ2K7XYZ"
    async with auto_stage(tmp_path, "ALLOW") as (stage, model):
        (stage.workspace / "CLAUDE.md").write_text(f"The bucket's key is {key}. Tests: make test")
        await stage.reply(use("Bash", command=f"python3 -c 'print(1)' # {key}"))
        await run(stage)
        (asked,) = [request.body_bytes for request in model.requests]
    assert (key.encode() in asked, b"Tests: make test" in asked) == (False, True)


async def test_only_the_persons_own_words_pass_for_them_those_of_their_answers_too(tmp_path: Path) -> None:
    async with auto_stage(tmp_path, "ALLOW") as (stage, model):
        said = MessageBody(role=Role.USER, blocks=(Text(text="Build it."),))
        hidden = MessageBody(role=Role.USER, blocks=(Text(text="HOOK SAYS DEPLOY"),), hidden=True)
        answer = Answer(
            request="r",
            approval="1.0",
            digest="",
            allow=False,
            text="never deploy",
            chosen=(Chosen(text="leave main"),),
        )
        refused = OutcomeBody(
            exchange=1, place=0, tool="Bash", call="t0", digest="", status=CallStatus.DENIED, answer=answer,
            verdict=Verdict(decision=Decision.DENY, by="person"), content=(Text(text="TOLD THE MODEL"),),
        )  # fmt: skip
        await stage.reply(RUN)
        entry = await stage.world.transcript.entry(stage.entry)
        stage.entry = await stage.world.transcript.append("", AT, [said, refused, hidden, entry.body])
        await run(stage)
        asked = model.requests[0].body["messages"][0]["content"][0]["text"]
    assert all(seen in asked for seen in ("Build it", "never deploy", "leave main"))
    assert not any(unseen in asked for unseen in ("HOOK SAYS", "TOLD THE MODEL"))


@pytest.mark.parametrize(
    ("answer", "status", "stages"),
    [
        ("echo 'not now' >&2; exit 2", CallStatus.DENIED, 1),
        (f"echo '{json.dumps({'hookSpecificOutput': CHANGED})}'", CallStatus.OK, 2),
    ],
    ids=["denied", "changed"],
)
async def test_an_opinion_that_a_hook_made_needless_is_counted_all_the_same(
    tmp_path: Path, answer: str, status: CallStatus, stages: int
) -> None:
    waits = "for n in $(seq 300); do [ -e thought ] && break; sleep 0.1; done"
    hook = HookRule(event="PreToolUse", kind=HookKind.COMMAND, command=f"{waits}; {answer}")
    async with auto_stage(tmp_path, "ALLOW", "ALLOW", hooks=(hook,)) as (stage, model):
        await stage.reply(RUN)
        running = asyncio.ensure_future(run(stage))
        thought = stage.world.home.journal / SESSION / "denials.ndjson"
        await eventually_async(thought.exists, 30, "an opinion")
        (stage.workspace / "thought").touch()
        done, body = await running
        assert len(model.requests) == stages
    told = body.data["classifier"]
    assert isinstance(told, dict)
    assert (done.status, told["stages"]) == (status, stages)
    assert done.cost == told["cost"] > 0


async def test_rules_proof_and_edits_inside_need_no_small_model(tmp_path: Path) -> None:
    async with auto_stage(tmp_path, "BLOCK") as (stage, model):
        for number, call in enumerate((use("Bash", command="ls"), use("Write", file_path="f", content="x")), 1):
            await stage.reply(call)
            done, _ = await run(stage, exchange=number)
            assert done.status == CallStatus.OK
        assert model.requests == []


async def test_after_three_blocks_in_a_row_a_person_is_asked_whose_yes_ends_the_row(tmp_path: Path) -> None:
    async with auto_stage(tmp_path, *BLOCKED * 3, "ALLOW") as (stage, model):
        await stage.reply(RUN)
        for exchange in (1, 2, 3):
            done, _ = await run(stage, exchange=exchange)
            assert done.status == CallStatus.DENIED
        asked = (await run_tool(stage.world, stage.request(mode=Mode.AUTO, exchange=4))).approval
        assert asked is not None
        assert "3 calls in a row" in asked.reason
        assert len(model.requests) == 6
        done, body = await stage.again(mode=Mode.AUTO, exchange=4, approval=asked, answer=yes(asked))
        assert (done.status, body.verdict.by) == (CallStatus.OK, "person")
        done, body = await run(stage, exchange=5)
    assert (done.status, body.verdict.by) == (CallStatus.OK, "classifier")


async def test_unattended_the_limit_denies_by_a_named_rule(tmp_path: Path) -> None:
    async with auto_stage(tmp_path, *BLOCKED * 3, unattended=Unattended.DENY) as (stage, _):
        await stage.reply(RUN)
        for exchange in (1, 2, 3):
            await run(stage, exchange=exchange)
        _, body = await run(stage, exchange=4)
    assert (body.verdict.by, body.verdict.rule) == ("unattended", "unattended: deny")


async def test_a_block_counts_once_however_often_its_call_is_tried(tmp_path: Path) -> None:
    async with auto_stage(tmp_path, *BLOCKED * 3, "ALLOW") as (stage, _):
        tool = find("Bash")
        assert tool is not None
        call = make_call(stage.world, stage.workspace, "Bash", settings=stage.settings)
        await stage.reply(RUN)
        for _ in range(3):
            opinion = await classify(call, tool, parse_input(tool, RUN), stage.entry, Spent("rehearsal"))
            assert opinion.decision == Decision.DENY
        assert denials_before(replace(call, key="another")).in_a_row == 1
