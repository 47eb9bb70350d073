"""perdure hooks list, perdure hooks test: which hooks there are, and what they would decide."""

import json
import os
from typing import Annotated

import typer
from pydantic import JsonValue

from cli.commands.choices import folder_of
from cli.commands.sessions import AsJson
from cli.display.cells import one_line
from worker import hooks as found
from worker.engine import Home
from workflows.contracts.errors import ExitCode, UsageError
from workflows.contracts.extensions import HookResult
from workflows.contracts.permissions import Decision
from workflows.core.hook_answers import why


def hooks(
    action: Annotated[str, typer.Argument(metavar="list|test", help="List hooks, or run those of one event.")] = "list",
    event: Annotated[str, typer.Argument(metavar="EVENT", help="For test: the event, such as PreToolUse.")] = "",
    tool: Annotated[str, typer.Option(help="For test: the tool of the sample call.")] = "",
    given: Annotated[str, typer.Option("--input", help="For test: the call's input, or the event's facts.")] = "",
    cwd: Annotated[str, typer.Option(help="The folder; by default this one.")] = "",
    as_json: AsJson = False,
) -> int:
    """List the hooks that a session here would have, or run those of one event on a sample and show what they decide.

    `test` really runs the hooks, on this machine. Exit code 3 when they would refuse.
    """
    home, folder = Home.from_environment(), folder_of(cwd)
    if action == "list" and not event:
        _list(found.hooks_there(home, folder), as_json=as_json)
        return ExitCode.DONE
    if action != "test" or not event:
        raise UsageError("Say `perdure hooks list`, or `perdure hooks test EVENT`.")
    return _test(found.tried(home, folder, event, tool, _object(given), dict(os.environ)), event, as_json=as_json)


def _object(given: str) -> dict[str, JsonValue]:
    try:
        value = json.loads(given) if given else {}
    except ValueError as error:
        raise UsageError(f"--input is no JSON: {error}.") from error
    if not isinstance(value, dict):
        raise UsageError('--input is a JSON object, such as \'{"command": "ls"}\'.')
    return value


def _list(there: found.ListedHooks, *, as_json: bool) -> None:
    if as_json:
        rows = [{**each.rule.model_dump(mode="json"), "counts": each.counts, "why": each.why} for each in there.hooks]
        print(json.dumps({"hooks": [_without_values(row) for row in rows], "problems": there.problems}, indent=2))
        return
    if not there.hooks:
        print("No settings file names a hook.")
    for each in there.hooks:
        rule = each.rule
        condition = f" if {one_line(rule.condition)}" if rule.condition else ""
        kind = f"{rule.kind.value}{', async' if rule.is_async else ''}"
        print(f"{rule.event} [{one_line(rule.matcher) or '*'}]{condition}  {kind}: {one_line(rule.label)}")
        print(f"    {one_line(rule.source)}  {'trusted' if each.counts else f'ignored: {one_line(each.why)}'}")
    for problem in there.problems:
        typer.echo(f"Warning: {one_line(problem)}", err=True)


def _without_values(row: dict[str, object]) -> dict[str, object]:
    """Values of headers may be secret."""
    headers = row.get("headers")
    names = [header["name"] for header in headers] if isinstance(headers, list) else []
    return {**row, "headers": names} if names else row


def _test(result: HookResult, event: str, *, as_json: bool) -> int:
    refuses = result.stops or result.blocks or result.decision == Decision.DENY
    if as_json:
        print(json.dumps({**result.model_dump(mode="json"), "refuses": refuses}, indent=2))
        return ExitCode.DENIED if refuses else ExitCode.DONE
    if not result.records:
        print(f"No hook that counts matches this {event}.")
    for record in result.records:
        failed = f", failed ({record.failure})" if record.failure else ""
        ended = "" if record.exit is None else f", exit {record.exit}"
        print(f"{one_line(record.hook)}: {record.decision or 'decided nothing'}{failed}{ended}, {record.seconds:.1f} s")
        for text in (record.text, *record.told):
            if text:
                print(f"    {one_line(text)}")
    print(_decided(result, refuses=refuses))
    if result.updated_input is not None:
        print(f"New input: {one_line(json.dumps(result.updated_input, ensure_ascii=False))}")
    if result.context:
        print(f"The model would read: {one_line(result.context)}")
    return ExitCode.DENIED if refuses else ExitCode.DONE


def _decided(result: HookResult, *, refuses: bool) -> str:
    if refuses:
        return f"Refused: {one_line(why(result))}"
    if result.decision == Decision.ASK:
        return f"A person would be asked: {one_line(why(result))}"
    if result.decision == Decision.ALLOW:
        return f"Allowed without a question, unless a rule says otherwise: {one_line(why(result))}"
    return "Left to rules and mode."
