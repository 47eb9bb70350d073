"""Held: which sandbox this machine has, and what the commands of tests get where it lacks the full one."""

import json
import os
import subprocess
import sys
from pathlib import Path

from workflows.contracts.sandbox import FilesystemRules, SandboxSettings

PROJECT = (str(Path(__file__).resolve().parents[2]), sys.prefix, sys.base_prefix)
"""What a command needs to run the project's own program, wherever that lies: the sandbox hides /tmp, for one."""

BARE = "TESTS_WITHOUT_SANDBOX"
"""Why commands of tests that are not about the sandbox run without one; each result would carry a line otherwise."""


def missing(tier: int) -> str:
    """Why this machine cannot show a tier."""
    # Loaded here, since every test asks this file for its settings.
    from activities.safety.sandbox import landlock
    from activities.safety.sandbox.programs import bubblewrap_program

    if os.uname().sysname != "Linux":
        return "not Linux"
    if tier != 1:
        return "" if landlock.version() else "the kernel has no Landlock"
    if not bubblewrap_program():
        return "bubblewrap is not installed"
    words = ("--unshare-user", "--disable-userns", "--unshare-pid", "--ro-bind", "/", "/", "--proc", "/proc", "true")
    tried = subprocess.run([bubblewrap_program(), *words], check=False, capture_output=True, timeout=20)
    return "" if not tried.returncode else tried.stderr.decode(errors="replace").strip() or "bubblewrap fails"


def usual() -> SandboxSettings:
    """The sandbox of a session in tests: the default one, or none where the full one does not work."""
    return SandboxSettings(enabled=not os.environ.get(BARE), filesystem=FilesystemRules(allow_read=PROJECT))


def write_settings(user: Path) -> None:
    """The same for sessions that the command line starts."""
    folder = user / ".config" / "perdure"
    folder.mkdir(parents=True)
    (folder / "settings.json").write_text(json.dumps({"sandbox": {"enabled": False}}))
