"""Remembered: what was hidden from a session's commands stays hidden, however much is put in front of it later."""

import json
from pathlib import Path

from activities.stores.files import write_atomic


def remembered(folder: Path | None, name: str) -> list[str]:
    """The paths that are kept under this name in the folder of a session's sandbox; none without a folder."""
    try:
        told = json.loads((folder / name).read_bytes()) if folder else []
    except (OSError, ValueError):
        return []
    return [path for path in told if isinstance(path, str)] if isinstance(told, list) else []


def remember(folder: Path | None, name: str, paths: list[str]) -> None:
    """Keep these instead, where they are others."""
    if folder and paths and paths != remembered(folder, name):
        write_atomic(folder / name, json.dumps(paths).encode("ascii"), lasts=False)
