"""Read the settings files of a folder, each in one piece, and never hang on what is none."""

import os
import stat
from pathlib import Path

from pydantic import JsonValue

from activities.settings.places import Place
from workflows.contracts.settings_files import SettingsLayer
from workflows.core.settings_keys import PATHS
from workflows.core.settings_parse import read_layer, unreadable_layer

MOST_BYTES = 1_000_000
"""Bytes of a settings file; a larger one is a mistake, or somebody's trick."""

Stamp = tuple[int, ...]
"""What changes when a file does: device, inode, size, moments of the change of content and of anything; or a reason."""


def stamp_of(path: Path) -> Stamp:
    """The file's stamp; of one that is not there the error number alone."""
    try:
        facts = os.stat(path)  # noqa: PTH116 - a twentieth of what pathlib costs; this is done for each call
    except OSError as error:
        return (error.errno or 0,)
    except ValueError:
        return (0,)
    # The last moment cannot be set back by whoever writes the file.
    return facts.st_dev, facts.st_ino, facts.st_size, facts.st_mtime_ns, facts.st_ctime_ns


def read_place(place: Place, user: Path) -> SettingsLayer | None:
    """The layer of a file; None when it is not there."""
    where, closes = (place.source, str(place.path), place.root), not place.is_servers
    try:
        data = read_regular(place.path)
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        return unreadable_layer(error.strerror or str(error), *where, closes=closes)
    layer = read_layer(data, *where, closes=closes)
    values = tuple(
        value.model_copy(update={"value": _absolute(value.value, place.root, user)}) if value.key in PATHS else value
        for value in layer.values
    )
    return layer.model_copy(update={"values": values})


def read_regular(path: Path) -> bytes:
    """The whole of a regular file. Raises OSError for everything else, without waiting."""
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOCTTY)
    try:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise OSError(0, "it is no regular file")
        pieces, size = [], 0
        while piece := os.read(descriptor, MOST_BYTES + 1 - size):
            pieces.append(piece)
            size += len(piece)
            if size > MOST_BYTES:
                raise OSError(0, f"it has over {MOST_BYTES // 1_000_000} MB")
        return b"".join(pieces)
    finally:
        os.close(descriptor)


def _absolute(value: JsonValue, root: str, user: Path) -> str:
    """A path as a file names it, made absolute; `//` before it says that it is, as in rules."""
    text = str(value)
    if text == "~" or text.startswith("~/"):
        text = str(user) + text[1:]
    return os.path.normpath(Path(root, f"/{text.lstrip('/')}" if text.startswith("/") else text))
