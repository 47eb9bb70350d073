"""D09: wildcards mean one documented thing, and what is explained is what is decided."""

import json
from pathlib import Path

import pytest

from tests.fakes.case_bench import Json, Play, Stage, bash, of_kind, reply

pytestmark = [pytest.mark.journey, pytest.mark.timeout(180)]

RULES = {"deny": ["Bash(grep * /etc/*)"], "allow": ["Bash(grep:*)", "Bash(mkdir -p build/*)"]}
ORDER = {"allow": ["Bash(git status*)"], "ask": ["Bash(*)"]}
STARRED, LATER = 'grep -n "a.*b" /mnt/f.txt', 'grep -n "a; ./effect x; b" /mnt/f.txt'
DEFAULT = ("--permission-mode", "default", "--unattended", "deny")

TABLE = {
    "grep root /etc/passwd": ("deny", "rule", "Bash(grep * /etc/*)"),
    "grep -r x /etc/ssh/": ("deny", "rule", "Bash(grep * /etc/*)"),
    "grep root /etc//passwd": ("deny", "rule", "Bash(grep * /etc/*)"),
    "cd /etc && grep root passwd": ("ask", "mode", "default"),
    "mkdir -p build/a/b": ("allow", "rule", "Bash(mkdir -p build/*)"),
    "grep x /mnt/f.txt": ("allow", "rule", "Bash(grep:*)"),
}


def stage_with(play: Play, rules: Json, commands: list[str]) -> Stage:
    """A folder with these rules, which the person trusts, and a model that tries these commands."""
    stage = play(reply(*(bash(command) for command in commands)), "done")
    stage.words = DEFAULT
    folder = stage.box / ".perdure"
    folder.mkdir()
    (folder / "settings.json").write_text(json.dumps({"permissions": rules}))
    trusted = stage.cli("trust", str(stage.box))
    assert trusted.returncode == 0, trusted.stderr
    return stage


def explained(stage: Stage, command: str) -> tuple[str, str, str]:
    """What the product says that it would decide."""
    told: Json = stage.cli.json("permissions", "explain", command, "--json", "--mode", "default")
    return told["decision"], told["by"], told["rule"]


def decided(stage: Stage, *words: str) -> list[tuple[str, str, str]]:
    """What was decided about each call of a session; where nobody could be asked, that it would have been."""
    calls = of_kind(stage.audit(stage.run(*words).session), "call")
    return [_as_explained(call) for call in calls]


def _as_explained(call: Json) -> tuple[str, str, str]:
    decision = "deny" if call["status"] == "denied" else "allow"
    return ("ask", "", "") if call["by"] == "unattended" else (decision, call["by"], call["rule"])


def _agree(told: tuple[str, str, str], real: tuple[str, str, str]) -> bool:
    return told[0] == real[0] == "ask" or told == real


def test_each_command_is_decided_as_the_table_and_the_explanation_say(play: Play) -> None:
    stage = stage_with(play, RULES, list(TABLE))
    told = [explained(stage, command) for command in TABLE]
    assert told == list(TABLE.values())
    calls = of_kind(stage.audit(stage.run().session), "call")
    real = [_as_explained(call) for call in calls]
    assert len(real) == len(TABLE)
    assert all(_agree(one, other) for one, other in zip(told, real, strict=True)), (told, real)
    assert (stage.box / "build/a/b").is_dir()
    assert calls[0]["file"] == str(stage.box / ".perdure/settings.json")
    assert stage.effects() == 0


def test_a_rule_that_asks_comes_before_one_that_allows(play: Play) -> None:
    stage = stage_with(play, ORDER, ["git status"])
    assert explained(stage, "git status") == ("ask", "rule", "Bash(*)")
    assert decided(stage) == [("ask", "", "")]


def test_a_star_in_a_saved_command_stays_a_star(play: Play) -> None:
    stage = stage_with(play, {}, [STARRED])
    asked = stage.begin("--permission-mode", "default", "--unattended", "wait")
    question = stage.cli.await_question(asked)
    saved = stage.cli("approve", asked, question, "--always")
    assert saved.returncode == 0, saved.stderr
    assert 'Bash(grep -n "a.\\*b" /mnt/f.txt)' in saved.stdout
    stage.until(asked, "idle")
    (call,) = of_kind(stage.audit(asked), "call")
    assert (call["decision"], call["by"]) == ("allow", "person")
    local = json.loads(Path(stage.box, ".perdure/settings.local.json").read_text())
    assert local["permissions"]["allow"] == ['Bash(grep -n "a.\\*b" /mnt/f.txt)']
    later = play(reply(bash(LATER), bash(STARRED)), "done", box=stage.box)
    later.words = DEFAULT
    told = [explained(later, command) for command in (LATER, STARRED)]
    assert [one[0] for one in told] == ["ask", "allow"]
    real = decided(later)
    assert all(_agree(one, other) for one, other in zip(told, real, strict=True)), (told, real)
    assert later.effects() == 0
