"""Rehearsal models that outlive the command that asked for them: started, found again, ended with the engine."""

import json
import os
import secrets
import subprocess
import sys
from pathlib import Path

from activities.stores.files import make_folder, write_atomic
from activities.stores.home import Home
from worker.process_table import Identity, end_all, identify, wait_until
from workflows.contracts.errors import UsageError, UserError

START_LIMIT_S = 20.0
_STARTED: "list[subprocess.Popen[bytes]]" = []
"""By this process; they outlive it, so nothing waits for them but `end_rehearsals`."""
_KEPT = frozenset({"PATH", "HOME", "LANG", "LC_ALL", "TMPDIR"})
PROGRAM = (sys.executable, "-I", "-m", "worker.rehearsal")


def start_rehearsal(home: Home, scenario: Path, words: tuple[str, ...] = ()) -> str:
    """Serve that scenario file on loopback in a process of its own; its base URL.

    `words` are further arguments of `python -m worker.rehearsal`. UsageError when the file is no scenario.
    """
    folder = _folder(home)
    make_folder(folder)
    name = secrets.token_hex(6)
    told, log = folder / f"{name}.out", folder / f"{name}.log"
    process = _launch(home, (*PROGRAM, str(scenario.absolute()), *words), told, log)
    _STARTED.append(process)
    identity = identify(process.pid)
    record = {"pid": identity.pid, "start_mark": identity.start_mark, "scenario": str(scenario.absolute())}
    try:
        write_atomic(folder / f"{name}.json", json.dumps(record).encode())
    except UserError:
        # Without its record nobody would ever end it.
        end_all([identity], 2.0)
        raise
    wait_until(lambda: process.poll() is not None or told.read_bytes().endswith(b"\n"), START_LIMIT_S)
    if process.poll() is None and told.read_bytes().endswith(b"\n"):
        return str(json.loads(told.read_bytes())["url"])
    end_all([identity], 2.0)
    why = log.read_text(errors="replace").strip().splitlines()
    _forget(folder, name)
    raise _explain(process.poll(), why[-1] if why else "")


def end_rehearsals(home: Home) -> None:
    """End every rehearsal model of this home, as `perdure down` does."""
    folder = _folder(home)
    records = sorted(folder.glob("*.json")) if folder.is_dir() else []
    end_all([one for path in records if (one := _identity(path)).is_alive], 5.0)
    for path in records:
        _forget(folder, path.stem)
    _STARTED[:] = [process for process in _STARTED if process.poll() is None]


def _folder(home: Home) -> Path:
    return home.engine / "rehearsals"


def _launch(home: Home, command: tuple[str, ...], told: Path, log: Path) -> "subprocess.Popen[bytes]":
    # It outlives the command, and needs none of the person's keys.
    kept = {name: value for name, value in os.environ.items() if name in _KEPT}
    environment = {**kept, "PERDURE_HOME": str(home.root)}
    with told.open("wb") as out, log.open("wb") as err:
        return subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=out, stderr=err, cwd=home.root, env=environment,
            start_new_session=True,
        )  # fmt: skip


def _explain(code: int | None, why: str) -> UserError:
    if code == UsageError.exit_code:
        return UsageError(why or "the scenario file cannot be read")
    return UserError(f"the rehearsal model did not start: {why or 'it said nothing'}", reason="rehearsal")


def _identity(record: Path) -> Identity:
    try:
        kept = json.loads(record.read_bytes())
        return Identity(int(kept["pid"]), str(kept["start_mark"]))
    except (OSError, ValueError, KeyError, TypeError):
        return Identity()


def _forget(folder: Path, name: str) -> None:
    for ending in (".json", ".out", ".log"):
        (folder / f"{name}{ending}").unlink(missing_ok=True)
