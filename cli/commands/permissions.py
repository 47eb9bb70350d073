"""perdure permissions: explain what would be decided, judge and match many commands at once."""

import json
import os
import sys
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Annotated

import typer

from cli.commands.choices import Choices, folder_of
from cli.display.cells import decided_by, one_line
from workflows.contracts.errors import ExitCode, UsageError
from workflows.core.permission_rules import problem

if TYPE_CHECKING:  # the analysis takes longer to import than to print help
    from worker.offline import Explained, Setting
    from workflows.contracts.sandbox import SandboxSettings


def permissions(
    act: Annotated[str, typer.Argument(metavar="explain|check|match", help="What to do.")],
    words: Annotated[
        list[str] | None, typer.Argument(metavar="COMMAND", help="explain: a command, path or URL.")
    ] = None,
    *,
    tool: Annotated[str, typer.Option("--tool", help="explain: the tool that is called.")] = "Bash",
    mode: Annotated[str, typer.Option("--mode", help="explain: the session's permission mode.")] = "",
    jsonl: Annotated[
        str,
        typer.Option("--jsonl", metavar="FILE", help="check, match: one JSON object a line; - reads standard input."),
    ] = "",
    cwd: Annotated[str, typer.Option("--cwd", help="The folder to work in.")] = "",
    home: Annotated[str, typer.Option("--home", help="check, match: the home folder.")] = "",
    user: Annotated[str, typer.Option("--user", help="check, match: the user.")] = "",
    as_json: Annotated[bool, typer.Option("--json", help="explain: as JSON.")] = False,
) -> int:
    """Tell what would be decided about a call, and by which rule of which file; nothing is run.

    explain "git push": what a session here would decide now. check --jsonl FILE: what the analysis says of each
    {"id","command"}. match --jsonl FILE: whether each {"id","rule","as","command"} matches. check and match know no
    files and no settings: they suppose /home/dev/project, /home/dev and dev unless told otherwise.
    """
    if act == "explain":
        return _explain(" ".join(words or ()), tool, mode, cwd, as_json=as_json)
    if act not in {"check", "match"}:
        raise UsageError(f"perdure permissions does explain, check or match, not {act!r}.")
    if words or not jsonl:
        raise UsageError(
            f"perdure permissions {act} --jsonl FILE: the commands stand in a file, or - for standard input."
        )
    from worker.offline import corpus_setting, judge_lines, match_lines

    return _all(judge_lines if act == "check" else match_lines, jsonl, corpus_setting(cwd, home, user))


def _all(of: "Callable[[Iterable[bytes], Setting], Iterator[tuple[str, bool]]]", file: str, setting: "Setting") -> int:
    """Print a line for each line; those that cannot be read are told in their place, and counted at the end."""
    bad = 0
    try:
        with sys.stdin.buffer if file == "-" else open(file, "rb") as lines:  # noqa: PTH123 - either way a stream
            for told, is_read in of(lines, setting):
                print(told)
                bad += not is_read
    except BrokenPipeError:
        raise  # nobody reads on: that is no fault of the file
    except OSError as error:
        raise UsageError(f"{file} cannot be read: {error.strerror or error}.") from error
    if bad:
        typer.echo(f"{bad} line{'s' if bad > 1 else ''} could not be read; each is told in its place.", err=True)
    return ExitCode.FAILED if bad else ExitCode.DONE


def _explain(subject: str, tool: str, mode: str, cwd: str, *, as_json: bool) -> int:
    if not subject and tool == "Bash":
        raise UsageError('What is to be explained? perdure permissions explain "git push"')
    from worker.offline import explain, standpoint

    chosen, folder = Choices(permission_mode=mode).mode() if mode else None, folder_of(cwd)
    found = explain(tool, subject, chosen, standpoint(folder, sandbox=_sandbox(folder)))
    if as_json:
        print(json.dumps(_as_dict(found), indent=2))
    else:
        _show(found)
    return ExitCode.DONE


def _sandbox(folder: str) -> "SandboxSettings":
    """The sandbox of a session here; where its holding spares a question, it is found out whether it holds."""
    from worker.engine import Home
    from worker.settings import loaded_settings
    from workflows.core.settings import sandbox_of

    home = Home.from_environment()
    held = sandbox_of(loaded_settings(home, folder).settings)
    if held.enabled and held.auto_allow_bash_if_sandboxed:
        from worker.sandbox import look_once

        home.ensure()
        look_once(home, held, os.environ)
    return held


def _show(found: "Explained") -> None:
    verdict = found.verdict
    why = f": {one_line(verdict.text)}" if verdict.text not in {"", f"rule {verdict.rule}"} else ""
    print(f"{verdict.decision.value}, by {decided_by(verdict.by, one_line(verdict.rule))}{why}")
    if verdict.file or verdict.source:
        print(f"    from {one_line(verdict.file) or 'the ' + verdict.source}  ({verdict.source})")
    for reason in verdict.reasons:
        sticky = ", no rule silences it" if reason.sticky else ""
        print(f"    {reason.check} ({reason.action.value}{sticky}): {one_line(reason.text)}")
    if waiting := found.if_trusted:
        print(
            f"    {one_line(waiting.rule)} of {one_line(waiting.file)} would allow it, once you trust it: perdure trust"
        )
    for rule in found.policy.rules:
        if wrong := problem(rule.text, rule.action):
            print(f"    Warning: {one_line(wrong)}  ({one_line(rule.file) or rule.source})")
    print(f"    mode {found.mode.value}, {len(found.policy.rules)} rules, policy {found.policy.digest[:12]}")


def _as_dict(found: "Explained") -> dict[str, object]:
    verdict = found.verdict
    return {
        "decision": verdict.decision.value,
        "by": verdict.by,
        "rule": verdict.rule,
        "text": verdict.text,
        "source": verdict.source,
        "file": verdict.file,
        "mode": found.mode.value,
        "policy": found.policy.digest,
        "if_trusted": found.if_trusted.rule if found.if_trusted else "",
        "reasons": [
            {"validator": one.check, "action": one.action.value, "text": one.text, "sticky": one.sticky}
            for one in verdict.reasons
        ],
    }
