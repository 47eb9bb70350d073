"""A folder's own settings in a real session: ignored, trusted, changed, forged, and told in the first entry."""

import json
import os
import secrets
import shlex
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.fakes.case_terminal import InTerminal
from tests.fakes.command_line import PROGRAM, Cli, bash, environment
from tests.fakes.rig import Rig, Talk, played
from tests.fakes.stranger import home_for
from tests.fakes.waiting import eventually
from worker.settings import loaded_settings, trust
from workflows.contracts.permissions import Decision, Mode, Verdict
from workflows.contracts.transcript import NoticeBody

pytestmark = [pytest.mark.journey, pytest.mark.timeout(180)]

ALONE: dict[str, Any] = {"unattended": "deny", "sandbox": {"auto_allow_bash_if_sandboxed": False}}
"""Nobody attends, and no sandbox makes a question needless."""

FORGER = """
import hashlib, json, os, sys
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

way, folder, grants = sys.argv[1], sys.argv[2], sorted(sys.argv[3:])

def canonical(value):
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode()

def said(*parts):
    return b"".join(f"{len(part.encode())}:".encode() + part.encode() for part in parts)

home = os.environ["PERDURE_HOME"]
os.makedirs(os.path.join(home, "trust"), exist_ok=True)
path = os.path.join(home, "trust", hashlib.sha256(os.fsencode(folder)).hexdigest()[:32] + ".json")
digest = hashlib.sha256(canonical(grants)).hexdigest()
record = {"folder": folder, "grants": grants, "digest": digest, "id": "0" * 16, "at": "2026-01-01", "by": "person"}
others = [os.path.join(home, "trust", name) for name in os.listdir(os.path.join(home, "trust"))]
genuine = [json.load(open(one)) for one in others if one != path and one.endswith(".json")]
if way == "own key":
    bytes_ = said("", "trust", folder, digest, record["id"], record["at"], record["by"])
    record["signature"] = Ed25519PrivateKey.generate().sign(bytes_).hex()
elif way == "of another folder":
    record = {**genuine[0], "folder": folder}
elif way == "with more in it":
    record = {**genuine[0], "folder": folder, "grants": grants, "digest": digest}
with open(path, "w") as file:
    json.dump(record, file)
print("forged", way)
"""


def settings(folder: Path, name: str = "settings.json", **permissions: list[str]) -> None:
    (folder / ".perdure").mkdir(exist_ok=True)
    (folder / ".perdure" / name).write_text(json.dumps({"permissions": permissions}))


def trusted(rig: Rig, folder: Path) -> None:
    """As `perdure trust` does."""
    for one in loaded_settings(rig.home, str(folder)).folders:
        trust(rig.home, one, "tester")


async def verdict(talk: Talk, turns: int) -> Verdict:
    """Of the newest call, once that many turns are over."""
    await talk.when(lambda now: now.state.turns == turns and now.state.turn is None, 60, f"turn {turns}")
    return (await talk.outcomes())[-1].verdict


async def test_trust_given_during_a_session_acts_on_its_next_call_and_a_later_change_waits(
    rig: Rig, tmp_path: Path
) -> None:
    settings(tmp_path, allow=["Bash(touch one)"], deny=["Bash(touch never)"])
    calls = ["touch one", "touch one", "touch two", "touch one", "touch never"]
    replies = [reply for call in calls for reply in (bash(call), "Next.")]
    async with played({"replies": replies}) as model:
        talk = await rig.start(model, cwd=tmp_path, mode=Mode.DEFAULT, settings=ALONE, once=False)
        assert (await verdict(talk, 1)).by == "unattended"
        trusted(rig, tmp_path)
        await talk.send("again")
        second = await verdict(talk, 2)
        assert (second.decision, second.by, second.rule) == (Decision.ALLOW, "rule", "Bash(touch one)")
        assert second.file == str(tmp_path / ".perdure/settings.json")
        settings(tmp_path, "settings.local.json", allow=["Bash(touch two)"])
        await talk.send("and the new one")
        assert (await verdict(talk, 3)).by == "unattended"
        await talk.send("the old one still counts")
        assert (await verdict(talk, 4)).decision == Decision.ALLOW
        await talk.send("and the deny rule")
        fifth = await verdict(talk, 5)
        assert (fifth.decision, fifth.rule) == (Decision.DENY, "Bash(touch never)")
        assert sorted(path.name for path in tmp_path.iterdir()) == [".perdure", "one"]
        await talk.close()
        await talk.result()


async def test_no_record_that_an_agent_forges_lets_a_folders_rules_count(rig: Rig, tmp_path: Path) -> None:
    other, folder = tmp_path / "other", tmp_path / "work"
    for one in (other, folder):
        one.mkdir()
        settings(one, allow=["Bash(touch one)"])
    trusted(rig, other)
    (grants,) = (one.grants for one in loaded_settings(rig.home, str(folder)).folders)
    (folder / "forge.py").write_text(FORGER)
    for way in ("unsigned", "own key", "of another folder", "with more in it"):
        forge = shlex.join([sys.executable, "forge.py", way, str(folder), *grants])
        async with played({"replies": [bash(forge), "Forged."]}) as model:
            agent = await rig.start(model, cwd=folder)
            await agent.result()
        async with played({"replies": [bash("touch one"), "Done."]}) as model:
            talk = await rig.start(model, cwd=folder, mode=Mode.DEFAULT, settings=ALONE)
            (outcome,) = await talk.outcomes((await talk.result()).head)
        assert outcome.verdict.by == "unattended", way
    assert not (folder / "one").exists()


async def test_a_file_whose_deny_rules_cannot_be_read_refuses_every_call_until_it_is_mended(
    rig: Rig, tmp_path: Path
) -> None:
    (tmp_path / ".perdure").mkdir()
    (tmp_path / ".perdure/settings.json").write_text('{"permissions": {"deny": "Bash"}}')
    async with played({"replies": [bash("touch one"), "Refused.", bash("touch one"), "Done."]}) as model:
        talk = await rig.start(model, cwd=tmp_path, once=False)
        first = await verdict(talk, 1)
        assert first.decision == Decision.DENY
        assert f"{tmp_path}/.perdure/settings.json: permissions.deny is no list" in first.text
        settings(tmp_path)
        await talk.send("mended")
        assert (await verdict(talk, 2)).decision == Decision.ALLOW
        await talk.close()
        await talk.result()


async def test_the_first_entry_tells_files_trust_and_what_is_ignored(rig: Rig, tmp_path: Path) -> None:
    settings(tmp_path, allow=["Bash(secret-word)"])
    (tmp_path / ".mcp.json").write_text('{"mcpServers": {"s": {"command": "x", "env": {"TOKEN": "secret-word"}}}}')
    async with played({"replies": ["Hi."]}) as model:
        talk = await rig.start(model, cwd=tmp_path)
        head = (await talk.result()).head
    opened = (await talk.links(head))[0].entry.body
    assert isinstance(opened, NoticeBody)
    (told,) = [one for one in opened.data["trust"] if isinstance(one, dict)]  # type: ignore[union-attr] # a list
    assert (told["folder"], told["is_trusted"]) == (str(tmp_path), False)
    assert told["ignored"] == ["permissions.allow", "mcpServers.s"]
    assert {"file": str(tmp_path / ".perdure/settings.json"), "source": "project"} in opened.data["settings_files"]  # type: ignore[operator] # a list
    assert "secret-word" not in json.dumps(opened.data)


@pytest.fixture(scope="module")
def started() -> Iterator[Cli]:
    with home_for(is_up=True) as home:
        yield Cli(home, home.root)


@pytest.fixture
def cli(started: Cli, tmp_path: Path) -> Cli:
    folder = tmp_path / "work"
    folder.mkdir()
    settings(folder, allow=["Bash(touch one)"])
    off = {"sandbox": {"autoAllowBashIfSandboxed": False}}
    (tmp_path / "user/.claude").mkdir(parents=True)
    (tmp_path / "user/.claude/settings.json").write_text(json.dumps(off))
    return Cli(started.home, folder, {"HOME": str(tmp_path / "user")})


def test_a_run_says_what_is_ignored_and_with_trust_the_rule_counts(cli: Cli) -> None:
    model = cli.scenario(replies=[bash("touch one"), "Done."])
    ignored = cli("run", "--model", model, "-p", "go")
    assert f"{cli.folder} is not trusted; ignored: permissions.allow Bash(touch one)." in ignored.stderr
    assert f"perdure trust {cli.folder}" in ignored.stderr
    assert (ignored.returncode, (cli.folder / "one").exists()) == (3, False)
    given = cli("run", "--model", cli.scenario(replies=[bash("touch one"), "Done."]), "--trust", "-p", "go")
    assert (given.returncode, given.stdout, (cli.folder / "one").exists()) == (0, "Done.\n", True)
    assert "is not trusted" not in given.stderr


@pytest.mark.parametrize(("key", "is_made"), [(b"y\n", True), (b"n\n", False)])
def test_who_attends_is_asked_and_the_answer_counts(cli: Cli, key: bytes, is_made: bool) -> None:
    words = ("run", "--model", cli.scenario(replies=[bash("touch one"), "Done."]), "--once", "--permission-mode")
    command = [*PROGRAM, *words, "dontAsk", "--session-id", f"t{secrets.token_hex(4)}", "go"]
    terminal = InTerminal(command, cli.folder, environment(cli.home.root, TERM="xterm", **cli.more), columns=200)
    try:
        eventually(lambda: "Shall that count?" in terminal.shown(), 60, "the question")
        assert f"The folder {cli.folder} would bring along:" in terminal.shown()
        os.write(terminal._ours, key)
        terminal.wait(90)
    finally:
        terminal.end()
    assert (cli.folder / "one").exists() == is_made
    assert ("ignored: permissions.allow" in terminal.shown()) == (not is_made)
