"""A session whose commands meet hosts that are closed to them, and a person who is asked about these."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from activities.safety.sandbox import network
from activities.tool_calls.run import run_tool
from tests.activities.tool_calls.stage import Stage, use, yes
from tests.fakes.way_out import way_out
from tests.fakes.world import SESSION
from worker.person_key import person_key
from workflows.contracts.messages import ToolUse
from workflows.contracts.permissions import Approval, Mode, Rules
from workflows.contracts.sandbox import SandboxSettings
from workflows.contracts.settings import SessionSettings
from workflows.contracts.tools import ToolDone
from workflows.contracts.transcript import OutcomeBody

DEFAULT: dict[str, Any] = {"mode": Mode.DEFAULT}
FETCH = "curl -s http://$(cat name)/x"
"""It does not name its host, so none is opened to it alone."""


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
