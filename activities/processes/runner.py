"""The runner: one small detached process a command, outliving the worker. It imports nothing but a few C modules.

    starter (waits for the claim, then leaves)
    └── warden (ends what is left should the runner be killed)
        └── runner (takes `started`, keeps the output, enforces the limits, writes `status`)
            └── the command, in a session of its own

Runner and warden are subreapers: whatever the command starts, however it detaches, stays below them. On macOS there is
no such thing; there the command's process group is ended, and a grandchild that left the group escapes.
"""

from __future__ import annotations

import os
import select
import sys
import time

from activities.processes import claim, confine
from activities.processes.capture import Capture, Status
from activities.processes.lean import become_subreaper
from activities.processes.program import Command, become_command
from activities.processes.tree import Process, ask_to_end, descendants, end_all, send, start_time

TYPE_CHECKING = False
if TYPE_CHECKING:
    import signal
    from typing import NoReturn
else:
    import _signal as signal  # the wrapper around it costs 4 ms at each start

NO_WORD = 70
"""The starter's exit code when the runner died before it said anything."""

SETTLE = 0.1
"""Seconds that processes left behind have to end by themselves, such as the reader of `> >(tee log)`."""

LEFTOVER_GRACE = 0.5
"""Seconds from TERM to KILL for what is left when the command itself has ended."""

GIVE_UP = 30.0
"""Seconds from KILL until the status names what cannot be killed (a process stuck in the kernel, another user's)."""

CHUNK = 65536


def main() -> None:
    """Start the command of the folder named on the command line."""
    start(sys.argv[1])


def serve() -> None:
    """The warm helper: start the command of each folder that stdin names (NUL after each), answer with exit codes."""
    waiting = b""
    while data := os.read(0, CHUNK):
        *folders, waiting = (waiting + data).split(b"\0")
        for folder in folders:
            starter = os.fork()
            if not starter:
                start(os.fsdecode(folder))
            os.write(1, b"%d\n" % os.waitstatus_to_exitcode(os.waitpid(starter, 0)[1]))


def start(folder: str) -> NoReturn:
    """The starter: start a folder's command, unless it was started before, and leave with 0 or errno."""
    ready, say = os.pipe()
    if os.fork():
        os.close(say)
        os._exit(answer(os.read(ready, 16)))
    os.setsid()
    become_subreaper()
    runner = os.fork()
    if runner:
        os.close(say)
        watch_over(runner)
    os.close(ready)
    try:
        run(folder, say)
    except OSError as error:
        os.write(say, b"%d" % (error.errno or 5))
        raise
    os._exit(0)


def answer(word: bytes) -> int:
    """The starter's exit code: what the runner said, or that it died without a word."""
    return int(word) if word.isdigit() else NO_WORD


def watch_over(runner: int) -> NoReturn:
    """The warden: wait for the runner, then end whatever is left below us."""
    quiet(os.open(os.devnull, os.O_RDWR))
    ignore_hangups()
    while os.waitpid(-1, 0)[0] != runner:
        pass
    while end_all(lambda: descendants(os.getpid()), LEFTOVER_GRACE, GIVE_UP):
        time.sleep(1)
    os._exit(0)


def quiet(descriptor: int) -> None:
    """Let go of whoever started us."""
    for standard in (0, 1, 2):
        os.dup2(descriptor, standard)


def ignore_hangups() -> None:
    """A terminal that goes away, or Ctrl-C in it, is not meant for us."""
    for number in (signal.SIGHUP, signal.SIGINT, signal.SIGQUIT):
        signal.signal(number, signal.SIG_IGN)


def run(folder: str, say: int) -> None:
    """The runner: fork the command behind a gate, take the name, open the gate, see it through."""
    command = Command(folder)
    become_subreaper()
    # All that needs room on the disk comes before the claim: a full disk then means that nothing was started.
    capture, status = Capture(folder, command.cap), Status(folder)
    log = os.open(f"{folder}/runner.log", os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o600)
    cwd_file = os.open(f"{folder}/cwd", os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    pipe, write_end = os.pipe()
    gate, open_gate = os.pipe()
    child = os.fork()
    if not child:
        os.close(open_gate)
        become_command(command, gate, write_end, cwd_file)
    for descriptor in (write_end, gate, cwd_file):
        os.close(descriptor)
    ignore_hangups()
    watch = Run(command, child, pipe, capture)
    if command.sandbox:
        command.sandbox.hold_lease()
    # The child was forked before the lock exists, so no copy of the lock outlives us.
    is_ours = claim.take(folder, facts(child)) is not None
    os.write(say, b"0")
    if not is_ours:
        status.forget()
        return
    os.close(say)
    quiet(log)
    watch.begin(open_gate)
    watch.until_nobody_is_left()
    status.write(watch.facts())


def facts(child: int) -> dict[str, object]:
    """Who runs here, for whoever has to end it without us."""
    runner, warden = os.getpid(), os.getppid()
    return {
        "runner": runner,
        "runner_started": start_time(runner),
        "warden": warden,
        "warden_started": start_time(warden),
        "session": child,
        "session_started": start_time(child),
    }


class Run:
    """A started command: its tree, its output, its limits."""

    def __init__(self, command: Command, child: int, pipe: int, capture: Capture) -> None:
        self.command = command
        self.capture = capture
        self.child = child
        self.pipe = pipe
        self.is_cancelled = self.is_started = False
        self.is_pipe_open = True
        self.reason = ""
        self.exit: int | None = None
        self.exit_at = self.kill_at = self.give_up_at = float("inf")
        self.leftovers: set[int] = set()
        self.remaining: list[int] = []
        self.wakes, wake = os.pipe()
        for descriptor in (self.pipe, self.wakes, wake):
            os.set_blocking(descriptor, False)
        signal.set_wakeup_fd(wake, warn_on_full_buffer=False)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        signal.signal(signal.SIGTERM, self.cancel)
        self.poll = select.poll()
        self.poll.register(self.pipe, select.POLLIN)
        self.poll.register(self.wakes, select.POLLIN)

    def cancel(self, *_: object) -> None:
        """SIGTERM to the runner ends the whole tree."""
        self.is_cancelled = True

    def begin(self, open_gate: int) -> None:
        """Let the command start, unless it was cancelled by now."""
        self.started_at = time.time()
        self.began = self.last_output = time.monotonic()
        if self.is_cancelled:
            self.reason = "cancelled"
        else:
            self.is_started = True
            os.write(open_gate, b"g")
        os.close(open_gate)

    def until_nobody_is_left(self) -> None:
        """See the command and all that it starts to their end."""
        while self.collect():
            now = time.monotonic()
            if now >= self.give_up_at:
                self.remaining = [process.pid for process in descendants(os.getpid())]
                break
            self.act(now)
            self.listen(now)
        self.end_group_without_subreaper()
        while self.drain():
            pass

    def collect(self) -> bool:
        """Reap who has ended; false when nobody is left."""
        while True:
            try:
                pid, status = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                return False
            if not pid:
                return True
            if pid == self.child:
                self.exit = status
                self.exit_at = time.monotonic()

    def act(self, now: float) -> None:
        """End the tree when it is time."""
        if now >= self.kill_at:
            for process in self.left():
                send(process, signal.SIGKILL)
        elif self.kill_at < float("inf"):
            return
        elif self.exit is not None:
            if now >= self.exit_at + SETTLE:
                self.stop(min(self.command.grace, LEFTOVER_GRACE))
        elif reason := self.why_end(now):
            self.reason = reason
            self.stop(self.command.grace)

    def why_end(self, now: float) -> str:
        """Why the command must not go on; empty when it may."""
        if self.is_cancelled:
            return "cancelled"
        if self.command.deadline is not None and now >= self.began + self.command.deadline:
            return "deadline"
        if self.command.silence is not None and now >= self.last_output + self.command.silence:
            return "silence"
        return ""

    def stop(self, grace: float) -> None:
        """TERM all; KILL follows."""
        self.kill_at = time.monotonic() + grace
        self.give_up_at = self.kill_at + GIVE_UP
        scaffold = self.scaffold()
        ask_to_end([process for process in self.left() if process.pid not in scaffold])

    def scaffold(self) -> set[object]:
        """Bubblewrap's own two processes: they end with the command, and tell how it ended."""
        if self.command.sandbox is None or not self.command.sandbox.is_wrapped:
            return set()
        return {self.child, confine.told(self.command.folder).get("child-pid")}

    def left(self) -> list[Process]:
        """Who lives below us; without /proc (macOS) only the group can be reached."""
        found = descendants(os.getpid())
        if not found and sys.platform != "linux":
            found = [Process(-self.child, os.getpid(), self.child, 0)]
        if not self.reason:
            self.leftovers.update({process.pid for process in found} - self.scaffold())
        return found

    def end_group_without_subreaper(self) -> None:
        """On macOS orphans are not our children: end the group they were started in."""
        if sys.platform != "linux":
            send(Process(-self.child, 0, self.child, 0), signal.SIGKILL)

    def listen(self, now: float) -> None:
        """Wait for output, an ended child, a signal, or the next limit."""
        for descriptor, _ in self.poll.poll(self.patience(now) * 1000):
            if descriptor == self.wakes:
                os.read(self.wakes, CHUNK)
            else:
                self.drain()

    def patience(self, now: float) -> float:
        """Seconds until something must be looked at again."""
        if now >= self.kill_at:
            return 0.01
        limits = [self.kill_at, self.exit_at + SETTLE]
        if self.command.deadline is not None:
            limits.append(self.began + self.command.deadline)
        if self.command.silence is not None:
            limits.append(self.last_output + self.command.silence)
        ahead = [limit - now for limit in limits if limit > now]
        return min([*ahead, 60.0]) + 0.001

    def drain(self) -> bool:
        """Take what the pipe holds, a bounded part at a time so that limits act also under `yes`; false when empty."""
        for _ in range(16 if self.is_pipe_open else 0):
            try:
                data = os.read(self.pipe, CHUNK)
            except BlockingIOError:
                return False
            if not data:
                self.poll.unregister(self.pipe)
                self.is_pipe_open = False
                return False
            self.capture.add(data)
            self.last_output = time.monotonic()
        return self.is_pipe_open

    def facts(self) -> dict[str, object]:
        """The status: how it ended and what it left."""
        reported, folder = self.last_words()
        status = self.exit if self.exit is not None and self.is_started else None
        error = ""
        if status is not None and self.command.sandbox:
            is_wrapped = self.command.sandbox.is_wrapped
            error = confine.failure(self.command.folder, status, is_wrapped=is_wrapped)
            status = confine.as_seen_outside(status, reported) if is_wrapped else status
        number = os.WTERMSIG(status) if status is not None and os.WIFSIGNALED(status) else None
        return {
            "reason": self.reason or ("exited" if number is None else "signal"),
            "is_started": self.is_started and not error,
            "exit_code": os.WEXITSTATUS(status) if status is not None and number is None else None,
            "signal": number,
            "started_at": self.started_at,
            "ended_at": time.time(),
            "seconds": time.monotonic() - self.began,
            "leftovers": len(self.leftovers),
            "remaining": self.remaining,
            "cwd": folder,
            "sandbox_error": error,
            **self.capture.facts(),
        }

    def last_words(self) -> tuple[int | None, str | None]:
        """The exit code that the shell told, and where it was when it ended, if it said so."""
        with open(f"{self.command.folder}/cwd", "rb") as file:
            code, _, folder = file.read(CHUNK).partition(b"\n")
        return int(code) if code.isdigit() else None, os.fsdecode(folder.removesuffix(b"\n")) or None
