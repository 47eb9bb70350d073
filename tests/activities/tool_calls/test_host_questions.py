"""Which hosts a person is asked about after a command, and what is told where nobody is."""

import asyncio
import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from activities.model.client import AnthropicEndpoint
from activities.safety.sandbox import network
from activities.tool_calls.run import run_tool
from tests.activities.tool_calls.hosts_stage import DEFAULT, FETCH, asked, fetch, sandbox, staged
from tests.activities.tool_calls.stage import Stage, text, use
from tests.fakes.held import missing
from tests.fakes.stores import GatedStore
from tests.fakes.waiting import eventually_async
from worker.rehearsal.scenario import Scenario
from worker.rehearsal.server import rehearse
from workflows.contracts.errors import UserError
from workflows.contracts.permissions import Mode, Rules, Unattended
from workflows.contracts.sandbox import NetworkRules, SandboxSettings
from workflows.contracts.tools import CallStatus

pytestmark = [
    pytest.mark.journey,
    pytest.mark.timeout(120),
    pytest.mark.skipif(bool(missing(1)), reason=f"no namespaces: {missing(1)}"),
]

NO_QUESTION = "nobody is asked to open far.example: "


@pytest.fixture
def stage(tmp_path: Path) -> Iterator[Stage]:
    with staged(tmp_path) as (made, _heard):
        yield made


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


async def test_a_long_name_shows_its_end_in_the_one_line_of_the_question(stage: Stage) -> None:
    name = f"pypi.org.{'a' * 60}.{'b' * 60}.far.example"
    (stage.workspace / "name").write_text(name)
    _, question = await asked(stage)
    assert question.summary.startswith("open …")
    assert "bbb.far.example to this session's commands; `curl" in question.summary
    assert name in (await stage.world.store.get(question.content)).decode()


async def test_what_the_small_model_opened_is_told_by_the_attempt_that_can_report_it(tmp_path: Path) -> None:
    async with rehearse(Scenario.model_validate({"order": "arrival", "replies": ["ALLOW", "ALLOW"]})) as model:
        with staged(tmp_path, model="rehearsal", base_url=model.url) as (stage, _heard):
            endpoint, store = AnthropicEndpoint({}), GatedStore(stage.world.store)
            stage.world = replace(stage.world, model=endpoint, store=store)
            await stage.reply(fetch("while [ ! -e go ]; do sleep 0.05; done"))
            attempt = asyncio.ensure_future(run_tool(stage.world, stage.request(mode=Mode.AUTO)))
            await eventually_async(lambda: network.refused_since(sandbox(stage) / network.USUAL, 0))
            store.is_full = True
            (stage.workspace / "go").touch()
            with pytest.raises(UserError):
                await attempt
            store.is_full = False
            body = await stage.outcome(await run_tool(stage.after_a_crash().world, stage.request(mode=Mode.AUTO)))
            await endpoint.close()
    assert body.hosts is not None
    assert (body.hosts.refused, body.hosts.opened, len(model.requests)) == (("far.example",), ("far.example",), 2)
    assert text(body).count("opened far.example to this session's commands") == 1
