"""perdure permissions: explain, check and match, without an engine and without the SDK."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.fakes.command_line import Cli, environment
from tests.fakes.held import missing
from worker.engine import Home

pytestmark = pytest.mark.journey


@pytest.fixture
def cli(tmp_path: Path) -> Cli:
    folder = tmp_path / "work"
    folder.mkdir()
    user = str(tmp_path / "user")
    return Cli(Home(tmp_path / "home"), folder, {"HOME": user, "XDG_CONFIG_HOME": f"{user}/.config"})


def test_an_explanation_names_decision_rule_and_file(cli: Cli) -> None:
    file = cli.folder / ".perdure/settings.json"
    file.parent.mkdir()
    file.write_text(json.dumps({"permissions": {"deny": ["Bash(git push:*)"]}}))
    shown = cli("permissions", "explain", "git push origin")
    assert shown.returncode == 0, shown.stderr
    assert shown.stdout.startswith("deny, by rule Bash(git push:*)")
    assert str(file) in shown.stdout
    told = cli.json("permissions", "explain", "make", "--json")
    assert (told["decision"], told["by"]) == ("ask", "mode")
    assert {reason["validator"] for reason in told["reasons"]}


def test_a_rule_that_waits_for_trust_is_told_where_it_would_allow(cli: Cli) -> None:
    file = cli.folder / ".perdure/settings.json"
    file.parent.mkdir()
    file.write_text(json.dumps({"permissions": {"allow": ["Bash(make:*)"], "ask": ["Bash(make clean)"]}}))
    told = cli("permissions", "explain", "make all").stdout
    assert told.startswith("ask, by mode default")
    assert f"Bash(make:*) of {file} would allow it, once you trust it: perdure trust" in told
    assert "trust" not in cli("permissions", "explain", "make clean").stdout
    assert cli("trust").returncode == 0
    assert cli("permissions", "explain", "make all").stdout.startswith("allow, by rule Bash(make:*)")


@pytest.mark.parametrize(
    ("words", "decision"),
    [
        (("src/a.py", "--tool", "Read"), "allow"),
        (("/etc/shadow", "--tool", "Read"), "ask"),
        (("src/a.py", "--tool", "Edit"), "ask"),
        (("src/a.py", "--tool", "Edit", "--mode", "acceptEdits"), "allow"),
        (("src/a.py", "--tool", "Edit", "--mode", "plan"), "deny"),
        ((".git/config", "--tool", "Write", "--mode", "acceptEdits"), "ask"),
        (("~/.ssh/authorized_keys", "--tool", "Edit", "--mode", "bypassPermissions"), "deny"),
        (("make", "--mode", "dontAsk"), "deny"),
        (("make", "--mode", "bypassPermissions"), "allow"),
        (("rm -rf ~", "--mode", "bypassPermissions"), "deny"),
        (("", "--tool", "mcp__git__push"), "ask"),
        (("weather", "--tool", "WebSearch", "--mode", "bypassPermissions"), "deny"),
    ],
)
def test_a_call_of_any_tool_in_any_mode_is_explained(cli: Cli, words: tuple[str, ...], decision: str) -> None:
    assert cli.json("permissions", "explain", *words, "--json")["decision"] == decision


@pytest.mark.parametrize("tool", ["Read", "Grep", "Write"])
def test_the_keys_of_perdure_are_explained_as_out_of_reach_in_every_mode(cli: Cli, tool: str) -> None:
    path = str(cli.home.root / "keys/person.key")
    told = cli.json("permissions", "explain", path, "--tool", tool, "--mode", "bypassPermissions", "--json")
    assert (told["decision"], told["rule"]) == ("deny", "own-files")


@pytest.mark.parametrize(
    ("command", "keys", "decided"),
    [
        ("touch made", {}, ("allow", "sandbox")),
        ("touch made", {"autoAllowBashIfSandboxed": False}, ("ask", "mode")),
        ("touch made", {"enabled": False}, ("ask", "mode")),
        ("touch made", {"excludedCommands": ["touch:*"]}, ("ask", "mode")),
        ("touch denied", {}, ("deny", "rule")),
        ("touch asked", {}, ("ask", "rule")),
        ("echo ': x' >> ~/.bashrc", {}, ("ask", "finding")),
    ],
)
def test_what_the_full_sandbox_holds_is_explained_as_it_would_be_decided(
    cli: Cli, command: str, keys: dict[str, object], decided: tuple[str, str]
) -> None:
    rules = {"deny": ["Bash(touch denied)"], "ask": ["Bash(touch asked)"]}
    file = Path(cli.more["XDG_CONFIG_HOME"], "perdure/settings.json")
    file.parent.mkdir(parents=True)
    file.write_text(json.dumps({"permissions": rules, "sandbox": {"enabled": True, **keys}}))
    if decided[1] == "sandbox" and (why := missing(1)):
        pytest.skip(f"no full sandbox here: {why}")
    told = cli.json("permissions", "explain", command, "--json")
    assert (told["decision"], told["by"]) == decided


def test_many_commands_are_judged_from_a_file_or_from_standard_input(cli: Cli) -> None:
    lines = '{"id": 1, "command": "ls"}\nno json\n{"id": 2, "command": "rm -rf /"}\n'
    (cli.folder / "lines").write_text(lines)
    for ended in (
        cli("permissions", "check", "--jsonl", "lines"),
        cli("permissions", "check", "--jsonl", "-", stdin=lines),
    ):
        assert ended.returncode == 1
        rows = [json.loads(line) for line in ended.stdout.splitlines()]
        assert [row.get("verdict") for row in rows] == ["allow", None, "deny"]
        assert rows[1]["line"] == 2
        assert "1 line could not be read" in ended.stderr


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("explain",), "What is to be explained?"),
        (("explain", "x", "--tool", "Frob"), "There is no tool 'Frob'"),
        (("explain", "x", "--mode", "wild"), "no permission mode 'wild'"),
        (("check",), "--jsonl FILE"),
        (("match", "--jsonl", "nothing-here"), "cannot be read"),
        (("guess",), "explain, check or match"),
    ],
)
def test_a_wrong_call_is_told_in_one_line(cli: Cli, words: tuple[str, ...], told: str) -> None:
    ended = cli("permissions", *words)
    assert ended.returncode == 2
    assert told in ended.stderr
    assert ended.stderr.count("\n") == 1


def test_neither_temporal_nor_the_sdk_is_imported_on_the_way(cli: Cli) -> None:
    program = (
        "import sys\nfrom cli.app import main\ncode = main()\n"
        "print([name for name in ('temporalio', 'anthropic') if name in sys.modules], code)"
    )
    for words in (("check", "--jsonl", "-"), ("explain", "ls")):
        ended = subprocess.run(
            [sys.executable, "-c", program, "permissions", *words], input='{"id": 1, "command": "ls"}\n', text=True,
            capture_output=True, check=True, cwd=cli.folder, env=environment(cli.home.root, **cli.more), timeout=60,
        )  # fmt: skip
        assert ended.stdout.splitlines()[-1] == "[] 0"


def test_a_judging_whose_reader_went_away_ends_quietly(cli: Cli) -> None:
    file = cli.folder / "many.jsonl"
    file.write_text(
        "".join(json.dumps({"id": str(number), "command": f"rm {number}"}) + "\n" for number in range(3000))
    )
    with cli.start("permissions", "check", "--jsonl", str(file)) as judging:
        assert judging.stdout is not None
        assert judging.stderr is not None
        assert '"id": "0"' in judging.stdout.readline()
        judging.stdout.close()
        told = judging.stderr.read()
        assert (judging.wait(timeout=60), told) in {(1, ""), (141, "")}
