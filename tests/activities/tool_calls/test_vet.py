"""A call fits its tool, and is decided by what it is, names and finds."""

from pathlib import Path

import pytest

from activities.tool_calls.registry import find
from activities.tool_calls.vet import parse_input, refusal, vet
from tests.activities.tool_calls.stage import use, yes
from tests.fakes.world import make_call, make_world
from workflows.contracts.errors import ToolError
from workflows.contracts.permissions import Approval, Decision, Mode, Rules, Verdict
from workflows.contracts.settings import SessionSettings

ASKED = Approval(id="1.0", tool="Bash", summary="", digest="d" * 64, found="f" * 64, asked_at="")


def decided(
    folder: Path, tool_name: str, mode: Mode = Mode.DEFAULT, rules: Rules | None = None, **given: str
) -> Verdict:
    tool = find(tool_name)
    assert tool is not None
    settings = SessionSettings(rules=rules or Rules())
    call = make_call(make_world(folder), folder / "work", tool_name, settings=settings)
    return vet(call, tool, parse_input(tool, use(tool_name, **given)), mode, None)


@pytest.mark.parametrize(
    ("given", "wrong"),
    [
        ({}, "command: Field required"),
        ({"command": ["ls"]}, "command: Input should be a valid string"),
        ({"command": "ls", "cmd": "x"}, "cmd: Extra inputs"),
        ({"command": "ls", "timeout": "soon"}, "timeout: Input should be a valid integer"),
    ],
)
def test_each_thing_wrong_with_an_input_is_named(given: dict[str, object], wrong: str) -> None:
    tool = find("Bash")
    assert tool is not None
    with pytest.raises(ToolError, match="Nothing was done") as told:
        parse_input(tool, use("Bash", **given))
    assert wrong in str(told.value)


def test_a_number_written_as_text_is_taken() -> None:
    tool = find("Bash")
    assert tool is not None
    assert parse_input(tool, use("Bash", command="ls", timeout="5000")).model_dump()["timeout"] == 5000


def test_reading_inside_is_allowed_and_outside_asked(tmp_path: Path) -> None:
    assert decided(tmp_path, "Read", file_path="f").decision == Decision.ALLOW
    outside = decided(tmp_path, "Read", file_path="/etc/hosts")
    assert (outside.decision, outside.text) == (Decision.ASK, "it names a path outside the session's folder")


def test_a_link_that_leads_outside_is_outside(tmp_path: Path) -> None:
    (tmp_path / "work").mkdir()
    (tmp_path / "work/link").symlink_to("/etc")
    assert decided(tmp_path, "Read", file_path="link/hosts").decision == Decision.ASK
    assert decided(tmp_path, "Write", Mode.ACCEPT_EDITS, file_path="link/x", content="").decision == Decision.ASK


def test_a_rule_speaks_of_the_command_and_of_the_real_path(tmp_path: Path) -> None:
    assert decided(tmp_path, "Bash", rules=Rules(allow=("Bash(make:*)",)), command="make all").rule == "Bash(make:*)"
    path = str((tmp_path / "work/f").resolve())
    assert decided(
        tmp_path, "Edit", rules=Rules(deny=(f"Edit({path})",)), file_path="f", old_string="a", new_string="b"
    ).rule


def test_what_a_tool_finds_counts_even_in_bypass_mode(tmp_path: Path) -> None:
    verdict = decided(tmp_path, "Bash", Mode.BYPASS, command="perdure approve 1.0")
    assert (verdict.decision, verdict.by, verdict.rule) == (Decision.DENY, "finding", "self-protection")


def test_the_keys_are_nobodys_to_read(tmp_path: Path) -> None:
    keys = make_world(tmp_path).home.keys
    assert decided(tmp_path, "Read", Mode.BYPASS, file_path=str(keys / "person")).decision == Decision.DENY


@pytest.mark.parametrize(("allow", "decision"), [(True, Decision.ALLOW), (False, Decision.DENY)])
def test_a_persons_answer_decides(tmp_path: Path, allow: bool, decision: Decision) -> None:
    tool = find("Bash")
    assert tool is not None
    call = make_call(make_world(tmp_path), tmp_path / "work", "Bash")
    verdict = vet(call, tool, parse_input(tool, use("Bash", command="ls")), Mode.DEFAULT, yes(ASKED, allow=allow))
    assert (verdict.decision, verdict.by) == (decision, "person")


@pytest.mark.parametrize(
    ("by", "rule", "text", "told"),
    [
        ("person", "me", "not now", "The person said no: not now."),
        ("person", "me", "", "The person said no."),
        ("rule", "Bash", "rule Bash", "Denied by rule Bash."),
        ("mode", "plan", "in plan mode no file is changed", "Denied in mode plan: in plan mode no file is changed."),
        ("finding", "own-acts", "why", "Denied by the check 'own-acts': why."),
    ],
)
def test_a_refusal_says_who_and_why(by: str, rule: str, text: str, told: str) -> None:
    said = refusal(Verdict(decision=Decision.DENY, by=by, rule=rule, text=text))
    assert said.startswith(told)
    assert "did not run" in said


def test_a_monitored_command_is_judged_as_one_that_bash_runs(tmp_path: Path) -> None:
    assert decided(tmp_path, "Monitor", command="ls", description="d").decision == Decision.ALLOW
    assert decided(tmp_path, "Monitor", command="make", description="d").decision == Decision.ASK
    assert (
        decided(tmp_path, "Monitor", rules=Rules(deny=("Bash(make:*)",)), command="make all", description="d").by
        == "rule"
    )
    assert (
        decided(tmp_path, "Monitor", Mode.BYPASS, command="perdure approve 1.0", description="d").decision
        == Decision.DENY
    )


@pytest.mark.parametrize("mode", [Mode.ACCEPT_EDITS, Mode.BYPASS])
@pytest.mark.parametrize(
    ("path", "check"),
    [
        ("~/.ssh/authorized_keys", "privilege-takeover"),
        ("/etc/sudoers.d/me", "privilege-takeover"),
        ("/ETC/Passwd", "privilege-takeover"),
        ("/dev/sda", "device-write"),
        ("link", "privilege-takeover"),
    ],
)
def test_no_file_tool_writes_what_no_command_may(tmp_path: Path, path: str, check: str, mode: Mode) -> None:
    (tmp_path / "work").mkdir()
    (tmp_path / "work/link").symlink_to("/etc/shadow")
    rules = Rules(allow=("Edit",))
    found = decided(tmp_path, "Write", mode, rules, file_path=path, content="x")
    assert (found.decision, found.rule) == (Decision.DENY, check)
    assert decided(tmp_path, "Read", mode, file_path=path).decision != Decision.DENY


@pytest.mark.parametrize(
    "command", ["cat priv*/x", "cat */x", "head pr[i]vate/x", "cd sub && cat ../*/x", "cat < p*/x"]
)
def test_a_deny_rule_speaks_of_what_the_stars_of_a_command_mean(tmp_path: Path, command: str) -> None:
    for name in ("private", "sub"):
        (tmp_path / "work" / name).mkdir(parents=True)
    (tmp_path / "work/private/x").touch()
    rules = Rules(deny=("Read(./private/**)",))
    assert decided(tmp_path, "Bash", Mode.BYPASS, rules, command=command).by == "rule"
    for other in ("cat s*/x", "ls *", "cat *.md"):
        assert decided(tmp_path, "Bash", Mode.BYPASS, rules, command=other).decision == Decision.ALLOW
