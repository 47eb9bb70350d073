"""Glob: find files by name."""

import asyncio
import threading
from pathlib import Path

from pydantic import Field

from activities.safety.paths import is_inside, is_own, located, named, own_findings, real
from activities.settings.left_out import LeftOut, left_out
from activities.stores.regular_files import shown
from activities.stores.walk import Walk, split_pattern, walk
from activities.tool import Call, Tool, ToolInput
from workflows.contracts.errors import ToolError
from workflows.contracts.messages import Text, clean
from workflows.contracts.permissions import Finding
from workflows.contracts.tools import Repeat, ToolOutcome

MOST = 100
NAMES_TOLD = 5
OWN_FOLDERS = {".git", ".hg", ".svn", ".jj"}


class Input(ToolInput):
    pattern: str = Field(
        min_length=1, max_length=4_000, description="Pattern for names, e.g. **/*.py or src/*.{ts,tsx}."
    )
    path: str = Field(default="", description="Folder to search in; the workspace when not given.")


class Glob(Tool[Input]):
    """Find files by name; the one changed last comes first.

    - `*` and `?` stay inside a name, `[a-z]` is one character, `**` spans folders, `{a,b}` is either. A pattern without
      a slash fits names at any depth; one with a slash starts at `path`.
    - Gives at most 100 files and says how many there are. Only files are named, not folders. Paths in the workspace
      are relative to it.
    - Hidden and git-ignored files are found too. Version control folders (.git …) are entered only if pattern or path
      names them; links to folders are not entered. What was skipped is said, with the reason.
    """

    name = "Glob"
    input = Input
    is_read_only = True
    may_run_beside_others = True
    repeat = Repeat.SAFE
    timeout = 120

    def summary(self, given: Input) -> str:
        return f"{shown(given.pattern)}" + (f" in {shown(given.path)}" if given.path else "")

    def paths(self, call: Call, given: Input) -> tuple[Path, ...]:
        return (_start(call, given),)

    def findings(self, call: Call, given: Input) -> tuple[Finding, ...]:
        return own_findings(call, self.paths(call, given))

    async def run(self, call: Call, given: Input) -> ToolOutcome:
        stop = threading.Event()
        try:
            return await asyncio.to_thread(_found, call, given, stop)
        finally:
            stop.set()


def _start(call: Call, given: Input) -> Path:
    """The folder where the walk begins: the pattern's plain leading folders belong to it."""
    folder = named(call, given.path) if given.path else call.workspace
    start, _ = split_pattern(given.pattern)
    return named(call, start if start.startswith("~") else str(folder / start))


def _found(call: Call, given: Input, stop: threading.Event) -> ToolOutcome:
    start = _start(call, given)
    root = located(call, str(start))
    if not root.is_dir():
        raise ToolError(f"{shown(start)} is {'a file' if root.exists() else 'not there'}; Glob searches in a folder.")
    _, rest = split_pattern(given.pattern)
    # A pattern that had folders in front is anchored there, also when only a name is left.
    anchored = f"./{rest}" if "/" in given.pattern else rest
    kept = left_out(call, Glob.name, [root])
    told = walk(
        root,
        anchored,
        MOST,
        avoid=lambda path: _avoided(call, given, path),
        hides=lambda path: bool(kept.rules) and kept.count(path, str(real(Path(path)))),
        stopped=stop.is_set,
    )
    outside = "" if is_inside(root, call.workspace) else f"[{shown(root)} is outside the workspace]"
    return ToolOutcome(
        content=(Text(text="\n".join(filter(None, [outside, *_lines(call, told, kept)]))),),
        data={"shown": len(told.newest), "total": told.total},
    )


def _avoided(call: Call, given: Input, path: str) -> str:
    name = path.rpartition("/")[2]
    if name in OWN_FOLDERS and name not in given.pattern:
        return "version control"
    if name == call.world.home.root.name and is_own(call, Path(path)):
        return "perdure's own"
    return ""


def _lines(call: Call, told: Walk, kept: LeftOut) -> list[str]:
    lines = [_line(call, path) for path in told.newest] or ["No files match."]
    if told.total > len(told.newest):
        lines.append(f"[{len(told.newest)} of {told.total:,} files, the newest ones: narrow the pattern to see others]")
    if told.is_cut:
        lines.append("[given up after very many names, so there may be more: start in a smaller folder]")
    lines += kept.lines()
    for reason, skipped in told.skipped.items():
        if not (paths := [path for path in skipped if not kept.is_hidden(path)]):
            continue
        more = f" and {len(paths) - NAMES_TOLD} more" if len(paths) > NAMES_TOLD else ""
        lines.append(f"[not entered, {reason}: {', '.join(_line(call, path) for path in paths[:NAMES_TOLD])}{more}]")
    return lines


def _line(call: Call, path: str) -> str:
    """A path on one line, whatever characters its name has."""
    workspace = f"{real(call.workspace)}/"
    return clean(path.removeprefix(workspace)).replace("\n", "\\n").replace("\r", "\\r")
