"""Each host of the web is asked about, unless a rule speaks of its domain."""

from pathlib import Path

import pytest

from activities.tool_calls.run import run_tool
from tests.activities.tool_calls.stage import Stage, text, use
from tests.fakes.web import Served, site
from workflows.contracts.permissions import Mode, Rules
from workflows.contracts.settings import SessionSettings
from workflows.contracts.tools import CallStatus
from workflows.contracts.web import WebSettings


@pytest.mark.parametrize(
    ("rules", "status"),
    [
        (Rules(), CallStatus.NEEDS_APPROVAL),
        (Rules(allow=("WebFetch(domain:other.example)",)), CallStatus.NEEDS_APPROVAL),
        (Rules(allow=("WebFetch(domain:localhost)",)), CallStatus.OK),
        (Rules(allow=("WebFetch",), deny=("WebFetch(domain:localhost)",)), CallStatus.DENIED),
    ],
)
async def test_a_rule_of_its_domain_decides(tmp_path: Path, rules: Rules, status: CallStatus) -> None:
    with site(a=Served(b"<h1>Head</h1>")) as web:
        settings = SessionSettings(rules=rules, web=WebSettings(allow_private_hosts=("localhost",)))
        stage = Stage(tmp_path, settings)
        call = use("WebFetch", url=web.url("/a"))
        await stage.reply(call)
        if status == CallStatus.NEEDS_APPROVAL:
            done = await run_tool(stage.world, stage.request(mode=Mode.DEFAULT))
            assert (done.status, web.asked) == (status, [])
            return
        done, body = await stage.again(mode=Mode.DEFAULT)
        assert done.status == status
        assert ("# Head" in text(body)) == (status == CallStatus.OK)
        assert len(web.asked) == (status == CallStatus.OK)
