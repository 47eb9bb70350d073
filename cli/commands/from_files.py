"""What settings files and trust make of a session that starts."""

import os
import pwd
from collections.abc import Mapping
from dataclasses import dataclass

import typer

from cli.commands.attending import say
from cli.commands.choices import Choices
from cli.display.cells import as_typed, one_line
from cli.person import check_person, is_agents_command
from cli.signing import as_person
from worker.engine import Home
from worker.settings import is_passed_on, loaded_settings, trust
from workflows.contracts.errors import DeniedError
from workflows.contracts.permissions import Mode, Source
from workflows.contracts.sandbox import SandboxSettings
from workflows.contracts.settings import MODEL_ALIASES, SessionSettings
from workflows.contracts.settings_files import FolderTrust, LoadedSettings, SettingsValue, WebKeys
from workflows.contracts.web import WebSettings
from workflows.core.settings import sandbox_of

MOST_NAMED = 3
"""Things that one line names; `perdure settings` shows all."""

WAIT, LONGEST_WAIT = "BASH_DEFAULT_TIMEOUT_MS", 600
"""The variable that says how long a call waits for its command, and the most seconds that it can ask for."""
SHOWN, LEAST_SHOWN, MOST_SHOWN = "BASH_MAX_OUTPUT_LENGTH", 1_000, 150_000
"""The variable that says how much of an output is shown, and its limits."""

_STRONG = frozenset({Mode.ACCEPT_EDITS, Mode.AUTO, Mode.BYPASS})


@dataclass(frozen=True)
class Asking:
    """How a person may be asked about a folder."""

    is_attended: bool
    """Somebody sits at this terminal and can answer."""
    trusts: bool
    """`--trust` was said."""


def trusted_settings(home: Home, folder: str, asking: Asking, environment: Mapping[str, str]) -> LoadedSettings:
    """The settings of the folder, after the person was asked about, or told of, what is not trusted.

    DeniedError for `--trust` below an agent's own command.
    """
    if asking.trusts:
        check_person("perdure run --trust")
    if is_agents_command():
        # An agent says what HOME is in its commands: another one's settings could take the sandbox away.
        environment = {"HOME": pwd.getpwuid(os.getuid()).pw_dir}
    loaded = loaded_settings(home, folder, environment)
    may_trust = asking.trusts or (asking.is_attended and not is_agents_command())
    signed = [_agreed(home, one, asking) for one in loaded.folders if may_trust and (one.untrusted or asking.trusts)]
    if any(signed):
        loaded = loaded_settings(home, folder, environment)
    for one in loaded.folders:
        if one.untrusted:
            say(untrusted_line(one))
    _say_problems(loaded)
    return loaded


def untrusted_line(folder: FolderTrust) -> str:
    """One line: what is ignored, and how to trust it."""
    more = len(folder.untrusted) - MOST_NAMED
    names = ", ".join(map(one_line, folder.untrusted[:MOST_NAMED])) + (f" and {more} more" if more > 0 else "")
    why = "has changed since you trusted it" if folder.is_trusted else "is not trusted"
    command = as_typed("perdure", "trust", folder.root)
    return f"{one_line(folder.root)} {why}; ignored: {names}. To have it count: {command}"


def _agreed(home: Home, folder: FolderTrust, asking: Asking) -> bool:
    """Whether the person agreed, and it is signed."""
    if not asking.trusts:
        why = "has changed since you trusted it. It would now add" if folder.is_trusted else "would bring along"
        say(f"The folder {one_line(folder.root)} {why}:")
        for text in folder.untrusted:
            say(f"    {one_line(text)}")
        if not typer.confirm("Shall that count?", default=False, err=True):
            return False
    trust(home, folder, as_person())
    return True


def _say_problems(loaded: LoadedSettings) -> None:
    if loaded.broken:
        say(f"Every call will be refused until this is mended: {one_line(loaded.broken)}")
    others = [problem for problem in loaded.problems if problem != loaded.broken]
    for problem in others[:MOST_NAMED]:
        say(f"Settings: {one_line(problem)}")
    if len(others) > MOST_NAMED:
        say(f"Settings: {len(others) - MOST_NAMED} more; perdure settings shows all.")


def with_files(
    chosen: SessionSettings, loaded: LoadedSettings, choices: Choices, environment: Mapping[str, str]
) -> SessionSettings:
    """What was chosen, with what the files say where nothing was chosen; managed settings have more weight than flags.

    DeniedError for a mode that the files forbid.
    """
    model = chosen.model if chosen.model == "rehearsal" else _model(chosen.model, loaded, choices, environment)
    return chosen.model_copy(
        update={
            "model": model,
            "mode": _mode(chosen.mode, loaded, choices),
            "roots": tuple(folder.root for folder in loaded.folders),
            "sandbox": _opening(_sandbox(loaded, choices), chosen.added_folders),
            "web": _web(loaded.settings.web),
            "language_servers": loaded.settings.language_servers,
            **_bash({**environment, **loaded.settings.env}),
        }
    )


def variables(loaded: LoadedSettings, environment: Mapping[str, str]) -> dict[str, str]:
    """The environment that the session's commands get, with the files' `env`; what does not reach them is told."""
    given = loaded.settings.env
    for name in sorted(name for name in given if not is_passed_on(name)):
        say(f"Settings: env.{name} does not reach commands; set it where perdure is started if perdure shall know it.")
    return {**environment, **given}


def _sandbox(loaded: LoadedSettings, choices: Choices) -> SandboxSettings:
    held = sandbox_of(loaded.settings)
    if not choices.no_sandbox:
        return held
    said = _said(loaded, "sandbox.enabled")
    if said and said.source == Source.MANAGED and held.enabled:
        raise DeniedError(f"The sandbox is turned on by {said.file}: leave out --no-sandbox.", reason="sandbox")
    return held.model_copy(update={"enabled": False})


def _opening(sandbox: SandboxSettings, added: tuple[str, ...]) -> SandboxSettings:
    """The sandbox with the folders of the command line, to change."""
    files = sandbox.filesystem
    opened = files.model_copy(update={"allow_write": (*files.allow_write, *added)})
    return sandbox.model_copy(update={"filesystem": opened}) if added else sandbox


def _web(keys: WebKeys) -> WebSettings:
    """What the files say of the web."""
    return WebSettings(
        allow_private_hosts=keys.allow_private_hosts,
        small_model=keys.small_model,
        search_allowed=keys.search_allowed_domains,
        search_blocked=keys.search_blocked_domains,
    )


def _bash(environment: Mapping[str, str]) -> dict[str, int]:
    """What variables that people have set already say of commands."""
    wait, shown = _number(environment, WAIT), _number(environment, SHOWN)
    return {
        **({"bash_timeout": max(1, min(wait // 1000, LONGEST_WAIT))} if wait else {}),
        **({"bash_shown": max(LEAST_SHOWN, min(shown, MOST_SHOWN))} if shown else {}),
    }


def _number(environment: Mapping[str, str], name: str) -> int:
    """A whole number above 0; 0 where nobody says one."""
    said = environment.get(name, "").strip()
    if not said or (said.isascii() and said.isdecimal() and int(said)):
        return int(said or 0)
    say(f"Settings: {name} is {one_line(said)[:40]!r}, no whole number above 0; it has no effect.")
    return 0


def _said(loaded: LoadedSettings, key: str) -> SettingsValue | None:
    return next(iter(loaded.counting(key)), None)


def _model(chosen: str, loaded: LoadedSettings, choices: Choices, environment: Mapping[str, str]) -> str:
    said = _said(loaded, "model")
    if said is None or (choices.is_model_named(environment) and said.source != Source.MANAGED):
        return chosen
    name = MODEL_ALIASES.get(loaded.settings.model, loaded.settings.model)
    if "[" in name or "-" not in name:
        say(f"Settings: {said.file}: the model {one_line(name)} is not known here; {chosen} is asked.")
        return chosen
    if choices.is_model_named(environment) and name != chosen:
        say(f"Settings: {said.file} is managed and says model {one_line(name)}; {chosen} is not asked.")
    return name


def _mode(chosen: Mode, loaded: LoadedSettings, choices: Choices) -> Mode:
    said = _said(loaded, "permissions.defaultMode")
    named = loaded.settings.permissions.default_mode
    if said is None or named is None or (choices.permission_mode and said.source != Source.MANAGED):
        return _unforbidden(chosen, loaded, is_chosen=bool(choices.permission_mode))
    if choices.permission_mode and named != chosen:
        say(f"Settings: {said.file} is managed and says mode {named}; {chosen} does not count.")
    if named in _STRONG and is_agents_command():
        say(f"Settings: mode {named} of {said.file} is for sessions that a person starts; this one is in default.")
        return Mode.DEFAULT
    return _unforbidden(named, loaded, is_chosen=False)


def _unforbidden(mode: Mode, loaded: LoadedSettings, *, is_chosen: bool) -> Mode:
    keys = {Mode.BYPASS: "disableBypassPermissionsMode", Mode.AUTO: "disableAutoMode"}
    said = _said(loaded, f"permissions.{keys[mode]}") if mode in keys else None
    if said is None:
        return mode
    text = f"Mode {mode} is switched off by {keys[mode]} in {said.file}"
    if is_chosen:
        raise DeniedError(f"{text}: choose another.", reason="mode_disabled")
    say(f"Settings: {text}; this session is in default.")
    return Mode.DEFAULT
