"""Is this path inside the workspace? And which paths nobody's tool may touch."""

import os
from contextlib import suppress
from pathlib import Path

from activities.safety.bash.paths import is_account, is_device
from activities.safety.bash.setting import Setting
from activities.stores.home import Home
from activities.stores.regular_files import find_shown, shown
from activities.tool import Call
from workflows.contracts.errors import ToolError
from workflows.contracts.messages import clean
from workflows.contracts.permissions import Decision, Finding
from workflows.core.rule_matching import Asked


def named(call: Call, text: str) -> Path:
    """The path that the model named, absolute, links not followed; never raises, so that permissions can be asked.

    A name that stands for one with bytes that are no UTF-8 is that one here already: what is asked is what is done.
    """
    try:
        os.fsencode(text)
    except UnicodeEncodeError:
        text = clean(text)
    try:
        path = call.path(text)
    except RuntimeError:  # `~name` of a user that is not there
        path = Path(call.workspace, text)
    with suppress(ToolError):
        return find_shown(path)
    return path


def real(path: Path) -> Path:
    """The path with every link followed and every `..` taken away, as far as it exists."""
    try:
        return Path(os.path.realpath(path))
    except (OSError, ValueError):
        return Path(os.path.normpath(path))


def is_inside(path: Path, folder: Path) -> bool:
    """Whether a path, links followed, is the folder or below it."""
    return real(path).is_relative_to(real(folder))


def located(call: Call, text: str) -> Path:
    """The real path to work on. Raises ToolError for what names nothing, and for the agent's own files."""
    if not text.strip() or "\0" in text:
        raise ToolError(f"{clean(text)!r} is not a path. Give an absolute path, or one relative to {call.workspace}.")
    path = real(find_shown(named(call, text)))
    if is_own(call, path):
        raise ToolError(f"{shown(path)} belongs to perdure itself and stays out of reach of its tools.")
    if call.leads is not None and path not in call.leads:
        raise ToolError(
            f"{shown(named(call, text))} leads to {shown(path)} now, and led elsewhere when the call was allowed. "
            "Nothing was done; make the call again if that is meant."
        )
    return path


def leads_of(call: Call, paths: tuple[Path, ...]) -> tuple[Path, ...]:
    """Where the paths of a call lead, as they are judged: as it was seen once, else now."""
    return tuple(map(real, paths)) if call.leads is None else call.leads


def is_own(call: Call, path: Path) -> bool:
    """Whether a path lies in PERDURE_HOME: keys, journal and chain are no agent's to read or write.

    Its memory is, and the session's own plan.
    """
    return _is_of(call.world.home, path) and not is_plan(call, path)


def is_plan(call: Call, path: Path) -> bool:
    """Whether a path, links followed, is the session's plan file."""
    return real(path) == real(call.world.home.plan(call.session))


def own_findings(call: Call, paths: tuple[Path, ...]) -> tuple[Finding, ...]:
    """Denies each path inside PERDURE_HOME."""
    return home_findings(call.world.home, tuple(path for path in paths if not is_plan(call, path)))


def home_findings(home: Home, paths: tuple[Path, ...]) -> tuple[Finding, ...]:
    """Denies each path inside this home, but for its memory."""
    return tuple(
        Finding(
            check="own-files",
            action=Decision.DENY,
            text=f"{shown(path)} belongs to perdure itself and stays out of reach of its tools.",
        )
        for path in paths
        if _is_of(home, path)
    )


def edit_findings(asked: Asked) -> tuple[Finding, ...]:
    """Denies an edit of what no command may write either: files that decide who may log in, devices."""
    if not asked.edits_files:
        return ()
    setting = Setting(workspace=asked.bases.cwd, home=asked.bases.home, extra_folders=asked.folders)
    found = (_ruinous(path, setting) for named_path in asked.paths for path in named_path.both)
    return tuple(dict.fromkeys(finding for finding in found if finding))


def _ruinous(path: str, setting: Setting) -> Finding | None:
    if is_account(path, setting):
        text = f"it writes {clean(path)}, which decides who may log in"
        return Finding(check="privilege-takeover", action=Decision.DENY, text=text)
    if is_device(path):
        text = f"it writes {clean(path)}, below every file system"
        return Finding(check="device-write", action=Decision.DENY, text=text)
    return None


def _is_of(home: Home, path: Path) -> bool:
    return is_inside(path, home.root) and not is_inside(path, home.memory)
