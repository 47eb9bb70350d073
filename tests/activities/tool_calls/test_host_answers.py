"""A person's answer opens hosts, once however often it is tried; what the command gave is kept and not made again."""

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from activities.safety.sandbox import network
from activities.safety.sandbox.opened_hosts import path_in
from activities.settings.load import load_settings
from activities.settings.places import places_of
from activities.tool_calls.end import end_call
from activities.tool_calls.run import run_tool
from tests.activities.tool_calls.hosts_stage import DEFAULT, FETCH, answered, asked, fetch, ran, sandbox, staged
from tests.activities.tool_calls.stage import Stage, text, use, yes
from tests.fakes.held import missing
from tests.fakes.stores import GatedStore
from workflows.contracts.errors import UserError
from workflows.contracts.extensions import HookKind, HookRule
from workflows.contracts.permissions import Rules
from workflows.contracts.tools import CallStatus, Pass

pytestmark = [
    pytest.mark.journey,
    pytest.mark.timeout(120),
    pytest.mark.skipif(bool(missing(1)), reason=f"no namespaces: {missing(1)}"),
]


@pytest.fixture
def stage(tmp_path: Path) -> Iterator[Stage]:
    with staged(tmp_path) as (made, _heard):
        yield made


async def test_a_yes_opens_the_hosts_to_the_next_commands_and_runs_nothing_again(tmp_path: Path) -> None:
    with staged(tmp_path) as (stage, heard):
        done, question = await asked(stage)
        assert (done.status, question.id, question.tool) == (CallStatus.NEEDS_APPROVAL, "1.0.hosts", "Bash")
        command = f"{FETCH}; echo ran >> log"
        assert question.summary == f"open far.example to this session's commands; `{command}` was refused it"
        assert question.reason == "not on the list of allowed hosts"
        shown = (await stage.world.store.get(question.content)).decode().splitlines()
        assert [line for line in shown if line.startswith("  ")] == ["  far.example", f"  {command}"]
        body = await answered(stage, question)
        assert (body.status, body.verdict.by, body.answer) == (CallStatus.OK, "rule", None)
        said = "me opened far.example to this session's commands. The command was not run again: run it again if it is"
        assert "[sandbox denial: far.example:80 is not on the list" in text(body)
        assert said in text(body)
        assert body.hosts is not None
        assert (body.hosts.refused, body.hosts.asked, body.hosts.opened) == (3 * (("far.example",),))
        assert body.hosts.answer == yes(question, content=question.content)
        assert (ran(stage), heard) == (1, [])
        _, body = await stage.again(**DEFAULT, exchange=2)
        assert text(body).startswith("hello")
        assert (ran(stage), heard, body.hosts) == (2, [b"far.example:80"], None)


async def test_a_command_that_runs_meanwhile_reaches_them_too_and_its_network_stays(stage: Stage) -> None:
    _, question = await asked(stage)
    usual = sandbox(stage) / network.USUAL
    before = network.find(usual)
    await answered(stage, question)
    await stage.again(**DEFAULT, exchange=2)
    assert before is not None
    assert network.find(usual) == before


async def test_a_no_is_told_with_its_words_and_not_asked_again(stage: Stage) -> None:
    _, question = await asked(stage)
    body = await answered(stage, question, allow=False, text="use the mirror")
    assert body.status == CallStatus.OK
    assert "me said no to opening far.example: use the mirror. In this session that stays refused" in text(body)
    assert body.hosts is not None
    assert body.hosts.opened == ()
    _, body = await stage.again(**DEFAULT, exchange=2)
    assert "[sandbox denial: far.example:80" in text(body)
    assert "me did not open far.example in this session, and is not asked about it again" in text(body)


async def test_always_saves_them_for_later_sessions_as_the_question_offered(stage: Stage) -> None:
    (stage.workspace / "name").write_text("far.example:8443")
    _, question = await asked(stage)
    offered = Pass.model_validate_json(await stage.world.store.get(question.found)).suggestions
    assert offered == ("sandbox.network.allowedDomains far.example:8443",)
    body = await answered(stage, question, always=True)
    file = stage.workspace / ".perdure/settings.local.json"
    assert json.loads(file.read_text()) == {"sandbox": {"network": {"allowedDomains": ["far.example:8443"]}}}
    assert f"for later sessions too ({file})" in text(body)
    assert body.data["always_hosts"] == {"hosts": ["far.example:8443"], "file": str(file)}
    loaded = load_settings(places_of(stage.world), stage.workspace)
    assert loaded.settings.sandbox.network.allowed_domains == ("far.example:8443",)


async def test_a_host_that_is_denied_before_the_answer_stays_closed(stage: Stage) -> None:
    _, question = await asked(stage)
    (stage.folder / "managed.json").write_text(json.dumps({"permissions": {"deny": ["WebFetch(domain:far.example)"]}}))
    body = await answered(stage, question)
    assert "me would open far.example, but rules or settings deny it now" in text(body)
    _, body = await stage.again(**DEFAULT, exchange=2)
    assert "[sandbox denial: far.example:80" in text(body)


async def test_an_answer_to_the_first_question_of_the_call_says_nothing_of_hosts(tmp_path: Path) -> None:
    with staged(tmp_path, rules=Rules()) as (stage, _heard):
        await stage.reply(fetch())
        first = (await run_tool(stage.world, stage.request(**DEFAULT))).approval
        assert first is not None
        assert (first.id, ran(stage)) == ("1.0", 0)
        given = {**DEFAULT, "approval": first, "answer": yes(first)}
        second = await run_tool(stage.world, stage.request(**given))
        assert second.approval is not None
        assert second.approval.digest != first.digest
        # Its worker died before it could report: the same request once more, answer and all.
        again = await run_tool(stage.after_a_crash().world, stage.request(**given))
        assert (again, ran(stage)) == (second, 1)
        forged = yes(first, approval=second.approval.id, content=second.approval.content)
        stale = await run_tool(stage.world, stage.request(**DEFAULT, approval=second.approval, answer=forged))
        assert stale.status == CallStatus.NEEDS_APPROVAL
        body = await answered(stage, second.approval)
        assert (body.answer, ran(stage)) == (yes(first), 1)
        assert body.hosts is not None
        assert body.hosts.opened == ("far.example",)


async def test_hooks_of_the_call_run_once_and_hear_of_the_question(tmp_path: Path) -> None:
    events = ("PreToolUse", "PostToolUse", "Notification")
    hooks = tuple(HookRule(event=each, kind=HookKind.COMMAND, command=f"echo {each} >> events") for each in events)
    with staged(tmp_path, hooks=hooks) as (stage, _heard):
        _, question = await asked(stage)
        await run_tool(stage.after_a_crash().world, stage.request(**DEFAULT))
        body = await answered(stage, question)
        assert (stage.workspace / "events").read_text().split() == list(events)
        assert [record.event for record in body.hooks] == list(events)


async def test_a_command_whose_end_could_not_be_kept_is_asked_about_by_the_next_attempt(stage: Stage) -> None:
    store = GatedStore(stage.world.store)
    stage.world = replace(stage.world, store=store)
    await stage.reply(fetch("echo ran >> log; touch done"))
    store.is_full = True
    with pytest.raises(UserError):
        await run_tool(stage.world, stage.request(**DEFAULT))
    store.is_full = False
    done = await run_tool(stage.after_a_crash().world, stage.request(**DEFAULT))
    assert done.approval is not None
    body = await answered(stage, done.approval)
    assert (ran(stage), body.crash) == (1, "attached")


async def test_a_question_that_was_kept_and_not_reported_is_the_same_again(stage: Stage) -> None:
    done, _ = await asked(stage)
    again = await run_tool(stage.after_a_crash().world, stage.request(**DEFAULT))
    assert (again, ran(stage)) == (done, 1)
    assert stage.events().count("approval_asked") == 2


async def test_an_answer_that_could_not_be_carried_out_is_carried_out_by_the_next_attempt(stage: Stage) -> None:
    _, question = await asked(stage)
    path_in(sandbox(stage)).mkdir()
    with pytest.raises(UserError):
        await answered(stage, question)
    path_in(sandbox(stage)).rmdir()
    body = await answered(stage.after_a_crash(), question)
    assert body.hosts is not None
    assert (body.hosts.opened, ran(stage)) == (("far.example",), 1)


async def test_hosts_that_were_opened_before_the_report_are_opened_once(stage: Stage) -> None:
    store = GatedStore(stage.world.store)
    _, question = await asked(stage)
    stage.world = replace(stage.world, store=store)
    store.is_full = True
    with pytest.raises(UserError):
        await answered(stage, question, always=True)
    store.is_full = False
    body = await answered(stage.after_a_crash(), question, always=True)
    assert len(path_in(sandbox(stage)).read_text().splitlines()) == 1
    assert text(body).count("opened far.example") == 1
    saved = json.loads((stage.workspace / ".perdure/settings.local.json").read_text())
    assert saved["sandbox"]["network"]["allowedDomains"] == ["far.example"]


async def test_a_call_that_is_ended_while_it_asks_has_what_its_command_gave(stage: Stage) -> None:
    done, question = await asked(stage, fetch("echo ran >> log; echo printed"))
    kept = await stage.outcome(done)
    other = stage.after_a_crash(attempt=1)
    ended = await other.outcome(await end_call(other.world, other.end()))
    assert ended == kept
    assert (ended.status, "printed" in text(ended)) == (CallStatus.OK, True)
    assert ended.hosts is not None
    assert (ended.hosts.asked, ended.hosts.answer, ended.hosts.opened) == (("far.example",), None, ())
    assert question.digest


async def test_a_call_that_is_ended_after_its_hosts_were_opened_says_so(stage: Stage) -> None:
    store = GatedStore(stage.world.store)
    _, question = await asked(stage)
    stage.world = replace(stage.world, store=store)
    store.is_full = True
    with pytest.raises(UserError):
        await answered(stage, question)
    other = stage.after_a_crash()
    store.is_full = False
    body = await other.outcome(await end_call(other.world, other.end()))
    assert "me opened far.example" in text(body)


async def test_a_second_call_of_the_reply_is_not_asked_about_what_the_first_opened(stage: Stage) -> None:
    await stage.reply(fetch(), fetch("echo ran >> log; echo second"))
    first = (await run_tool(stage.world, stage.request(**DEFAULT))).approval
    assert first is not None
    await answered(stage, first)
    _, body = await stage.again(place=1, **DEFAULT)
    assert (text(body).startswith("hello"), body.hosts) == (True, None)


async def test_another_session_starts_with_none_opened(stage: Stage) -> None:
    _, question = await asked(stage)
    await answered(stage, question)
    done = await run_tool(stage.world, stage.request(**DEFAULT, session="s2"))
    network.end(stage.world.home.journal / "s2" / "sandbox" / network.USUAL)
    assert done.status == CallStatus.NEEDS_APPROVAL


async def test_a_command_that_was_allowed_by_name_reaches_what_the_session_opened_too(tmp_path: Path) -> None:
    both = use("Bash", command="curl -s http://near.example/x; curl -s http://$(cat name)/y")
    with staged(tmp_path, rules=Rules()) as (stage, heard):
        await stage.reply(both)
        for exchange, expected in ((1, [b"near.example:80"]), (2, [b"near.example:80", b"far.example:80"])):
            heard.clear()
            first = (await run_tool(stage.world, stage.request(**DEFAULT, exchange=exchange))).approval
            assert first is not None
            given = {**DEFAULT, "exchange": exchange, "approval": first, "answer": yes(first)}
            done = await run_tool(stage.world, stage.request(**given))
            assert heard == expected
            if exchange == 1:
                assert done.approval is not None
                body = await answered(stage, done.approval)
                assert body.hosts is not None
                assert body.hosts.asked == ("far.example",)
