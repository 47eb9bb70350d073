"""perdure set: change one value of a settings file."""

from typing import Annotated

import typer

from cli.commands.choices import folder_of
from cli.display.cells import one_line
from cli.person import check_person
from cli.signing import as_person
from worker.engine import Home
from worker.settings import Change, change_setting, loaded_settings
from workflows.contracts.errors import UsageError
from workflows.contracts.permissions import Source
from workflows.contracts.settings_files import LoadedSettings, ValueState
from workflows.core.settings_edit import LISTS, key_of, value_of
from workflows.core.settings_keys import KEYS


def set_value(
    name: Annotated[str, typer.Argument(metavar="KEY", help="Such as model, permissions.allow, env.NAME.")],
    text: Annotated[str, typer.Argument(metavar="VALUE", help="Its value; of a list, one item.")] = "",
    remove: Annotated[bool, typer.Option("--remove", help="Take it out; without VALUE all of it.")] = False,
    local: Annotated[bool, typer.Option("--local", help="In this folder's own file that is not shared.")] = False,
    project: Annotated[
        bool, typer.Option("--project", help="In this folder's file that all who work on it share.")
    ] = False,
    folder: Annotated[str, typer.Option("--cwd", metavar="DIR", help="The folder; by default this one.")] = "",
) -> None:
    """Set one value of your settings file, or add one item to a list of it; everything else in the file stays.

    In a folder's own file it is signed with your key, so that it counts, and nothing else that stands there.
    """
    check_person("perdure set")
    if local and project:
        raise UsageError("Choose one of --local and --project.")
    key = key_of(name)
    if not text and not remove:
        raise UsageError(f"What shall {key} be? perdure set {key} VALUE, or --remove.")
    is_item = (known := KEYS.get(key)) is not None and known.kind in LISTS
    if remove and text and not is_item:
        raise UsageError(f"{key} is one value: perdure set {key} --remove takes it out.")
    scope = Source.LOCAL if local else Source.PROJECT if project else Source.USER
    home, path = Home.from_environment(), folder_of(folder)
    value = value_of(key, text) if text else None
    before = loaded_settings(home, path)
    file = str(change_setting(home, path, Change(scope, key, value, as_person(), removes=remove)))
    now = loaded_settings(home, path)
    if before.values == now.values:
        print(f"Nothing changed: {file} {'does not hold that' if remove else 'held that already'}.")
        return
    print(f"{one_line(file)}: {key} {_done(one_line(text), remove=remove, is_item=is_item)}.")
    for line in _told(now, file, key):
        typer.echo(line, err=True)


def _done(text: str, *, remove: bool, is_item: bool) -> str:
    if remove:
        return f"no longer holds {text}" if text else "is taken out"
    return f"{'now holds' if is_item else 'is'} {text}"


def _told(loaded: LoadedSettings, file: str, key: str) -> list[str]:
    """Why what was set does not count, where it does not."""
    found = [value for value in loaded.values if value.file == file and value.key == key]
    whys = dict.fromkeys(f"{one_line(value.why)}." for value in found if value.state != ValueState.COUNTS)
    return [f"It does not count: {why}" for why in whys]
