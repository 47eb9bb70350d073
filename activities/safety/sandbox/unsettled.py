"""Unsettled: the commands of this host after which nobody has looked yet; what they leave is no other's beginning."""

import hashlib
import json
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from activities.processes.attach import is_running
from activities.stores.files import make_folder, write_atomic
from activities.stores.home import Home

_STARTS_S = 60.0
"""Within so many seconds what was entered has begun to run, or never will."""


def enter(home: Home, workspace: Path, kept: Path, output: Path) -> None:
    """A command is about to run; `kept`: the folder of what is kept of it, `output`: of its runner."""
    make_folder(_folder(home))
    told = {"workspace": str(workspace), "kept": str(kept), "output": str(output)}
    write_atomic(_entry(home, kept), json.dumps(told).encode("ascii"), lasts=False)


def leave(home: Home, workspace: Path, kept: Path) -> None:
    """Somebody has looked after it, and with that also after those of the workspace that ended before."""
    _entry(home, kept).unlink(missing_ok=True)
    for path, told in _entries(home):
        with suppress(OSError):
            is_old = told["workspace"] == str(workspace) and time.time() - path.stat().st_mtime > _STARTS_S
            if (is_old and not is_running(Path(told["output"]))) or not Path(told["kept"]).exists():
                path.unlink()


def others(home: Home, kept: Path) -> list[Path]:
    """What is kept of the others, the oldest first."""
    return [Path(told["kept"]) for _, told in _entries(home) if told["kept"] != str(kept)]


def _entries(home: Home) -> Iterator[tuple[Path, dict[str, str]]]:
    found = []
    for path in _folder(home).glob("*.json"):
        with suppress(OSError, ValueError):
            found.append((path.stat().st_mtime_ns, path, json.loads(path.read_bytes())))
    yield from ((path, told) for _, path, told in sorted(found, key=lambda one: one[0]))


def _folder(home: Home) -> Path:
    return home.engine / "unsettled"


def _entry(home: Home, kept: Path) -> Path:
    return _folder(home) / f"{hashlib.sha256(str(kept).encode()).hexdigest()[:24]}.json"
