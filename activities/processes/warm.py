"""Warm start: a helper process that has the runner loaded and forks it, several times quicker than a new Python."""

import os
import select
import subprocess
import threading
from pathlib import Path
from types import TracebackType
from typing import Self

from activities.processes.command import inherited_environment
from activities.processes.spawn import START_LIMIT, python, spawn_runner


class WarmStart:
    """Starts runners, from any thread; wherever the helper fails, a cold start does it. One for each worker.

    The helper ends by itself when the worker does; the runners it forked go on.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._helper: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> Self:
        self.warm_up()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()

    def __call__(self, folder: Path) -> None:
        """Start a runner for a folder and wait for its claim; OSError if it cannot be."""
        with self._lock:
            is_started = self._ask(folder)
        if not is_started:
            spawn_runner(folder)  # it also tells why

    def warm_up(self) -> None:
        """Start the helper now, so that the first command does not wait for it."""
        with self._lock:
            self._start()

    def close(self) -> None:
        """End the helper, and nothing that it started."""
        with self._lock:
            self._drop()

    def _start(self) -> subprocess.Popen[bytes]:
        if self._helper is None or self._helper.poll() is not None:
            self._drop()
            self._helper = subprocess.Popen(
                python("serve"),
                bufsize=0,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                cwd="/",
                env=inherited_environment(),
                start_new_session=True,
            )
        return self._helper

    def _ask(self, folder: Path) -> bool:
        try:
            answer = exchange(self._start(), os.fsencode(folder) + b"\0")
        except OSError:
            answer = b""
        if not answer:
            # Its next answer could be taken for another folder's.
            self._drop()
        return answer == b"0\n"

    def _drop(self) -> None:
        if self._helper is None:
            return
        self._helper.kill()
        for pipe in (self._helper.stdin, self._helper.stdout):
            if pipe:
                pipe.close()
        self._helper.wait()
        self._helper = None


def exchange(helper: subprocess.Popen[bytes], request: bytes) -> bytes:
    """The helper's answer; empty when it died or takes too long."""
    if not (helper.stdin and helper.stdout):
        return b""
    helper.stdin.write(request)
    is_answered = select.select([helper.stdout], [], [], START_LIMIT)[0]
    return helper.stdout.readline() if is_answered else b""
