"""A session fetches pages once each, also with an early start, and once more after its worker was killed."""

import time
from pathlib import Path
from typing import Any

import pytest

from tests.fakes.rig import Rig, played
from tests.fakes.waiting import eventually_async
from tests.fakes.web import Served, site
from workflows.contracts.messages import Text
from workflows.contracts.permissions import Mode, Rules
from workflows.contracts.tools import CallStatus
from workflows.contracts.web import WebSettings

pytestmark = [pytest.mark.journey, pytest.mark.asyncio(loop_scope="module")]

SETTINGS: dict[str, Any] = {
    "rules": Rules(allow=("WebFetch(domain:localhost)",)),
    "web": WebSettings(allow_private_hosts=("localhost",)),
}


def _slow() -> Served:
    time.sleep(8)
    return Served(b"too late")


def fetches(*urls: str) -> dict[str, Any]:
    return {"content": [{"tool": "WebFetch", "input": {"url": url}} for url in urls]}


async def test_two_pages_of_one_reply_are_fetched_once_each(rig: Rig, tmp_path: Path) -> None:
    with site(a=Served(b"<h1>First</h1>"), b=Served(b"<h1>Second</h1>")) as web:
        replies = [fetches(web.url("/a"), web.url("/b"))]
        async with played({"replies": replies, "fallback": "Done.", "pacing": {"token_ms": 5}}) as model:
            talk = await rig.start(model, cwd=tmp_path, mode=Mode.DEFAULT, settings=SETTINGS)
            result = await talk.result()
        assert sorted(web.paths()) == ["/a", "/b"]
        outcomes = await talk.outcomes(result.head)
        texts = ["".join(block.text for block in one.content if isinstance(block, Text)) for one in outcomes]
        assert ["# First" in texts[0], "# Second" in texts[1]] == [True, True]
        assert {one.verdict.rule for one in outcomes} == {"WebFetch(domain:localhost)"}


async def test_a_page_that_a_killed_worker_was_fetching_is_fetched_again(rig: Rig, tmp_path: Path) -> None:
    with site() as web:
        web.pages["/a"] = _slow
        async with played({"replies": [fetches(web.url("/a"))], "fallback": "Done."}) as model:
            talk = await rig.start(model, cwd=tmp_path, mode=Mode.DEFAULT, settings=SETTINGS)

            await eventually_async(web.paths, 20, "the page is asked for")
            rig.kill_worker()
            web.pages["/a"] = Served(b"<h1>There</h1>")
            result = await talk.result()
        (outcome,) = await talk.outcomes(result.head)
        assert outcome.status == CallStatus.OK
        assert "# There" in "".join(block.text for block in outcome.content if isinstance(block, Text))
        assert web.paths() == ["/a", "/a"]
