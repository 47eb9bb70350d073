"""perdure settings: every value of every settings file, and whether it counts."""

import json
from typing import Annotated

import typer

from cli.commands.choices import folder_of
from cli.commands.sessions import AsJson
from cli.display.cells import as_typed, one_line
from worker.engine import Home
from worker.settings import loaded_settings
from workflows.contracts.errors import ExitCode
from workflows.contracts.settings_files import LoadedSettings, ValueState
from workflows.core.settings import shown


def settings(
    folder: Annotated[str, typer.Argument(metavar="FOLDER", help="The folder; by default this one.")] = "",
    as_json: AsJson = False,
) -> int:
    """Show the settings that count in a folder, each with its file, and what is ignored, and why.

    Exit code 1 when a file is so broken that every call would be refused.
    """
    loaded = loaded_settings(Home.from_environment(), folder_of(folder, "name one that is there"))
    if as_json:
        print(json.dumps(_as_json(loaded), indent=2))
    else:
        _show(loaded)
    return ExitCode.FAILED if loaded.broken else ExitCode.DONE


def _show(loaded: LoadedSettings) -> None:
    if not loaded.layers:
        print("No settings file was found: everything is as perdure has it by itself.")
    for layer in loaded.layers:
        print(f"{one_line(layer.file)}  ({layer.source.value})")
        for value in loaded.values:
            if value.file == layer.file:
                told = "" if value.state == ValueState.COUNTS else f"  [{value.state.value}: {one_line(value.why)}]"
                print(f"    {one_line(shown(value))}{told}")
    for folder in loaded.folders:
        if folder.untrusted:
            print(f"To have what is untrusted count: {as_typed('perdure', 'trust', folder.root)}")
    for problem in loaded.problems:
        typer.echo(f"Warning: {one_line(problem)}", err=True)
    for hint in loaded.hints:
        typer.echo(f"Note: {one_line(hint)}", err=True)
    if loaded.broken:
        typer.echo(f"Every call is refused until this is mended: {one_line(loaded.broken)}", err=True)


def _as_json(loaded: LoadedSettings) -> dict[str, object]:
    return {
        "files": [{"file": layer.file, "source": layer.source.value} for layer in loaded.layers],
        "values": [
            {
                "key": value.key, "shown": shown(value), "source": value.source.value, "file": value.file,
                "state": value.state.value, "why": value.why,
            }
            for value in loaded.values
        ],
        "folders": [folder.model_dump(mode="json") for folder in loaded.folders],
        "problems": [*loaded.problems],
        "hints": [*loaded.hints],
        "broken": loaded.broken,
    }  # fmt: skip
