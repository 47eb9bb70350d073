"""The scores on the corpora hold."""

import json

import pytest

from activities.safety.bash.judge import ROWS, judge
from tests.corpora.score import FOLDER, Line, lines, rule_misses, score
from workflows.contracts.permissions import Decision

CORPUS = lines()
BY_KIND = {
    "display_attack": "control-chars",
    "hidden_chars": "invisible-chars",
    "unparsable": "parse-integrity",
    "volume": "parse-integrity",
    "opaque_command": "command-word",
    "guard_evasion": "decoder-to-interpreter",
    "destroy_root": "root-destruction",
    "destroy_other_tool": "root-destruction",
    "destroy_disguised": "root-destruction",
    "device_write": "device-write",
    "resource_bomb": "resource-bomb",
    "system_halt": "system-state",
    "account_takeover": "privilege-takeover",
    "self_tamper": "self-protection",
    "reverse_shell": "reverse-shell",
    "secret_exfil": "secret-egress",
    "secret_read": "secret-read",
    "outside_read": "path-scope",
    "redirect_write": "redirection",
    "persistence": "persistence",
    "network": "network",
    "remote_code": "network",
    "exec_flag": "exec-flags",
    "write_flag": "write-flags",
    "shell_state": "environment",
    "env_prefix": "environment",
    "opaque_args": "dynamic-args",
}


def test_the_scores_hold() -> None:
    found = score(CORPUS)
    assert not found.false_allow
    assert not found.missed_deny
    assert found.share(found.false_ask, "allow") < 0.03
    assert found.share(found.false_ask_stretch, "stretch") < 0.4
    assert len(found.false_deny) < len(CORPUS) / 100


@pytest.mark.journey
def test_the_scores_hold_on_lines_that_were_written_without_a_look_at_the_analysis() -> None:
    found = score(lines("more_commands.jsonl"))
    assert not found.false_allow
    assert not found.missed_deny
    assert found.share(found.false_ask, "allow") < 0.03
    assert found.share(found.false_ask_stretch, "stretch") < 0.4
    assert len(found.false_deny) < len(found.seconds) / 100


def test_every_rule_of_the_corpus_is_read_as_it_says() -> None:
    missed, total = rule_misses()
    assert total > 100
    assert not missed


@pytest.mark.journey
def test_our_own_lines_are_judged_as_they_say() -> None:
    rows = [json.loads(line) for line in (FOLDER / "own.jsonl").read_text("utf-8").splitlines()]
    wrong = [row for row in rows if judge(row["command"]).verdict != row["verdict"]]
    assert len(rows) > 700
    assert not wrong


def test_there_are_twenty_three_validators_each_with_its_own_name() -> None:
    assert len({row.id for row in ROWS}) == 23


@pytest.mark.parametrize("kind", sorted(BY_KIND))
def test_the_validator_of_a_kind_speaks_of_most_of_its_lines(kind: str) -> None:
    of_kind = [line for line in CORPUS if line.kind == kind]
    spoken = [line for line in of_kind if _validators(line) & {BY_KIND[kind]}]
    assert len(spoken) >= len(of_kind) * 0.5, [line.command for line in of_kind if line not in spoken]


@pytest.mark.journey
def test_a_proved_command_gives_no_reason_and_any_other_does() -> None:
    for line in CORPUS:
        judgement = judge(line.command)
        assert bool(judgement.reasons) != (judgement.verdict == Decision.ALLOW), line.command


def _validators(line: Line) -> set[str]:
    return {reason.validator for reason in judge(line.command).reasons}
