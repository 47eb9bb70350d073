"""perdure hooks list and perdure hooks test, as a person runs them."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.fakes.command_line import Cli
from worker.engine import Home

pytestmark = pytest.mark.journey

GUARD = 'grep -q secret && { echo "no secrets" >&2; exit 2; }; exit 0'


def hook(command: str, **more: Any) -> dict[str, Any]:
    return {"type": "command", "command": command, **more}


@pytest.fixture
def cli(home: Path, tmp_path: Path) -> Cli:
    folder = tmp_path / "work"
    (folder / ".claude").mkdir(parents=True)
    return Cli(Home(home), folder, {"HOME": str(tmp_path / "user")})


def write(path: Path, **hooks: Any) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps({"hooks": hooks}))


def write_users(cli: Cli, **hooks: Any) -> None:
    write(Path(cli.more["HOME"]) / ".claude/settings.json", **hooks)


def test_hooks_are_listed_with_file_and_whether_they_count(cli: Cli) -> None:
    write_users(cli, PreToolUse=[{"matcher": "Bash", "hooks": [hook("guard", **{"if": "Bash(git *)"})]}])
    write(cli.folder / ".claude/settings.json", Stop=[{"hooks": [hook("notify"), hook("x", color="red")]}])
    listed = cli("hooks", "list")
    assert listed.returncode == 0
    own, _, persons = listed.stdout.partition("PreToolUse")
    assert own.splitlines()[0] == "Stop [*]  command: notify"
    assert "ignored: " in own.splitlines()[1]
    assert persons.splitlines()[0] == " [Bash] if Bash(git *)  command: guard"
    assert persons.splitlines()[1].endswith(".claude/settings.json  trusted")
    assert "unknown key 'color'" in listed.stderr
    assert cli("trust").returncode == 0
    assert "ignored" not in cli("hooks", "list").stdout


def test_values_of_headers_are_not_listed(cli: Cli) -> None:
    http = {"type": "http", "url": "http://127.0.0.1:9/", "headers": {"Authorization": "s3cret"}}
    write_users(cli, PreToolUse=[{"hooks": [http]}])
    shown = cli("hooks", "list", "--json").stdout + cli("hooks").stdout
    assert "Authorization" in shown
    assert "s3cret" not in shown


def test_a_sample_call_shows_what_its_hooks_would_decide(cli: Cli) -> None:
    write_users(cli, PreToolUse=[{"matcher": "Bash", "hooks": [hook(GUARD)]}])
    refused = cli("hooks", "test", "PreToolUse", "--tool", "Bash", "--input", '{"command": "echo secret"}')
    assert refused.returncode == 3
    assert "Refused: no secrets (hook grep -q secret" in refused.stdout
    fine = cli("hooks", "test", "PreToolUse", "--tool", "Bash", "--input", '{"command": "echo"}')
    assert (fine.returncode, fine.stdout.splitlines()[-1]) == (0, "Left to rules and mode.")
    other = cli("hooks", "test", "PreToolUse", "--tool", "Read", "--input", '{"file_path": "x"}')
    assert "No hook that counts matches" in other.stdout


def test_a_guard_that_fails_is_told_before_a_session_meets_it(cli: Cli) -> None:
    write_users(cli, PreToolUse=[{"hooks": [hook("./missing.sh")]}], UserPromptSubmit=[{"hooks": [hook("exit 7")]}])
    call = json.loads(
        cli("hooks", "test", "PreToolUse", "--tool", "Glob", "--input", '{"pattern": "*"}', "--json").stdout
    )
    assert (call["refuses"], call["records"][0]["failure"]) == (True, "missing")
    prompt = cli("hooks", "test", "UserPromptSubmit", "--input", '{"prompt": "hello"}')
    assert (prompt.returncode, "exit code 7" in prompt.stdout) == (3, True)
    write_users(cli, UserPromptSubmit=[{"hooks": [{"type": "prompt", "prompt": "Is it polite?"}]}])
    judged = cli("hooks", "test", "UserPromptSubmit", "--input", '{"prompt": "hello"}')
    assert (judged.returncode, "hooks are tried without a model" in judged.stdout) == (3, True)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["test"], "Say `perdure hooks list`"),
        (["tset", "Stop"], "Say `perdure hooks list`"),
        (["test", "Nothing"], "raises no event Nothing"),
        (["test", "PreCompact"], "comes with compaction"),
        (["test", "PreToolUse"], "name its tool with --tool"),
        (["test", "PreToolUse", "--tool", "Bahs"], "There is no tool Bahs"),
        (["test", "PreToolUse", "--tool", "Bash", "--input", "{"], "--input is no JSON"),
        (["test", "PreToolUse", "--tool", "Bash", "--input", "[]"], "--input is a JSON object"),
        (["test", "PreToolUse", "--tool", "Bash", "--input", "{}"], "--input does not fit"),
    ],
)
def test_a_mistake_is_one_line_that_says_what_to_do(cli: Cli, words: list[str], said: str) -> None:
    ended = cli("hooks", *words)
    assert (ended.returncode, len(ended.stderr.splitlines())) == (2, 1)
    assert said in ended.stderr


def test_hooks_of_settings_act_in_a_session_and_audit_shows_them(cli: Cli) -> None:
    write_users(cli, PreToolUse=[{"matcher": "Bash", "hooks": [hook("echo 'use make' >&2; exit 2")]}])
    model = cli.scenario(replies=[{"content": [{"tool": "Bash", "input": {"command": "date"}}]}], fallback="ok")
    ended = cli("run", "-p", "--model", model, "--permission-mode", "bypassPermissions", "--once", "go")
    try:
        assert ended.returncode == 3, ended.stderr
        session = cli.json("ls", "--all", "--json")[0]["id"]
        shown = cli("audit", session, "--verify")
        assert shown.returncode == 0, shown.stdout
        assert "PreToolUse hook echo 'use make' >&2; exit 2" in shown.stdout
        assert "deny, exit 2" in shown.stdout
        assert "use make" in shown.stdout
        write_users(cli, UserPromptSubmit=[{"hooks": [hook("echo 'not today' >&2; exit 2")]}])
        refused = cli("run", "-p", "--output-format", "json", "--model", model, "--once", "go")
        told = json.loads(refused.stdout)
        assert (refused.returncode, told["reason"]) == (3, "stopped_by_hook")
        assert "not today" in refused.stdout
    finally:
        cli("down")


def test_an_agent_that_changes_the_script_of_its_guard_is_refused_until_the_person_trusts_it_again(cli: Cli) -> None:
    guard, asked = cli.folder / "tools/guard.sh", {"tool": "Bash", "input": {"command": "echo free > made"}}
    guard.parent.mkdir()
    guard.write_text("echo 'the guard says no' >&2; exit 2\n")
    write(cli.folder / ".claude/settings.json", PreToolUse=[{"matcher": "Bash", "hooks": [hook("sh tools/guard.sh")]}])
    assert cli("trust").returncode == 0
    changed = {"tool": "Write", "input": {"file_path": "tools/guard.sh", "content": "exit 0\n"}}
    read = {"tool": "Read", "input": {"file_path": "tools/guard.sh"}}
    replies = [{"content": [each]} for each in (asked, read, changed, asked)]
    try:
        words = ("run", "-p", "--permission-mode", "bypassPermissions", "--once", "--model")
        cli(*words, cli.scenario(replies=replies, fallback="ok"), "go")
        shown = cli("audit", cli.json("ls", "--all", "--json")[0]["id"], "--verify").stdout
        assert guard.read_text() == "exit 0\n"
        assert "the guard says no" in shown
        assert "tools/guard.sh is not as it was when you trusted it" in shown
        assert f"perdure trust {cli.folder}" in shown
        assert not (cli.folder / "made").exists()
        # What the next session starts with is what the agent left: it is no more trusted.
        model = cli.scenario(replies=[{"content": [asked]}], fallback="ok")
        told = cli(*words, model, "go")
        assert "hooks.PreToolUse as tools/guard.sh is now" in told.stderr
        assert not (cli.folder / "made").exists()
        assert cli("trust").returncode == 0
        cli(*words, model, "go")
        assert (cli.folder / "made").read_text() == "free\n"
    finally:
        cli("down")


def test_a_command_in_the_sandbox_cannot_change_the_script_of_a_hook(cli: Cli) -> None:
    guard = cli.folder / "tools/guard.sh"
    guard.parent.mkdir()
    guard.write_text("exit 0\n")
    write(cli.folder / ".claude/settings.json", PreToolUse=[{"hooks": [hook("sh tools/guard.sh")]}])
    asked = {"tool": "Bash", "input": {"command": "echo 'exit 0 #' > tools/guard.sh; echo free > tools/other"}}
    try:
        model = cli.scenario(replies=[{"content": [asked]}], fallback="ok")
        cli("run", "--trust", "-p", "--permission-mode", "bypassPermissions", "--once", "--model", model, "go")
        assert guard.read_text() == "exit 0\n"
        assert (guard.parent / "other").read_text() == "free\n"
    finally:
        cli("down")
