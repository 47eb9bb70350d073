"""Hosts that a command was refused are asked about after it, once; the answer opens them, and nothing is run again."""

import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from activities.model.client import AnthropicEndpoint
from activities.safety.sandbox import network
from activities.safety.sandbox.opened_hosts import path_in
from activities.settings.load import load_settings
from activities.settings.places import places_of
from activities.tool_calls.end import end_call
from activities.tool_calls.run import run_tool
from tests.activities.tool_calls.stage import Stage, text, use, yes
from tests.fakes.held import missing
from tests.fakes.stores import GatedStore
from tests.fakes.way_out import way_out
from tests.fakes.world import SESSION
from worker.person_key import person_key
from worker.rehearsal.scenario import Scenario
from worker.rehearsal.server import rehearse
from workflows.contracts.errors import UserError
from workflows.contracts.extensions import HookKind, HookRule
from workflows.contracts.messages import ToolUse
from workflows.contracts.permissions import Approval, Mode, Rules, Unattended
from workflows.contracts.sandbox import NetworkRules, SandboxSettings
from workflows.contracts.settings import SessionSettings
from workflows.contracts.tools import CallStatus, Pass, ToolDone
from workflows.contracts.transcript import OutcomeBody

pytestmark = [
    pytest.mark.journey,
    pytest.mark.timeout(120),
    pytest.mark.skipif(bool(missing(1)), reason=f"no namespaces: {missing(1)}"),
]

DEFAULT: dict[str, Any] = {"mode": Mode.DEFAULT}
FETCH = "curl -s http://$(cat name)/x"
"""It does not name its host, so none is opened to it alone."""
NO_QUESTION = "nobody is asked to open far.example: "


@contextmanager
def staged(folder: Path, **settings: Any) -> Iterator[tuple[Stage, list[bytes]]]:
    """A session whose commands are allowed, and the hosts that they reached."""
    given = {"sandbox": SandboxSettings(), "rules": Rules(allow=("Bash",)), **settings}
    with way_out() as (port, heard):
        stage = Stage(folder, SessionSettings(**given))
        user = folder / "user"
        user.mkdir()
        environment = {"PATH": os.environ["PATH"], "HOME": str(user), "HTTPS_PROXY": f"http://127.0.0.1:{port}"}
        stage.world = replace(stage.world, environment=environment, managed_settings=(folder / "managed.json",))
        (stage.workspace / "name").write_text("far.example")
        person_key(stage.world.home)
        try:
            yield stage, heard
        finally:
            for each in network.all_of(sandbox(stage)):
                network.end(each)


def sandbox(stage: Stage) -> Path:
    return stage.world.home.journal / SESSION / "sandbox"


def fetch(more: str = "echo ran >> log") -> ToolUse:
    return use("Bash", command=f"{FETCH}; {more}")


def ran(stage: Stage) -> int:
    """How often the command has run."""
    log = stage.workspace / "log"
    return log.read_text().count("ran") if log.exists() else 0


async def asked(stage: Stage, call: ToolUse | None = None, **changed: Any) -> tuple[ToolDone, Approval]:
    """The question about hosts that the command leads to."""
    await stage.reply(call or fetch())
    done = await run_tool(stage.world, stage.request(**{**DEFAULT, **changed}))
    assert done.approval is not None
    return done, done.approval


async def answered(stage: Stage, question: Approval, **said: Any) -> OutcomeBody:
    answer = yes(question, content=question.content, **said)
    _, body = await stage.again(**DEFAULT, approval=question, answer=answer)
    return body


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


async def test_a_private_network_is_not_reached_by_a_name_that_was_opened_with_its_port(tmp_path: Path) -> None:
    with staged(tmp_path) as (stage, _heard):
        without = {name: value for name, value in stage.world.environment.items() if name != "HTTPS_PROXY"}
        stage.world = replace(stage.world, environment=without)
        # A name that this machine itself resolves, to its own address.
        (stage.workspace / "name").write_text(f"{os.uname().nodename}:8443")
        _, question = await asked(stage)
        await answered(stage, question)
        _, body = await stage.again(**DEFAULT, exchange=2)
        assert "[sandbox denial" in text(body)
        assert body.hosts is None


@pytest.mark.parametrize("name", ["localhost:8080", "127.0.0.1", "x.localhost", "10.1.2.3:80", "denied.example"])
async def test_what_no_person_can_open_is_told_and_not_asked_about(tmp_path: Path, name: str) -> None:
    rules = NetworkRules(denied_domains=("denied.example",))
    with staged(tmp_path, sandbox=SandboxSettings(network=rules)) as (stage, _heard):
        proxied = f"curl -s --noproxy '' -x $HTTP_PROXY http://{name}/; true"
        _, body = await stage.run(use("Bash", command=proxied), **DEFAULT)
        assert "[sandbox denial: " in text(body)
        assert body.hosts is None


async def test_at_most_eight_are_asked_about_and_the_question_shows_each(stage: Stage) -> None:
    (stage.workspace / "name").write_text("".join(f"h{number}.example\n" for number in range(12)))
    each = use("Bash", command="for host in $(cat name); do curl -s http://$host; done; true")
    _, question = await asked(stage, each)
    shown = (await stage.world.store.get(question.content)).decode()
    assert [f"h{number}.example" in shown for number in range(12)] == [True] * 8 + [False] * 4
    assert question.summary.startswith("open h0.example, h1.example")
    assert "more to this session's commands; `for host in" in question.summary
    assert len(question.summary) <= 160


@pytest.mark.parametrize(
    ("settings", "mode", "said"),
    [
        ({"unattended": Unattended.DENY}, Mode.DEFAULT, "nobody attends this session (rule 'unattended: deny')"),
        ({}, Mode.DONT_ASK, "mode dontAsk"),
        (
            {"rules": Rules(allow=("Bash",), deny=("WebFetch(domain:*.example)", "WebFetch(domain:far.example)"))},
            Mode.DEFAULT,
            "rule WebFetch(domain:*.example)",
        ),
    ],
)
async def test_where_nobody_is_asked_the_result_names_the_rule(
    tmp_path: Path, settings: dict[str, Any], mode: Mode, said: str
) -> None:
    with staged(tmp_path, **settings) as (stage, _heard):
        _, body = await stage.run(fetch(), mode=mode)
        assert NO_QUESTION + said in text(body)
        assert body.hosts is not None
        assert (body.hosts.refused, body.hosts.asked, body.hosts.opened) == (("far.example",), (), ())


async def test_in_bypass_mode_the_list_still_counts_and_nothing_is_asked(stage: Stage) -> None:
    _, body = await stage.run(fetch(), mode=Mode.BYPASS)
    assert "[sandbox denial: far.example:80" in text(body)
    assert "nobody is asked" not in text(body)
    assert body.hosts is not None
    assert (body.hosts.verdict.by, body.hosts.verdict.rule) == ("mode", "bypassPermissions")


@pytest.mark.parametrize(
    ("settings", "waits"), [({}, {"mode": Mode.PLAN}), ({"unattended": Unattended.WAIT}, DEFAULT)], ids=["plan", "wait"]
)
async def test_plan_mode_asks_and_who_waits_unattended_too(
    tmp_path: Path, settings: dict[str, Any], waits: dict[str, Any]
) -> None:
    with staged(tmp_path, **settings) as (stage, _heard):
        _, question = await asked(stage, **waits)
        assert question.id == "1.0.hosts"


@pytest.mark.parametrize("key", ["strictAllowlist", "allowManagedDomainsOnly"])
async def test_a_setting_closes_the_list_to_questions(stage: Stage, key: str) -> None:
    file = stage.folder / "managed.json"
    file.write_text(json.dumps({"sandbox": {"network": {key: True}}}))
    _, body = await stage.run(fetch(), **DEFAULT)
    assert f"{NO_QUESTION}sandbox.network.{key} of {file}" in text(body)


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


async def test_a_background_command_is_told_and_nobody_is_asked(stage: Stage) -> None:
    call = use("Bash", command=FETCH, run_in_background=True)
    done, body = await stage.run(call, **DEFAULT)
    assert (done.status, body.hosts) == (CallStatus.OK, None)


@pytest.mark.parametrize(("said", "opens"), [("ALLOW", True), ("BLOCK", False)])
async def test_in_auto_mode_the_small_model_decides_and_its_cost_counts(tmp_path: Path, said: str, opens: bool) -> None:
    replies = ["ALLOW", said, "It sends data away.\nVERDICT: BLOCK it is no mirror"]
    async with rehearse(Scenario.model_validate({"order": "arrival", "replies": replies})) as model:
        with staged(tmp_path, model="rehearsal", base_url=model.url) as (stage, _heard):
            endpoint = AnthropicEndpoint({})
            stage.world = replace(stage.world, model=endpoint)
            done, body = await stage.run(fetch(), mode=Mode.AUTO)
            await endpoint.close()
            assert "open_to_all_commands_of_the_session" in str(model.requests[1].body)
            assert body.hosts is not None
            assert (body.hosts.verdict.by, body.hosts.opened) == ("classifier", ("far.example",) if opens else ())
            line = "opened far.example to this" if opens else "did not open far.example: it is no mirror"
            assert f"[sandbox: the small model of auto mode {line}" in text(body)
            told = body.data["classifier"]
            assert isinstance(told, dict)
            assert body.cost == done.cost > int(str(told["cost"])) > 0
