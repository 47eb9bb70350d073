"""One child of the supervisor: started, watched, started again with back-off, ended."""

import os
import signal
import subprocess
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from worker.engine_state import PartState, rotate
from worker.process_table import Identity, end_all, identify

FIRST_PAUSE_S = 0.2
LONGEST_PAUSE_S = 30.0
HEALTHY_AFTER_S = 10.0
TERM_GRACE_S = 10.0
ERROR_CHARS = 300


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What every child gets alike."""

    folder: Path
    """Its working folder: the home, never the person's."""
    log: Path
    umask: int


class Supervised:
    """One process that is to run for as long as the supervisor does."""

    def __init__(self, surroundings: Surroundings) -> None:
        self._surroundings = surroundings
        self._process: subprocess.Popen[bytes] | None = None
        self._identity = Identity()
        self._started = time.monotonic()
        self._log_start = 0
        self._since = 0.0
        self._restarts = 0
        self._failures = 0
        self._command: tuple[str, ...] = ()
        self.due = 0.0
        """When it may be started next, on the monotonic clock."""
        self.last_error = ""

    @property
    def is_running(self) -> bool:
        """Whether there is a process, as of the last look."""
        return self._identity.pid > 0

    @property
    def is_adopted(self) -> bool:
        """Whether it is another supervisor's child, of whose end no signal tells."""
        return self.is_running and self._process is None

    @property
    def ran_s(self) -> float:
        """For how many seconds the present process has been running."""
        return time.monotonic() - self._started

    @property
    def state(self) -> PartState:
        """What is written down of it."""
        return PartState(
            pid=self._identity.pid,
            start_mark=self._identity.start_mark,
            since=self._since,
            restarts=self._restarts,
            failures=0 if self.is_running and self.ran_s >= HEALTHY_AFTER_S else self._failures,
            last_error=self.last_error,
            command=self._command,
        )

    def start(self, command: Sequence[str], environment: Mapping[str, str]) -> None:
        """Start it in a session of its own; a failure to do so counts as an end at once."""
        self._restarts += int(self._failures > 0)
        self._command = tuple(command)
        self._started, self._since = time.monotonic(), time.time()
        try:
            self._process = self._spawn(environment)
        except OSError as error:
            self.fail(f"could not be started: {error}")
            return
        self._identity = identify(self._process.pid)
        if not self._identity.start_mark:  # it ended before it could be looked at; the next look says how
            self._identity = Identity(self._process.pid, "ended")

    def adopt(self, left: PartState) -> None:
        """Go on with a process that a supervisor who died has left running."""
        self._identity, self._command, self._since = left.identity, left.command, left.since
        self._started, self._restarts = time.monotonic(), left.restarts

    def has_ended(self) -> bool:
        """Whether it ended since the last look; if so the next start is planned and the reason kept."""
        if not self.is_running or not self._is_over():
            return False
        code = self._process.returncode if self._process else None
        self._forget()
        # Who is killed from outside did not say why in its log: its last line there is about something else.
        self.fail(_how(code) + ("" if code in {-signal.SIGKILL, -signal.SIGTERM} else self._last_words()))
        return True

    def end(self, grace_s: float = TERM_GRACE_S) -> None:
        """TERM it, KILL it after `grace_s` seconds; returns when it and its process group are gone."""
        if not self.is_running:
            return
        if self._process is None:
            end_all([self._identity], grace_s)
        else:
            _end_child(self._process, grace_s)
        self._forget()
        self.due = 0.0

    def fail(self, error: str) -> None:
        """Note why it does not run and when it is tried next: after 0.2 s, doubling to 30 s, anew once it was well."""
        self.last_error = _shorten(error)
        if self.ran_s >= HEALTHY_AFTER_S:
            self._failures = 0
        self.due = time.monotonic() + min(LONGEST_PAUSE_S, FIRST_PAUSE_S * 2**self._failures)
        self._failures += 1
        self._started = time.monotonic()

    def _spawn(self, environment: Mapping[str, str]) -> subprocess.Popen[bytes]:
        rotate(self._surroundings.log)
        with self._surroundings.log.open("ab") as log:
            self._log_start = log.tell()
            return subprocess.Popen(
                self._command,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                cwd=self._surroundings.folder,
                env=dict(environment),
                umask=self._surroundings.umask,
                start_new_session=True,
            )

    def _is_over(self) -> bool:
        if self._process is None:
            return not self._identity.is_alive
        return self._process.poll() is not None

    def _forget(self) -> None:
        if self._process is not None:
            # Helpers in its own group end with it; commands' runners have sessions of their own and live on.
            with suppress(ProcessLookupError, PermissionError):
                os.killpg(self._process.pid, signal.SIGKILL)
        self._process, self._identity = None, Identity()

    def _last_words(self) -> str:
        """The last line it wrote to its log since its start."""
        with suppress(OSError), self._surroundings.log.open("rb") as log:
            size = log.seek(0, os.SEEK_END)
            log.seek(max(self._log_start, size - 4_000))
            lines = [line.strip() for line in log.read().decode(errors="replace").splitlines() if line.strip()]
            return f": {lines[-1]}" if lines else ""
        return ""


def _end_child(process: subprocess.Popen[bytes], grace_s: float) -> None:
    process.terminate()
    try:
        process.wait(grace_s)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def _shorten(error: str) -> str:
    """Beginning and end: in the server's long lines the reason comes last."""
    if len(error) <= ERROR_CHARS:
        return error
    return f"{error[: ERROR_CHARS // 3]} … {error[-ERROR_CHARS * 2 // 3 :]}"


def _how(code: int | None) -> str:
    if code is None:
        return "ended"
    if code < 0:
        return f"killed by {signal.Signals(-code).name}"
    return f"ended with exit code {code}"
