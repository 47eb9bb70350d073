"""The bench of the cases: MODEL behind HTTP in a thread, BOX with EFFECT, and the command line in front of both."""

import asyncio
import json
import os
import subprocess
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

import psutil

from tests.fakes.command_line import PROGRAM, Cli, environment
from tests.fakes.waiting import eventually
from worker.connection import connect, resolve_address
from worker.engine import Home
from worker.health import read_health
from worker.rehearsal.record import Recorded
from worker.rehearsal.scenario import Scenario
from worker.rehearsal.server import Rehearsal, rehearse
from workflows.contracts.ids import session_workflow

Json = dict[str, Any]

WINDOW = 40_000
"""W of the cases, in tokens."""

EFFECT = """#!/bin/sh
echo "$1 $$ $(date +%s.%N)" >> "$(dirname "$0")/effects.log"
"""


class Loop:
    """An event loop in a thread of its own, for servers that answer while a test waits for a program."""

    def __init__(self) -> None:
        self.loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self.loop.run_forever, daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """End it."""
        self.loop.call_soon_threadsafe(self.loop.stop)
        self._thread.join(10)
        self.loop.close()

    @contextmanager
    def model(self, scenario: Scenario) -> Iterator[Rehearsal]:
        """A rehearsal model for as long as the block runs."""
        entered = rehearse(scenario)
        model = asyncio.run_coroutine_threadsafe(entered.__aenter__(), self.loop).result(10)
        try:
            yield model
        finally:
            asyncio.run_coroutine_threadsafe(entered.__aexit__(None, None, None), self.loop).result(10)


@dataclass(frozen=True)
class Ran:
    """One `perdure run` or `send` that has ended."""

    code: int
    out: str
    err: str
    seconds: float

    @property
    def json(self) -> Json:
        """The one object on standard output."""
        told: Json = json.loads(self.out)
        return told

    @property
    def reason(self) -> str:
        """The machine-readable reason."""
        return str(self.json["reason"])

    @property
    def session(self) -> str:
        """The session's id."""
        return str(self.json["session_id"])


@dataclass
class Stage:
    """One scenario with a BOX and a command line that leads to it."""

    model: Rehearsal
    cli: Cli
    box: Path
    words: Sequence[str] = field(default=("--permission-mode", "bypassPermissions"))

    def run(self, *words: str, prompt: str = "do it", output: str = "json", stdin: str | None = None) -> Ran:
        """One non-interactive run to its end."""
        return self._ran("run", *self.words, "-p", "--output-format", output, *words, *self._said(prompt, stdin))

    def send(self, session: str, prompt: str = "go on") -> Ran:
        """Another prompt for the session, to its end."""
        return self._ran("send", session, "-p", "--output-format", "json", prompt)

    def begin(self, *words: str, prompt: str = "do it") -> str:
        """Start a session and leave it alone; its id."""
        ended = self.cli("run", *self.words, "--detach", *words, prompt)
        assert ended.returncode == 0, ended.stderr
        return ended.stdout.strip()

    def show(self, session: str) -> Json:
        """What `perdure show` tells."""
        told: Json = self.cli.json("show", session, "--json")
        return told

    def until(self, session: str, *states: str, seconds: float = 40) -> Json:
        """Wait until lists show the session in one of these states."""

        def reached() -> Json | None:
            told = self.show(session)
            return told if told["state"] in states else None

        return eventually(reached, seconds, f"{session} in {states}")

    def audit(self, session: str, *words: str) -> list[Json]:
        """state(RUN): what the audit prints for it as JSON lines."""
        return audited(self.cli, session, *words)

    def bodies(self) -> list[Json]:
        """Every request body; each must be what a strict reader takes."""
        return [strict_json(request.body_bytes) for request in self.asked()]

    def asked(self) -> list[Recorded]:
        """The requests for a reply."""
        return [request for request in self.model.requests if request.path == "/v1/messages"]

    def results(self, number: int = -1) -> list[Json]:
        """The tool results in the last message of one request."""
        return results_of(self.bodies()[number])

    def effects(self, name: str = "") -> int:
        """How often EFFECT really happened."""
        log = self.box / "effects.log"
        lines = log.read_text().splitlines() if log.exists() else []
        return sum(1 for line in lines if not name or line.split()[0] == name)

    def worker(self) -> int:
        """RIG's worker process."""
        return read_health(self.cli.home).process.pid

    def _said(self, prompt: str, stdin: str | None) -> list[str]:
        self._stdin = stdin
        return [] if stdin is not None else [prompt]

    def _ran(self, *words: str) -> Ran:
        stdin, self._stdin = getattr(self, "_stdin", None), None
        began = time.monotonic()
        ended = subprocess.run(
            [*PROGRAM, *words], cwd=self.box, env=environment(self.cli.home.root, **self.cli.more), text=True,
            check=False, capture_output=True, timeout=80, input=stdin or "",
        )  # fmt: skip
        return Ran(ended.returncode, ended.stdout, ended.stderr, time.monotonic() - began)


class Play(Protocol):
    """Opens stages: replies in order, then the scenario's other fields; `window`, `home`, `box` for the bench."""

    def __call__(self, *replies: Any, **more: Any) -> Stage: ...


@dataclass(frozen=True)
class Engine:
    """What the engine says of one session."""

    runs: int
    """Temporal runs of its workflow, ever."""
    attempts: int
    """Attempts of its pending workflow task; 0 when none is pending."""
    status: str


async def _engine(home: Home, session: str) -> Engine:
    client = await connect(resolve_address({}, home))
    name = session_workflow(session)
    runs = [run async for run in client.list_workflows(f'WorkflowId = "{name}"')]
    told = await client.get_workflow_handle(name).describe()
    return Engine(
        len(runs), told.raw_description.pending_workflow_task.attempt, told.status.name if told.status else ""
    )


def engine_says(home: Home, session: str) -> Engine:
    """Ask it."""
    return asyncio.run(_engine(home, session))


def audited(cli: Cli, session: str, *words: str) -> list[Json]:
    """The JSON lines of `perdure audit`, whatever its exit code."""
    ended = cli("audit", session, "--json", *words)
    assert ended.stdout, ended.stderr
    return [json.loads(line) for line in ended.stdout.splitlines()]


def of_kind(lines: Sequence[Json], kind: str) -> list[Json]:
    """The audit's lines of one kind."""
    return [line for line in lines if line["kind"] == kind]


def strict_json(data: bytes) -> Json:
    """A body as JSON: valid UTF-8, and no half of a pair in any text of it."""
    told: Json = json.loads(data.decode("utf-8"))
    json.dumps(told, ensure_ascii=False).encode("utf-8")
    return told


def results_of(body: Json) -> list[Json]:
    """The tool results in the last message of a request."""
    content = body["messages"][-1]["content"]
    return [block for block in content if isinstance(block, dict) and block.get("type") == "tool_result"]


def text_of(result: Json) -> str:
    """All text of a tool result."""
    content = result.get("content", "")
    if isinstance(content, str):
        return content
    return "\n".join(block.get("text", "") for block in content)


def calls_of(body: Json) -> list[str]:
    """The ids of all tool calls in a request."""
    blocks = [block for message in body["messages"] for block in message["content"] if isinstance(block, dict)]
    return [block["id"] for block in blocks if block["type"] == "tool_use"]


def unpaired(body: Json) -> list[str]:
    """Ids of calls that have not exactly one result in the message after theirs."""
    wrong = []
    for place, message in enumerate(body["messages"]):
        asked = [block["id"] for block in message["content"] if isinstance(block, dict) and block["type"] == "tool_use"]
        if not asked:
            continue
        behind = body["messages"][place + 1]["content"] if place + 1 < len(body["messages"]) else []
        given = [block["tool_use_id"] for block in behind if block["type"] == "tool_result"]
        wrong += [one for one in asked if given.count(one) != 1]
    return wrong


def tagged(tag: str) -> list[psutil.Process]:
    """The processes that carry TAG in their environment."""
    found = []
    for process in psutil.process_iter():
        try:
            if process.pid != os.getpid() and process.environ().get("TAG") == tag:
                found.append(process)
        except psutil.Error:
            continue
    return [process for process in found if process.is_running() and process.status() != psutil.STATUS_ZOMBIE]


def end_tagged(tag: str) -> None:
    """End what a case of this tag left."""
    for process in tagged(tag):
        process.kill()


def bash(command: str, **more: Any) -> Json:
    """A call of the shell."""
    return {"tool": "Bash", "input": {"command": command, **more}}


def reply(*blocks: Json | str, **more: Any) -> Json:
    """A reply of these blocks."""
    return {"content": [{"text": block} if isinstance(block, str) else block for block in blocks], **more}


def make_box(folder: Path) -> Path:
    """BOX: a fresh git repository with the EFFECT command."""
    subprocess.run(["git", "init", "-q", str(folder)], check=True, timeout=20, capture_output=True)
    effect = folder / "effect"
    effect.write_text(EFFECT)
    effect.chmod(0o755)
    return folder
