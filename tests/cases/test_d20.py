"""D20: two hands on one run."""

import asyncio
import json
import random
import subprocess
import threading
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from cli.gateway import open_sessions
from cli.sender import Sender
from cli.signing import new_request
from tests.fakes.case_bench import Json, Play, Stage, of_kind
from tests.fakes.waiting import eventually
from workflows.contracts.errors import UserError
from workflows.contracts.session import Submit

pytestmark = pytest.mark.journey

ROUNDS = 50
TOGETHER_S = 0.05


class Watching:
    """One `perdure watch` whose lines are kept."""

    def __init__(self, stage: Stage, session: str) -> None:
        words = ("watch", session, "--output-format", "stream-json")
        self.process: subprocess.Popen[str] = stage.cli.start(*words, stderr=subprocess.DEVNULL)
        self.lines: list[Json] = []
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self) -> None:
        for line in self.process.stdout or ():
            self.lines.append(json.loads(line))

    def said(self) -> list[str]:
        """The user's lines, in the order in which they were shown."""
        return [
            text for line in list(self.lines) if line["type"] == "user" for text in texts(line["message"]["content"])
        ]

    def end(self) -> None:
        """End it."""
        self.process.terminate()
        self.process.wait(20)
        self._reader.join(10)
        if self.process.stdout:
            self.process.stdout.close()


def texts(content: Any) -> list[str]:
    if isinstance(content, str):
        return [content]
    return [block["text"] for block in content if block["type"] == "text"]


async def both_send(stage: Stage, session: str, rounds: int) -> tuple[list[str], list[str]]:
    """Two clients send a line each in the same moment, again and again; what was taken, what was refused."""
    home = stage.cli.home
    clients = [(name, await open_sessions(home, {}), Sender(home)) for name in ("left", "right")]
    taken: list[str] = []
    refused: list[str] = []

    async def send(name: str, sessions: Any, sender: Sender, number: int) -> None:
        text = f"{name} {number:02}"
        kept = await sender.prompt(text, request := new_request())
        try:
            await sessions.submit(session, Submit(request=request, digest=kept.digest, title=kept.title))
            taken.append(text)
        except UserError:
            refused.append(text)

    for number in range(rounds):
        began = time.monotonic()
        await asyncio.gather(*(send(*client, number) for client in clients))
        await asyncio.sleep(max(0.0, TOGETHER_S - (time.monotonic() - began)))
    return taken, refused


def order(lines: Sequence[Json]) -> list[str]:
    """The prompts in the order of the audit, without the first."""
    return [line["text"] for line in of_kind(lines, "prompt") if line["by"] == "person"][1:]


def test_lines_that_two_clients_send_at_once_are_taken_once_each_in_one_order_that_both_see(play: Play) -> None:
    stage = play(fallback="heard", window=4_000_000)
    session = stage.run().session
    watching = [Watching(stage, session), Watching(stage, session)]
    taken, refused = asyncio.run(both_send(stage, session, ROUNDS))
    assert len(taken) + len(refused) == 2 * ROUNDS
    eventually(lambda: stage.show(session)["snapshot"]["state"]["turns"] == 1 + len(taken), 70, "a turn each")
    stage.until(session, "idle")
    found = order(stage.audit(session))
    assert sorted(found) == sorted(taken)
    for one in watching:
        eventually(lambda one=one: len(one.said()) >= 1 + len(taken), 20, "all lines are shown")  # type: ignore[misc] # a lambda's default
        one.end()
        assert one.said()[1:] == found
    for name in ("left", "right"):
        mine = [text for text in found if text.startswith(name)]
        assert mine == sorted(mine)


def test_two_programs_that_send_at_once_are_both_answered(play: Play) -> None:
    stage = play(fallback="heard {n}")
    session = stage.run().session
    with ThreadPoolExecutor(2) as pool:
        both = list(pool.map(lambda name: stage.send(session, name), ("left", "right")))
    assert [ran.code for ran in both] == [0, 0]
    assert {ran.json["result"] for ran in both} == {"heard 1", "heard 2"}
    assert sorted(order(stage.audit(session))) == ["left", "right"]


def test_ten_clients_start_ten_sessions_at_once(play: Play) -> None:
    stage = play(fallback="hello")
    with ThreadPoolExecutor(10) as pool:
        sessions = list(pool.map(lambda n: stage.begin(prompt=f"start {n}"), range(10)))
    assert len(set(sessions)) == 10

    def idle() -> set[str]:
        return {row["id"] for row in stage.cli.json("ls", "--state", "idle", "--json")}

    eventually(lambda: idle() >= set(sessions), 60, "all are done")
    assert len(stage.asked()) == 10


def test_of_five_clients_that_start_the_same_session_one_does(play: Play) -> None:
    stage = play(fallback="hello")
    words = ("run", "--session-id", "the-same", "-p", "--output-format", "json", "hi")
    with ThreadPoolExecutor(5) as pool:
        ended = list(pool.map(lambda _: stage.cli(*words), range(5)))
    assert sorted(one.returncode for one in ended) == [0, 2, 2, 2, 2]
    assert len(stage.asked()) == 1


def test_a_client_killed_while_it_writes_the_settings_leaves_the_old_or_the_new_ones(
    play: Play, tmp_path: Path, chance: random.Random
) -> None:
    stage = play(fallback="hello")
    file = tmp_path / ".config/perdure/settings.json"
    cli = replace(stage.cli, more={**stage.cli.more, "HOME": str(tmp_path), "XDG_CONFIG_HOME": ""})
    began = time.monotonic()
    assert cli("set", "env.KILL", "0").returncode == 0
    takes, before = time.monotonic() - began, "0"
    with ThreadPoolExecutor(1) as pool:
        starting = pool.submit(lambda: [stage.begin(prompt=f"start {number}") for number in range(10)])
        for number in range(1, 101):
            writing = cli.start("set", "env.KILL", str(number))
            # Most of it is the start of the program: the moment of the write is hit more often from its middle on.
            time.sleep(chance.uniform(0.4, 1.2) * takes)
            writing.kill()
            writing.communicate()
            now = json.loads(file.read_text())
            assert now in ({"env": {"KILL": before}}, {"env": {"KILL": str(number)}})
            before = now["env"]["KILL"]
        assert len(set(starting.result())) == 10
    assert int(before) > 0
    assert cli("set", "env.KILL", "end").returncode == 0
    assert [path.name for path in file.parent.iterdir()] == ["settings.json"]
