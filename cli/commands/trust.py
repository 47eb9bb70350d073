"""perdure trust: let the settings of a folder count, take that back, list what is trusted."""

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Annotated

import typer

from cli.commands.choices import folder_of
from cli.commands.sessions import AsJson
from cli.display.cells import one_line
from cli.person import check_person
from cli.signing import as_person
from worker import settings
from worker.engine import Home
from workflows.contracts.errors import UsageError
from workflows.contracts.settings_files import FolderTrust, LoadedSettings

Folder = Annotated[str, typer.Argument(metavar="FOLDER", help="The folder; by default this one.")]


def trust(
    folder: Folder = "",
    revoke: Annotated[bool, typer.Option("--revoke", help="Trust it no more.")] = False,
    list_all: Annotated[bool, typer.Option("--list", help="List the folders that are trusted.")] = False,
    as_json: AsJson = False,
) -> None:
    """Let what a folder's own settings give now count: allow rules, hooks, servers, variables, its mode and model.

    Signed with your key, for exactly what stands there now: what is added later waits until you trust it again. Deny
    and ask rules count without trust.
    """
    home = Home.from_environment()
    if list_all:
        if folder or revoke:
            raise UsageError("--list stands alone.")
        _list(home, as_json=as_json)
        return
    check_person("perdure trust")
    # What is trusted may be taken back also where the folder is gone.
    path = str(Path(folder).expanduser().absolute()) if revoke else folder_of(folder, "name one that is there")
    roots = settings.roots_of_folder(path)
    if revoke:
        gone = [root for root in roots if settings.revoke(home, root)]
        told = [f"{one_line(root)} is trusted no more." for root in gone] or [f"{one_line(path)} was not trusted."]
        _print(told, {"revoked": gone}, as_json=as_json)
        return
    loaded = settings.loaded_settings(home, path)
    for one in loaded.folders:
        settings.trust(home, one, as_person())
    now = settings.loaded_settings(home, path)
    _print(
        [line for one in now.folders for line in _lines(now, one)], {"trusted": [*map(_as_json, now.folders)]},
        as_json=as_json,
    )  # fmt: skip
    for text in (*now.problems, *now.hints):
        typer.echo(f"Settings: {one_line(text)}", err=True)


def _list(home: Home, *, as_json: bool) -> None:
    found = [(record, settings.loaded_settings(home, record.folder)) for record in settings.records(home)]
    told, rows = [], []
    for record, loaded in found:
        new = next((one.untrusted for one in loaded.folders if one.root == record.folder), ())
        changed = f"; {len(new)} added since, which do not count" if new else ""
        told.append(f"{one_line(record.folder)}  since {record.at[:16].replace('T', ' ')}, by {record.by}{changed}")
        rows.append({**record.model_dump(mode="json"), "untrusted": [*new]})
    _print(told or ["No folder is trusted."], rows, as_json=as_json)


def _lines(loaded: LoadedSettings, folder: FolderTrust) -> Iterable[str]:
    counting = settings.counting_of(loaded, folder)
    yield f"{one_line(folder.root)} is trusted" + (", with:" if counting else "; its settings give nothing now.")
    for text in counting:
        yield f"    {one_line(text)}"


def _as_json(folder: FolderTrust) -> object:
    return folder.model_dump(mode="json")


def _print(lines: Iterable[str], rows: object, *, as_json: bool) -> None:
    print(json.dumps(rows, indent=2) if as_json else "\n".join(lines))
