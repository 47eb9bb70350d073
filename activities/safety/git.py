"""Run git outside the sandbox, in a way that lets no repository run code of its own."""

import asyncio
import os
import shutil
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from activities.safety.paths import is_inside
from workflows.contracts.errors import ToolError

LIMIT_S = 120.0
_QUIET = (
    "core.hooksPath=/dev/null", "core.fsmonitor=false", "core.sshCommand=false", "protocol.allow=never",
    "diff.external=", "core.pager=cat", "safe.bareRepository=explicit", "submodule.recurse=false",
    "diff.submodule=short", "status.submoduleSummary=false",
)  # fmt: skip
"""Hooks, watchers and transports are programs that a repository's settings may name (spec 12 §5)."""
USUAL = "/usr/local/bin:/usr/bin:/bin:/opt/homebrew/bin"
"""Where the machine's own git lies."""
_KEPT = ("PATH", "HOME", "LANG", "TMPDIR", "XDG_CONFIG_HOME")
_FILTERS = ("config", "--includes", "--show-scope", "--name-only", "-z", "--get-regexp", r"^filter\.")
_SCOPES = {"local", "worktree"}
"""Of a repository itself; filters of the person's own stay on."""
_PROGRAMS = ("smudge", "clean", "process")
_CALM = {
    "status": ("--ignore-submodules=dirty",),
    "diff": ("--ignore-submodules=dirty", "--no-ext-diff", "--no-textconv"),
}
"""Without these it runs another git in each folder that is a repository of its own, or what attributes name."""


@dataclass(frozen=True)
class Git:
    """What one call of git gave."""

    code: int
    out: str
    error: str

    @property
    def why(self) -> str:
        """Its last line of complaint."""
        return next((line for line in reversed(self.error.splitlines()) if line.strip()), f"exit code {self.code}")


def git_program(environment: Mapping[str, str], folder: Path, usual: str = USUAL) -> str:
    """The machine's git, else the first on PATH that lies outside the folder, where it could be anybody's; or empty."""
    on_path = [each for each in environment.get("PATH", os.defpath).split(os.pathsep) if each.startswith("/")]
    for place in (*usual.split(os.pathsep), *on_path):
        found = shutil.which("git", path=place)
        if found and not any(is_inside(Path(each), folder) for each in (place, found)):
            return found
    return ""


async def git(folder: Path, environment: Mapping[str, str], *words: str, beside: Path | None = None) -> Git:
    """Run git in a folder, with the filters that its repository names switched off. Raises ToolError without git.

    What changed inside repositories below it is not looked at. `beside`: another worktree that git enters by itself.
    """
    off: list[str] = []
    for each in (folder, beside) if beside else (folder,):
        listed = await _run(each, environment, _FILTERS)
        if listed.code not in {0, 1}:  # 1 says that there are none.
            return listed
        off += _switched_off(each, listed.out)
    return await _run(folder, environment, (words[0], *_CALM.get(words[0], ()), *words[1:]), off)


def _switched_off(folder: Path, listed: str) -> list[str]:
    """The settings that switch off the filters of a list of scopes and keys. Raises ToolError where none can."""
    told = listed.split("\0")
    keys = (key.rpartition(".") for scope, key in zip(told[::2], told[1::2], strict=False) if scope in _SCOPES)
    names = sorted({name for name, _, last in keys if last in (*_PROGRAMS, "required")})
    if odd := next((name for name in names if "=" in name), ""):
        # Git would end the key of such a setting at the first `=`.
        raise ToolError(f"{folder} has a filter that cannot be switched off, so git is not run: {odd!a}. Rename it.")
    off = [f"{name}.{part}=" for name in names for part in _PROGRAMS]
    return off + [f"{name}.required=false" for name in names]


async def _run(
    folder: Path, environment: Mapping[str, str], words: tuple[str, ...], settings: Sequence[str] = ()
) -> Git:
    options = [word for setting in (*_QUIET, *settings) for word in ("-c", setting)]
    program = await asyncio.to_thread(git_program, environment, folder)
    if not program:
        raise ToolError("No git is installed here, or only one inside the session's folder, which is not run.")
    calm = {"GIT_TERMINAL_PROMPT": "0", "GIT_OPTIONAL_LOCKS": "0", "LC_ALL": "C"}
    try:
        process = await asyncio.create_subprocess_exec(
            program,
            *options,
            *words,
            cwd=folder,
            env={name: environment[name] for name in _KEPT if name in environment} | calm,
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
        )
    except OSError as error:
        raise ToolError(f"git could not be run in {folder}: {error.strerror or error}.") from error
    try:
        async with asyncio.timeout(LIMIT_S):
            out, said = await process.communicate()
    except TimeoutError as error:
        raise ToolError(f"git {words[0]} took over {LIMIT_S:g} s and was ended.") from error
    finally:
        if process.returncode is None:
            with suppress(ProcessLookupError):
                process.kill()
            await process.wait()
    return Git(process.returncode or 0, os.fsdecode(out), said.decode("utf-8", "replace"))
