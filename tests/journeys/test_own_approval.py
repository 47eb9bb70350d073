"""What an agent tries in order to do a person's acts, and what the audit tells of it."""

import json
import os
import shlex
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.fakes.command_line import PROGRAM, SCRUBBED, Cli, bash
from tests.fakes.held import PROJECT
from tests.fakes.stranger import home_for
from worker.engine_state import read_state
from worker.model_keys import recall, remember

pytestmark = [pytest.mark.journey, pytest.mark.timeout(180)]

ROOT = Path(__file__).parents[2]
PERDURE = f"PYTHONPATH={ROOT} {shlex.join(PROGRAM)}"
DAEMON = """
import os, sys
if os.fork(): os.wait(); sys.exit()
os.setsid()
if os.fork(): os._exit(0)
os.execve(sys.argv[1], sys.argv[1:], {name: value for name, value in os.environ.items() if name != "PERDURE_CALL"})
"""
UNSIGNED = """
import json, sys, urllib.request
url, approval, digest = open("target").read().split()
given = {"request": "mine", "approval": approval, "digest": digest, "allow": True, "by": "person"}
body = {"waitPolicy": {"lifecycleStage": "UPDATE_WORKFLOW_EXECUTION_LIFECYCLE_STAGE_COMPLETED"},
        "request": {"meta": {"updateId": "mine"}, "input": {"name": "answer", "args": [given]}}}
request = urllib.request.Request(url, json.dumps(body).encode(), {"Content-Type": "application/json"})
try:
    print(urllib.request.urlopen(request, timeout=20).read().decode())
except urllib.error.HTTPError as error:
    print(error.read().decode())
"""
FORGED = """
import os, subprocess, sys, tempfile
# A home of its own, so a key of its own; the store, host and engine of the person's.
home = tempfile.mkdtemp()
os.symlink(os.path.join(open("home").read(), "engine"), os.path.join(home, "engine"))
kept = {name: value for name, value in os.environ.items() if name != "PERDURE_CALL"}
sys.exit(subprocess.call(sys.argv[1:], env={**kept, "PERDURE_HOME": home}))
"""
STREAM = ("--unattended", "deny", "--output-format", "stream-json")
REFUSALS = ("a person's act", "is for a person", "is for a person", "s signature", "is for a person")
HELD = (*REFUSALS[:3], "servers of this machine are not reached", REFUSALS[4])
"""In the sandbox the engine is not even reached."""


@pytest.fixture(scope="module")
def started() -> Iterator[Cli]:
    with home_for(is_up=True) as home:
        yield Cli(home, home.root)


@pytest.mark.parametrize(("name", "flags", "refusals"), [("held", (), HELD), ("bare", ("--no-sandbox",), REFUSALS)])
def test_five_ways_to_approve_its_own_question_are_refused_and_each_is_in_the_audit(
    started: Cli, tmp_path: Path, name: str, flags: tuple[str, ...], refusals: tuple[str, ...]
) -> None:
    asker, agent = f"asker-{name}", f"agent-{name}"
    cli = Cli(started.home, tmp_path)
    asks = cli.scenario(replies=[bash("touch made"), "Done."])
    begun = cli("run", "--model", asks, "--detach", "--unattended", "wait", "--session-id", asker, "go")
    assert begun.returncode == 0, begun.stderr
    approval = cli.await_question(asker)
    attempts = _attempts(cli, approval, asker)
    tries = cli.scenario(replies=[*(bash(command) for command in attempts), "I give up."])
    # Wherever the project lies: its program shall be tried in the sandbox, too.
    (tmp_path / ".perdure").mkdir()
    seen = {"sandbox": {"filesystem": {"allowRead": list(PROJECT)}}}
    (tmp_path / ".perdure" / "settings.json").write_text(json.dumps(seen))
    words = ("--allowed-tools", "Bash", "--session-id", agent, "--trust")
    ended = cli("run", "--model", tries, *words, *flags, *STREAM, "go")
    assert ended.returncode == 3, ended.stderr
    steps = [json.loads(line) for line in cli("audit", agent, "--json").stdout.splitlines()]
    calls = [step for step in steps if step.get("kind") == "call"]
    assert len(calls) == len(attempts)
    assert [(call["status"], call["by"]) for call in calls] == [("denied", "finding"), *4 * [("error", "rule")]]
    refused = [line for call in calls for line in call["sandbox_told"] if "sandbox denial" in line]
    assert ("servers of this machine are not reached" in " ".join(refused)) == (name == "held")
    assert all(line in cli("audit", agent).stdout for line in refused)
    told = _results(ended.stdout)
    for sign, text in zip(refusals, told, strict=True):
        assert sign in text
    assert cli.await_question(asker) == approval
    assert not (tmp_path / "made").exists()
    assert cli("approve", asker).returncode == 0
    cli.await_state(asker, "idle")
    assert (tmp_path / "made").exists()


def test_an_agents_command_does_not_change_the_persons_key(started: Cli, tmp_path: Path) -> None:
    cli = Cli(started.home, tmp_path)
    remember(cli.home, {"ANTHROPIC_API_KEY": "of the person"})
    given = f"ANTHROPIC_API_KEY=other {PERDURE} run --detach --session-id thief hi"
    ended = cli("run", "--model", cli.scenario(replies=[bash(given), "Done."]), "--allowed-tools", "Bash", "-p", "go")
    assert ended.stdout == "Done.\n", ended.stderr
    assert recall(cli.home) == {"ANTHROPIC_API_KEY": "of the person"}


def _results(stream: str) -> list[str]:
    """Texts of the tool results, in order."""
    lines = [json.loads(line) for line in stream.splitlines()]
    blocks = [block for line in lines if line["type"] == "user" for block in line["message"]["content"]]
    return [str(block["content"]) for block in blocks if block["type"] == "tool_result"]


def _attempts(cli: Cli, approval: str, asker: str) -> list[str]:
    found: dict[str, Any] = cli.json("show", asker, "--json")["snapshot"]["approvals"][0]
    http = read_state(cli.home).ports.http
    url = f"http://127.0.0.1:{http}/api/v1/namespaces/default/workflows/session-{asker}/update/answer"
    scripts = {"daemon": DAEMON, "unsigned": UNSIGNED, "forged": FORGED}
    for name, text in scripts.items():
        (cli.folder / f"{name}.py").write_text(text)
    # In files, so that the text of the command gives neither the engine's port nor the person's folder away.
    (cli.folder / "target").write_text(f"{url} {approval} {found['digest']}")
    (cli.folder / "home").write_text(str(cli.home.root))
    python = shlex.quote(sys.executable)
    # `approve` is put together, so that the text of the command does not give it away.
    act = f"{shlex.join(PROGRAM)} app''rove {asker}"
    tidy = " ".join(f"-u {name}" for name in os.environ if name.startswith(SCRUBBED))
    return [
        f"perdure approve {asker}",
        f"{PERDURE} app''rove {asker}; exit 9",
        f"PYTHONPATH={ROOT} env {tidy} -u PERDURE_CALL {python} daemon.py {act}; sleep 6; exit 9",
        f"{python} unsigned.py; exit 9",
        f"PYTHONPATH={ROOT} {python} forged.py {act}; exit 9",
    ]
