"""Which scripts that hooks run could be changed by the very agent that they guard."""

import re
import shlex
from collections.abc import Iterator
from pathlib import Path

from pydantic import JsonValue

from activities.settings.places import OTHERS, OWN
from workflows.contracts.settings_files import LoadedSettings

_PROJECT = re.compile(r"\$(?:\{(?:CLAUDE|PERDURE)_PROJECT_DIR\}|(?:CLAUDE|PERDURE)_PROJECT_DIR\b)")


def exposed_scripts(loaded: LoadedSettings) -> tuple[str, ...]:
    """A line for each file of the folder that a hook runs and that an agent may write."""
    roots = [Path(folder.root) for folder in loaded.folders]
    lines = (
        f"{value.file}: {value.key} runs {script}, which the agent may change; move it into {root / OWN / 'hooks'}"
        for value in loaded.values
        if value.key.startswith("hooks.")
        for root in roots
        for script in _scripts(value.value, root)
    )
    return tuple(dict.fromkeys(lines))


def _scripts(group: JsonValue, root: Path) -> Iterator[Path]:
    handlers = group.get("hooks") if isinstance(group, dict) else None
    for handler in handlers if isinstance(handlers, list) else []:
        for word in _words(handler):
            path = root / _PROJECT.sub(str(root), word)
            if (
                path.is_relative_to(root)
                and path.relative_to(root).parts[:1] not in {(OWN,), (OTHERS,)}
                and _is_file(path)
            ):
                yield path


def _words(handler: JsonValue) -> list[str]:
    if not isinstance(handler, dict):
        return []
    command, args = handler.get("command"), handler.get("args")
    given = [word for word in args if isinstance(word, str)] if isinstance(args, list) else []
    try:
        return [*(shlex.split(command) if isinstance(command, str) else []), *given]
    except ValueError:
        return given


def _is_file(path: Path) -> bool:
    try:
        return path.is_file()
    except (OSError, ValueError):
        return False
