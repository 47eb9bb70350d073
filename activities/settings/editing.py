"""edited: a settings file changed without losing anything else that stands there; *always allow* is one such change."""

import json
import os
import stat
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import reduce
from pathlib import Path

from activities.settings.locking import locked_folder
from activities.settings.places import OWN
from activities.settings.reading import read_regular
from activities.stores.files import make_folder, write_atomic
from activities.stores.home import Home
from activities.stores.written import note_written
from workflows.contracts.errors import UserError
from workflows.contracts.permissions import Source
from workflows.core.settings_edit import Held, items_of, with_value
from workflows.core.settings_parse import json_object, read_layer

_UNSHARED = b"# Rules of one person alone, written by perdure.\nsettings.local.json\n"
"""Beside a local file that perdure makes, so that nobody shares it by mistake."""


def append_items(file: Path, key: str, items: Sequence[str], root: Path, home: Home | None = None) -> tuple[str, ...]:
    """Add texts to the list of a key, such as `permissions.allow`, as `edited` does; those that were not there yet."""
    before = edited(file, root, lambda held: reduce(lambda made, item: with_value(made, key, item), items, held), home)
    return tuple(item for item in dict.fromkeys(items) if item not in items_of(before, key))


def edited(file: Path, root: Path, change: Callable[[Held], Held], home: Home | None = None) -> Held:
    """Write what `change` makes of the file's object, and give what it was; the same is not written again.

    The file is made when it is missing, everything else in it stays, of two writers at once neither loses anything, and
    a process that dies meanwhile leaves the old file or the new one. UserError for a file that cannot be read as
    settings, that leads out of the folder `root` or that could not be read any more, and where `change` raises it. With
    `home` it is noted there that a person's word wrote the file: a command that runs in the workspace meanwhile is not
    taken for its writer.
    """
    _make_folder(file.parent, home)
    with locked_folder(file.parent):
        _check_place(file, root)
        _remove_leftovers(file)
        held, text = _read(file)
        try:
            made = change(held)
        except UserError as error:
            raise UserError(f"{file}: {error}", error.exit_code, error.reason) from error
        if made != held:
            data = json.dumps(made, indent=_indent_of(text), ensure_ascii=False).encode() + b"\n"
            if broken := read_layer(data, Source.LOCAL, str(file)).broken:
                raise UserError(f"{broken}; mend it, then try again.", reason="malformed")
            _write(file, data, _mode_of(file), home)
    return held


def _write(file: Path, data: bytes, mode: int, home: Home | None) -> None:
    if home is not None:
        note_written(home, file, file.read_bytes() if file.exists() else None, data)
    write_atomic(file, data, mode)


def _make_folder(folder: Path, home: Home | None) -> None:
    # An empty one may be what stands in for it while a command runs.
    if folder.is_dir() and any(folder.iterdir()):
        return
    make_folder(folder)
    if folder.name == OWN:
        _write(folder / ".gitignore", _UNSHARED, 0o644, home)


def _check_place(file: Path, root: Path) -> None:
    """A link in a folder that somebody else made could lead into the person's own settings."""
    real = Path(os.path.realpath(file))
    if not real.is_relative_to(os.path.realpath(root)) or real.name != file.name:
        raise UserError(f"{file} is a link to {real}: change it there by hand if that is meant.", reason="link")


def _remove_leftovers(file: Path) -> None:
    """What a writer left that was killed; under the lock nobody else writes."""
    for path in file.parent.glob(f".{file.name}.*.tmp"):
        with suppress(OSError):
            path.unlink()


def _read(file: Path) -> tuple[Held, str]:
    try:
        data = read_regular(file)
    except FileNotFoundError:
        return {}, ""
    except OSError as error:
        raise UserError(
            f"{file} cannot be read ({error.strerror or error}); nothing was changed.", reason="disk"
        ) from error
    try:
        return json_object(data), data.decode("utf-8-sig")
    except ValueError as error:
        raise UserError(f"{file} is malformed ({error}); mend it, then try again.", reason="malformed") from error


def _indent_of(text: str) -> int | str:
    """How the file is indented already; two blanks for a new one."""
    line = next((line for line in text.splitlines()[1:] if line.strip()), "  ")
    blanks = line[: len(line) - len(line.lstrip())]
    return "\t" if blanks.startswith("\t") else len(blanks) or 2


def _mode_of(file: Path) -> int:
    try:
        return stat.S_IMODE(file.stat().st_mode)
    except OSError:
        return 0o600
