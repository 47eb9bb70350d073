"""What command.json asks for, and the child process that becomes it."""

from __future__ import annotations

import os

from activities.processes.claim import number
from activities.processes.confine import NotConfined, Sandbox, refuse
from activities.processes.lean import parse_json

TYPE_CHECKING = False
if TYPE_CHECKING:
    import signal
else:
    import _signal as signal  # the wrapper around it costs the runner 4 ms

CWD_FD = 210
"""Where the shell reports its last folder: a number no script is likely to use."""


class Command:
    """What command.json asks for."""

    def __init__(self, folder: str) -> None:
        with open(f"{folder}/command.json", "rb") as file:
            asked = parse_json(file.read().decode("ascii"))
        self.folder = folder
        self.argv: list[str] = asked["argv"]  # type: ignore[assignment]  # attach.py wrote it
        self.environment: dict[str, str] = asked["environment"]  # type: ignore[assignment]  # the same
        self.cwd = str(asked["cwd"])
        self.deadline = seconds(asked, "deadline")
        self.silence = seconds(asked, "silence")
        self.grace = seconds(asked, "grace") or 0.0
        self.cap = number(asked, "output_cap")
        self.umask = asked.get("umask")
        held = asked.get("sandbox")
        self.sandbox = Sandbox(held) if isinstance(held, dict) else None


def seconds(asked: dict[str, object], name: str) -> float | None:
    """A limit in seconds; None when there is none."""
    value = asked.get(name)
    return float(value) if isinstance(value, int | float) else None


def become_command(command: Command, gate: int, output: int, cwd_file: int) -> None:
    """The child: wait at the gate, then become the command; EOF there means that it must never start."""
    os.setsid()
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    if os.read(gate, 1) != b"g":
        os._exit(0)
    os.dup2(output, 1)
    os.dup2(output, 2)
    os.dup2(cwd_file, CWD_FD)
    for each in signal.valid_signals() - {signal.SIGKILL, signal.SIGSTOP}:
        signal.signal(each, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_SETMASK, [])
    if isinstance(command.umask, int):
        os.umask(command.umask)
    what = command.cwd
    try:
        os.chdir(command.cwd)
        argv = confined(command)
        what = argv[0]
        os.execvpe(what, argv, command.environment)
    except (OSError, ValueError) as error:
        text = f"{what}: {getattr(error, 'strerror', None) or error}"
        if command.sandbox and command.sandbox.is_wrapped and what != command.cwd:
            refuse(command.folder, text)
        fail(text, 127 if isinstance(error, FileNotFoundError) else 126)


def confined(command: Command) -> list[str]:
    """The whole argv; from here on this child is held as the sandbox says."""
    if not command.sandbox:
        return command.argv
    try:
        command.sandbox.enter(command.folder)
    except NotConfined as error:
        refuse(command.folder, str(error))
    return [*command.sandbox.prefix, *command.argv]


def fail(text: str, code: int) -> None:
    """Say, where the command's output goes, why it could not start; end with the code a shell would give."""
    os.write(2, f"cannot start: {text}\n".encode("utf-8", "surrogateescape"))
    os._exit(code)
