"""Start a runner, detached from everything of ours."""

import errno
import subprocess
import sys
from pathlib import Path

from activities.processes.command import inherited_environment
from activities.processes.runner import NO_WORD

ROOT = str(Path(__file__).resolve().parents[2])

START_LIMIT = 60.0
"""Seconds a runner may need on a machine that is very busy."""

# The packages' folder comes last, so that nothing in it takes the place of a standard module.
LAUNCH = "import sys; sys.path.append(sys.argv.pop(1)); from activities.processes import runner; runner.{}()"


def spawn_runner(folder: Path) -> None:
    """Start a runner for a folder and wait until the command is claimed, by it or another; OSError if it cannot be."""
    try:
        starter = launch(folder)
    except subprocess.TimeoutExpired as error:
        raise TimeoutError(errno.ETIMEDOUT, "the command's runner takes too long to start", str(folder)) from error
    if starter.returncode:
        said = starter.stderr.decode("utf-8", "replace").strip().splitlines()
        number = starter.returncode if 0 < starter.returncode != NO_WORD else errno.EIO
        raise OSError(number, said[-1] if said else "the command's runner died at its start", str(folder))


def python(function: str) -> list[str]:
    """The argv that runs a function of the runner's in a bare Python."""
    return [sys.executable, "-I", "-S", "-X", "utf8", "-c", LAUNCH.format(function), ROOT]


def launch(folder: Path) -> subprocess.CompletedProcess[bytes]:
    """The starter's end: exit code 0 once the command is claimed, else an errno and what it said."""
    return subprocess.run(
        [*python("main"), str(folder)],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        cwd="/",
        env=inherited_environment(),
        start_new_session=True,
        timeout=START_LIMIT,
        check=False,
    )
