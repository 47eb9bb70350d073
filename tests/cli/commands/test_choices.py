"""Flags become settings, or one line that says what is wrong."""

from pathlib import Path

import pytest

from cli.commands.choices import Choices, detached_notice, folder_of, prompt_of, split_words
from worker.offline import check_tools
from workflows.contracts.errors import UsageError
from workflows.contracts.permissions import Mode, Unattended
from workflows.contracts.settings import DEFAULT_MODEL


def test_rules_keep_the_blanks_and_commas_inside_their_brackets() -> None:
    given = ["Bash(git log --format=%h,%s),Edit", "Read  Bash(echo $(date))"]
    assert split_words(given) == ["Bash(git log --format=%h,%s)", "Edit", "Read", "Bash(echo $(date))"]
    assert split_words([r"Bash(a $(b $(c))),Bash(echo \( x) Edit"]) == ["Bash(a $(b $(c)))", r"Bash(echo \( x)", "Edit"]


def test_the_flag_wins_over_our_variable_and_ours_over_the_providers() -> None:
    named = {"PERDURE_MODEL": "ours", "ANTHROPIC_MODEL": "theirs"}
    assert Choices(model="flag").named_model(named) == "flag"
    assert Choices().named_model(named) == "ours"
    assert Choices().named_model({"ANTHROPIC_MODEL": "theirs"}) == "theirs"
    assert Choices().named_model({}) == DEFAULT_MODEL


@pytest.mark.parametrize(
    ("choices", "kind"),
    [
        (Choices(), Unattended.NO),
        (Choices(detach=True), Unattended.DENY),
        (Choices(is_print=True), Unattended.DENY),
        (Choices(detach=True, unattended="wait"), Unattended.WAIT),
        (Choices(is_print=True, unattended="wait"), Unattended.WAIT),
    ],
)
def test_somebody_attends_unless_it_is_said_otherwise(choices: Choices, kind: Unattended) -> None:
    assert choices.settings({}).unattended == kind


def test_limits_become_thresholds_and_the_rest_stays() -> None:
    limits = Choices(max_turns=3, max_budget_usd=0.25, max_retries=2, fallback_model="a,b").thresholds()
    assert (limits.exchanges_per_turn, limits.budget, limits.model_attempts) == (3, 250_000, 2)
    assert limits.fallback_models == ("a", "b")
    assert Choices().thresholds().model_attempts == 10


@pytest.mark.parametrize(
    ("choices", "said"),
    [
        (Choices(permission_mode="yolo"), "bypassPermissions"),
        (Choices(unattended="maybe"), "deny or wait"),
        (Choices(allowed_tools=("Bash(ls",)), r"'Bash\(ls' is no rule, its brackets do not match"),
        (Choices(allowed_tools=("Edit,Bash(",)), r"'Bash\(' is no rule, its brackets do not match"),
        (Choices(disallowed_tools=('Bash(echo "("),Edit(x)',)), "brackets do not match"),
        (Choices(add_dirs=("/nowhere",)), "--add-dir names one that is there"),
        (Choices(max_turns=-1), "--max-turns"),
        *((Choices(max_budget_usd=odd), "--max-budget-usd is a number") for odd in (float("nan"), float("inf"))),
        *((Choices(idle_seconds=odd), "--idle-seconds is a number") for odd in (-1, float("nan"), float("inf"))),
        (Choices(fallback_model="a,b,c,d"), "at most 3"),
        (Choices(model="rehearsal:/nowhere.yaml"), "/nowhere.yaml"),
    ],
)
def test_a_wrong_choice_is_told_with_what_would_be_right(choices: Choices, said: str) -> None:
    with pytest.raises(UsageError, match=said):
        choices.scenario({}), choices.settings({}), choices.thresholds()


def test_a_scenario_makes_the_model_a_rehearsed_one_on_its_own_address() -> None:
    settings = Choices(model="rehearsal:x").settings({}, "http://127.0.0.1:1")
    assert (settings.model, settings.base_url) == ("rehearsal", "http://127.0.0.1:1")


@pytest.mark.parametrize("name", ["manual", "default", "Default"])
def test_a_mode_has_the_other_names_that_people_know(name: str) -> None:
    assert Choices(permission_mode=name).mode() == Mode.DEFAULT


def test_an_added_folder_is_a_right_that_a_person_gives(tmp_path: Path) -> None:
    choices = Choices(add_dirs=(str(tmp_path),))
    assert choices.settings({}).added_folders == (str(tmp_path.resolve()),)
    assert choices.gives_rights()
    assert not Choices().gives_rights()


def test_a_missing_folder_is_told(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no folder"):
        folder_of(str(tmp_path / "nope"))


def test_a_detached_session_says_what_changes_its_denials() -> None:
    told = detached_notice("s", Choices(detach=True, allowed_tools=("Edit",)).settings({}))
    assert "except Edit" in told
    assert "--unattended wait" in told
    wide = Choices(detach=True, permission_mode=Mode.BYPASS.value).settings({})
    assert "denied" not in detached_notice("s", wide)


@pytest.mark.parametrize("words", [[""], ["  ", "\n"]])
def test_an_empty_prompt_is_told_before_anything_else_is_looked_at(words: list[str]) -> None:
    with pytest.raises(UsageError, match="prompt is empty"):
        prompt_of(words)


def test_a_tool_that_there_is_none_of_is_wrong_usage() -> None:
    check_tools(["Bash", "Read"])
    with pytest.raises(UsageError, match="There is no tool Bahs; there are AskUserQuestion, Bash,"):
        check_tools(["Read", "Bahs"])
