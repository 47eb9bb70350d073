"""perdure audit: every step of a session; verify, export."""

import asyncio
import json
import os
import sys
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from worker.engine import Home
from workflows.contracts.errors import ExitCode, UsageError

if TYPE_CHECKING:  # reading contracts takes longer than `perdure audit --help` may
    from worker.audit import Exported, Report
    from worker.audit_sources import Source
    from workflows.contracts.audit import Problem

Session = Annotated[str, typer.Argument(metavar="ID", help="The session, or the beginning of its id.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON object a line: each step, then the totals.")]
Verify = Annotated[
    bool, typer.Option("--verify", help="Check every object, signature and history; exit code 1 when one is wrong.")
]
Export = Annotated[
    Path | None, typer.Option("--export", help="Write all objects of the session, but no file's old content, to FILE.")
]
From = Annotated[Path | None, typer.Option("--from", help="Audit an export; needs no engine and no home.")]


def audit(
    session: Session = "",
    as_json: AsJson = False,
    verify: Verify = False,
    export: Export = None,
    source: From = None,
) -> None:
    """Show every step of a session: who, what, when, attempts, tokens, cost, verdicts, digests.

    Works while it runs, after it ended, without the engine, and from an export.
    """
    if bool(session) == bool(source):
        raise UsageError("Name one session, or an export with --from FILE.")
    if source and not source.exists():
        raise UsageError(f"There is no file {source}: --from names an export that perdure audit --export wrote.")
    if export and export.is_dir():
        raise UsageError(f"{export} is a folder: --export names the file to write.")
    opened = asyncio.run(_opened(session, source))
    if export is not None:
        _end(is_whole=_export(opened, export, as_json=as_json))
        return
    from worker.audit import audit as audited

    report = asyncio.run(audited(opened, verify=verify))
    if as_json:
        _print_json(report)
    else:
        _print_text(report)
    _end(is_whole=not report.problems)


def _end(*, is_whole: bool) -> None:
    if not is_whole:
        raise typer.Exit(ExitCode.FAILED)


async def _opened(session: str, path: Path | None) -> "Source":
    from worker.audit_engine import with_engine
    from worker.audit_sources import export_source, home_source

    if path is not None:
        return await export_source(path)
    home = Home.from_environment()
    return await with_engine(home_source(home, session, os.environ), home, os.environ)


def _export(opened: "Source", path: Path, *, as_json: bool) -> bool:
    """Whether everything is in the export."""
    from cli.display.cells import counted
    from worker.audit import export

    exported = asyncio.run(export(opened, path))
    if as_json:
        print(json.dumps({"kind": "export", "file": str(path), **_export_facts(exported)}, ensure_ascii=False))
        return not exported.problems
    print(f"{path}: {exported.objects:,} objects of session {opened.session}")
    if exported.left_out:
        print(f"Left out: what {counted(exported.left_out, 'file')} held before the agent changed them stays here.")
    print(f"Audit it anywhere: perdure audit --from {path} --verify")
    _complain(exported.problems)
    return not exported.problems


def _export_facts(exported: "Exported") -> dict[str, object]:
    return {
        "objects": exported.objects,
        "left_out": exported.left_out,
        "problems": [asdict(problem) for problem in exported.problems],
    }


def _print_json(report: "Report") -> None:
    for step in report.steps:
        fields = asdict(step)
        print(json.dumps({"kind": fields.pop("kind"), **fields}, ensure_ascii=False))
    last = {
        "kind": "summary",
        "session": report.session,
        "head": report.head,
        "totals": asdict(report.totals),
        "verification": asdict(report.verification) if report.verification else None,
        "verified": None if report.verification is None else not report.problems,
        "problems": [asdict(problem) for problem in report.problems],
        "notes": report.notes,
    }
    print(json.dumps(last, ensure_ascii=False))


def _print_text(report: "Report") -> None:
    from cli.display.audit import step_rows, summary_rows, verification_row
    from cli.display.cells import counted
    from cli.display.theme import Theme, wants_colour

    theme = Theme(colour=sys.stdout.isatty() and wants_colour())
    for row in summary_rows(report.session, report.head, report.totals, theme):
        print(row)
    print()
    for step in report.steps:
        for row in step_rows(step, theme):
            print(row)
    print()
    for note in report.notes:
        print(f"note: {note}")
    if report.problems:
        _complain(report.problems)
        readable = sum(step.kind != "damaged" for step in report.steps)
        print(
            f"{counted(len(report.problems), 'problem')}; {counted(readable, 'step')} can still be read, shown above."
        )
    elif report.verification:
        found = report.verification
        print(verification_row(found.entries, found.objects, found.histories, theme))


def _complain(problems: "Sequence[Problem]") -> None:
    from cli.display.cells import one_line

    for problem in problems:
        print(f"problem: {one_line(problem.line)}")
