"""A program in a pseudo-terminal, seen through an emulator."""

import codecs
import fcntl
import os
import pty
import signal
import struct
import subprocess
import sys
import termios
import threading
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

from tests.fakes.terminal import Terminal

OWNED = (
    "import fcntl, os, sys, termios; os.setsid(); fcntl.ioctl(0, termios.TIOCSCTTY, 0); "
    "os.execvp(sys.argv[1], sys.argv[1:])"
)
"""Makes the terminal the program's own, as a shell's window is."""


class InTerminal:
    """One program with a terminal of that size; what it wrote is kept with its times."""

    def __init__(
        self, command: Sequence[str], folder: Path, environment: Mapping[str, str], columns: int = 80, rows: int = 24
    ) -> None:
        self.terminal = Terminal(columns, rows)
        self.written: list[tuple[float, int]] = []
        """When, and how many bytes."""
        self.raw = b""
        ours, theirs = pty.openpty()
        _set_size(theirs, columns, rows)
        named = {name: value for name, value in environment.items() if name not in {"COLUMNS", "LINES"}}
        self.process = subprocess.Popen(
            [sys.executable, "-c", OWNED, *command], cwd=folder, env=named, stdin=theirs, stdout=theirs, stderr=theirs
        )  # fmt: skip
        os.close(theirs)
        self._ours = ours
        self._guard = threading.Lock()
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def resize(self, columns: int, rows: int) -> None:
        """Give the terminal another size, and say so as a kernel does."""
        with self._guard:
            _set_size(self._ours, columns, rows)
            self.terminal.resize(columns, rows)
        self.process.send_signal(signal.SIGWINCH)

    def wait(self, seconds: float = 60) -> int:
        """Its exit code; everything it wrote is shown then."""
        code = self.process.wait(seconds)
        self._reader.join(10)
        return code

    def end(self) -> None:
        """End it, if it still runs."""
        if self.process.poll() is None:
            self.process.kill()
            self.wait(10)

    def bytes_between(self, began: float, ended: float) -> int:
        """How much it wrote in that time of the monotonic clock."""
        return sum(size for at, size in self.written if began <= at < ended)

    def shown(self) -> str:
        """Scrollback and screen."""
        with self._guard:
            return "\n".join(self.terminal.everything())

    def _read(self) -> None:
        decoder = codecs.getincrementaldecoder("utf-8")("replace")
        while True:
            try:
                data = os.read(self._ours, 65536)
            except OSError:
                data = b""
            if not data:
                break
            self.written.append((time.monotonic(), len(data)))
            self.raw += data
            with self._guard:
                self.terminal.write(decoder.decode(data))
        os.close(self._ours)


def _set_size(descriptor: int, columns: int, rows: int) -> None:
    fcntl.ioctl(descriptor, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
