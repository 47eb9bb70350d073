"""End what a test left running: only processes that carry the test's own PERDURE_HOME."""

from pathlib import Path

import psutil


def processes_of(home: Path) -> list[psutil.Process]:
    """The processes of this user whose environment names that home, or that stand in it."""
    return [process for process in psutil.process_iter() if _belongs(process, str(home))]


def end_processes_of(home: Path) -> list[str]:
    """Kill them and wait, bounded; the command lines of those that were found."""
    left = processes_of(home)
    told = [_told(process) for process in left]
    for process in left:
        try:
            process.kill()
        except psutil.Error:
            continue
    psutil.wait_procs(left, timeout=5)
    return told


def _belongs(process: psutil.Process, home: str) -> bool:
    try:
        return process.pid != psutil.Process().pid and process.environ().get("PERDURE_HOME") == home
    except psutil.Error:
        return False


def _told(process: psutil.Process) -> str:
    try:
        return f"{process.pid} {' '.join(process.cmdline())}"
    except psutil.Error:
        return f"{process.pid}"
