"""What settings files make of a session that starts."""

import json
from pathlib import Path
from typing import Any

import pytest

from cli.commands.choices import Choices
from cli.commands.from_files import Asking, trusted_settings, variables, with_files
from worker.engine import Home
from worker.settings import loaded_settings, trust
from workflows.contracts.errors import DeniedError
from workflows.contracts.permissions import Mode, Source
from workflows.contracts.sandbox import SandboxSettings
from workflows.contracts.settings import DEFAULT_MODEL, SessionSettings
from workflows.contracts.settings_files import LoadedSettings
from workflows.core.settings import merge, sandbox_of
from workflows.core.settings_parse import read_layer

NOBODY = Asking(is_attended=False, trusts=False)
FOLDER = {"permissions": {"allow": ["Bash(make)"], "deny": ["Bash(rm *)"]}, "model": "claude-of-the-folder"}


def loaded(**sources: Any) -> LoadedSettings:
    layers = [read_layer(json.dumps(held).encode(), Source(name), f"/{name}.json") for name, held in sources.items()]
    return merge(layers, {})


def started(files: LoadedSettings, environment: dict[str, str] | None = None, **flags: Any) -> SessionSettings:
    choices = Choices(**flags)
    return with_files(choices.settings(environment or {}), files, choices, environment or {})


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    path = tmp_path / "work/.perdure"
    path.mkdir(parents=True)
    (path / "settings.json").write_text(json.dumps(FOLDER))
    return path.parent


@pytest.fixture
def user(tmp_path: Path) -> dict[str, str]:
    return {"HOME": str(tmp_path / "user")}


@pytest.mark.parametrize(
    ("flag", "environment", "managed", "model"),
    [
        ("", {}, "", "claude-user"),
        ("", {"PERDURE_MODEL": "claude-env"}, "", "claude-env"),
        ("claude-flag", {"PERDURE_MODEL": "claude-env"}, "", "claude-flag"),
        ("claude-flag", {}, "claude-managed", "claude-managed"),
    ],
)
def test_the_model_is_the_managed_one_then_the_flags_then_the_environments_then_the_files(
    flag: str, environment: dict[str, str], managed: str, model: str
) -> None:
    files = loaded(user={"model": "claude-user"}, **({"managed": {"model": managed}} if managed else {}))
    assert started(files, environment, model=flag).model == model


def test_short_names_of_models_are_understood_and_others_are_told(capsys: pytest.CaptureFixture[str]) -> None:
    assert started(loaded(user={"model": "opus"})).model == "claude-opus-4-5"
    assert started(loaded(), model="haiku").model == "claude-haiku-4-5"
    assert started(loaded(user={"model": "opusplan"})).model == DEFAULT_MODEL
    assert "the model opusplan is not known here" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("flag", "sources", "mode"),
    [
        ("", {}, Mode.DEFAULT),
        ("", {"user": "plan"}, Mode.PLAN),
        ("acceptEdits", {"user": "plan"}, Mode.ACCEPT_EDITS),
        ("acceptEdits", {"managed": "plan", "user": "dontAsk"}, Mode.PLAN),
    ],
)
def test_the_mode_is_the_managed_one_then_the_flags_then_the_files(
    flag: str, sources: dict[str, str], mode: Mode
) -> None:
    files = loaded(**{name: {"permissions": {"defaultMode": said}} for name, said in sources.items()})
    assert started(files, permission_mode=flag).mode == mode


def test_a_mode_that_is_switched_off_cannot_be_chosen_and_is_left_out_of_files(
    capsys: pytest.CaptureFixture[str],
) -> None:
    off = {"permissions": {"disableBypassPermissionsMode": "disable", "defaultMode": "bypassPermissions"}}
    with pytest.raises(DeniedError, match=r"switched off by disableBypassPermissionsMode in /user\.json"):
        started(loaded(user=off), permission_mode="bypassPermissions")
    assert started(loaded(user=off)).mode == Mode.DEFAULT
    assert "switched off" in capsys.readouterr().err


def test_below_an_agents_command_no_file_gives_a_mode_with_more_rights(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("PERDURE_CALL", "1")
    assert started(loaded(user={"permissions": {"defaultMode": "acceptEdits"}})).mode == Mode.DEFAULT
    assert "that a person starts" in capsys.readouterr().err
    assert started(loaded(user={"permissions": {"defaultMode": "plan"}})).mode == Mode.PLAN


def test_rules_of_files_are_not_frozen_into_the_session() -> None:
    assert started(loaded(user={"permissions": {"allow": ["Edit"]}})).rules == SessionSettings().rules


def test_the_sandbox_is_the_files_and_where_they_are_silent_the_default() -> None:
    files = loaded(user={"sandbox": {"filesystem": {"denyRead": ["/x"]}, "autoAllowBashIfSandboxed": False}})
    sandbox = sandbox_of(files.settings)
    assert (sandbox.filesystem.deny_read, sandbox.auto_allow_bash_if_sandboxed) == (("/x",), False)
    assert sandbox_of(loaded().settings) == SandboxSettings()


def test_the_web_is_the_files_and_a_blocked_domain_is_no_allowed_one() -> None:
    own = {"allowPrivateHosts": ["wiki.lan"], "searchAllowedDomains": ["a.com", "b.com"]}
    files = loaded(user={"web": own}, project={"web": {"searchBlockedDomains": ["b.com"]}})
    web = started(files).web
    assert (web.allow_private_hosts, web.search_domains) == (("wiki.lan",), ("a.com",))


def test_a_private_host_of_a_folder_that_is_not_trusted_counts_for_nothing() -> None:
    assert started(loaded(project={"web": {"allowPrivateHosts": ["localhost"]}})).web.allow_private_hosts == ()


def test_additional_directories_are_open_to_commands_too() -> None:
    files = loaded(
        user={"permissions": {"additionalDirectories": ["/lib"]}, "sandbox": {"filesystem": {"allowWrite": ["/data"]}}}
    )
    assert started(files).sandbox.filesystem.allow_write == ("/data", "/lib")


def test_folders_of_the_command_line_are_open_to_commands_beside_those_of_the_files(tmp_path: Path) -> None:
    files = loaded(user={"permissions": {"additionalDirectories": ["/lib"]}})
    found = started(files, add_dirs=(str(tmp_path),))
    assert found.sandbox.filesystem.allow_write == ("/lib", str(tmp_path.resolve()))


def test_variables_of_files_reach_commands_and_those_that_do_not_are_told(capsys: pytest.CaptureFixture[str]) -> None:
    files = loaded(user={"env": {"CI": "1", "ANTHROPIC_API_KEY": "k"}})
    assert variables(files, {"CI": "0", "PATH": "/bin"})["CI"] == "1"
    said = capsys.readouterr().err
    assert "env.ANTHROPIC_API_KEY does not reach commands" in said
    assert "env.CI" not in said


def test_an_untrusted_folder_is_told_in_one_line_with_how_to_trust_it(
    home: Path, folder: Path, user: dict[str, str], capsys: pytest.CaptureFixture[str]
) -> None:
    files = trusted_settings(Home(home), str(folder), NOBODY, user)
    assert files.settings.permissions.allow == ()
    assert capsys.readouterr().err == (
        f"{folder} is not trusted; ignored: permissions.allow Bash(make), model claude-of-the-folder. "
        f"To have it count: perdure trust {folder}\n"
    )


def test_a_folder_that_changed_since_is_told_as_that(
    home: Path, folder: Path, user: dict[str, str], capsys: pytest.CaptureFixture[str]
) -> None:
    trust(Home(home), loaded_settings(Home(home), str(folder), user).folders[0], "me")
    assert trusted_settings(Home(home), str(folder), NOBODY, user).settings.model == "claude-of-the-folder"
    assert capsys.readouterr().err == ""
    (folder / ".perdure/settings.local.json").write_text('{"permissions": {"allow": ["Bash"]}}')
    trusted_settings(Home(home), str(folder), NOBODY, user)
    assert "has changed since you trusted it; ignored: permissions.allow Bash. " in capsys.readouterr().err


def test_trust_can_be_given_with_the_start_and_holds_for_the_next_one(
    home: Path, folder: Path, user: dict[str, str]
) -> None:
    for asking in (Asking(is_attended=False, trusts=True), NOBODY):
        files = trusted_settings(Home(home), str(folder), asking, user)
        assert files.settings.permissions.allow == ("Bash(make)",)


def test_an_agents_command_cannot_give_trust_with_the_start(
    home: Path, folder: Path, user: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PERDURE_CALL", "1")
    with pytest.raises(DeniedError, match="is for a person"):
        trusted_settings(Home(home), str(folder), Asking(is_attended=False, trusts=True), user)
    assert not (home / "trust").exists()


def test_a_file_that_closes_everything_is_told_first(
    home: Path, folder: Path, user: dict[str, str], capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / ".perdure/settings.json").write_text('{"permissions": {"deny": "Bash"}, "modle": 1, "statusLine": 1}')
    trusted_settings(Home(home), str(folder), NOBODY, user)
    file = folder / ".perdure/settings.json"
    assert capsys.readouterr().err.splitlines() == [
        f"Every call will be refused until this is mended: {file}: permissions.deny is no list",
        f"Settings: {file}: the key modle is not known; did you mean model?",
    ]


def test_below_an_agents_command_no_other_home_folder_counts(
    home: Path, folder: Path, user: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    own = Path(user["HOME"], ".claude/settings.json")
    own.parent.mkdir(parents=True)
    own.write_text('{"sandbox": {"enabled": false}}')
    assert trusted_settings(Home(home), str(folder), NOBODY, user).settings.sandbox.enabled is False
    monkeypatch.setenv("PERDURE_CALL", "1")
    assert str(own) not in {layer.file for layer in trusted_settings(Home(home), str(folder), NOBODY, user).layers}


@pytest.mark.parametrize(
    ("said", "seconds"), [("", 120), ("5000", 5), ("90", 1), ("99999999", 600), ("soon", 120), ("0", 120)]
)
def test_how_long_a_call_waits_for_a_command_is_what_people_set_already(
    said: str, seconds: int, capsys: pytest.CaptureFixture[str]
) -> None:
    assert started(loaded(), {"BASH_DEFAULT_TIMEOUT_MS": said}).bash_timeout == seconds
    assert started(loaded(user={"env": {"BASH_DEFAULT_TIMEOUT_MS": said}})).bash_timeout == seconds
    assert ("it has no effect" in capsys.readouterr().err) == (said in {"soon", "0"})


@pytest.mark.parametrize(("said", "shown"), [("", 30_000), ("9000", 9_000), ("5", 1_000), ("9999999", 150_000)])
def test_how_much_of_an_output_is_shown_is_what_people_set_already(said: str, shown: int) -> None:
    assert started(loaded(user={"env": {"BASH_MAX_OUTPUT_LENGTH": said}})).bash_shown == shown
