"""The supervisor: one background process that keeps the embedded server and one worker running."""

import os
import select
import signal
import sqlite3
import sys
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

from activities.stores.home import Home
from worker.engine_database import clear_draft, draft_path, publish_draft
from worker.engine_plan import EMBEDDED, SUPERVISOR_WORDS, Plan, is_part_of_engine, supervisor_lock_path
from worker.engine_state import (
    DamagedState,
    EngineState,
    PartState,
    database_path,
    keep_aside,
    log_path,
    read_state,
    state_path,
    take_lock,
    write_state,
)
from worker.process_table import boot_id, end_all, identify, running
from worker.server_api import ServerSilent, read_namespace, set_retention
from worker.server_command import choose_ports, find_program, server_command, server_environment
from worker.supervised import Supervised, Surroundings
from workflows.contracts.errors import UserError

MUST_SERVE_WITHIN_S = 60.0
ATTRIBUTES_WITHIN_S = 5.0
_PAUSE_WHILE_STARTING_S = 0.02
_PAUSE_WITH_ADOPTED_S = 0.2
_PAUSE_S = 1.0
_GIVES_BACK = {"MALLOC_ARENA_MAX": "2", "MALLOC_MMAP_THRESHOLD_": "262144"}
"""So that the C library gives the place of a request of megabytes back once it is sent."""


class Supervisor:
    """The loop: look who ended, start who is due, ask the server whether it serves, write down what changed."""

    def __init__(self, plan: Plan, environment: Mapping[str, str], umask: int) -> None:
        self._plan, self._home, self._environment = plan, plan.home, environment
        self._state = replace(_last_state(plan.home), is_serving=False, sync=plan.sync, boot_id=boot_id())
        folder = plan.home.root
        # The server's files are private; the worker writes the person's files with the person's umask.
        self._server = Supervised(Surroundings(folder, log_path(plan.home, "server"), 0o077))
        self._worker = Supervised(Surroundings(folder, log_path(plan.home, "worker"), umask))
        self._is_draft = False
        self._program = find_program()
        self._written: tuple[int, int] = (0, 0)
        self._is_unwritten = False
        self._stop = False

    def run(self) -> None:
        """Keep both running until told to stop, then end both; nothing of theirs is left."""
        wake = self._listen()
        self._take_over()
        while not self._stop:
            if self._tend() or self._is_unwritten or self._is_overwritten():
                self._publish()
            self._sleep(wake)
        say("ending the worker, then the server")
        self._worker.end()
        self._server.end()
        self._state = replace(self._state, is_serving=False)
        self._publish(me=PartState())

    def _listen(self) -> int:
        read_end, write_end = os.pipe()
        for descriptor in (read_end, write_end):
            os.set_blocking(descriptor, False)
        signal.set_wakeup_fd(write_end, warn_on_full_buffer=False)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        signal.signal(signal.SIGHUP, signal.SIG_IGN)
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, self._ask_to_stop)
        return read_end

    def _ask_to_stop(self, *_: object) -> None:
        self._stop = True

    def _take_over(self) -> None:
        """Go on with what a dead supervisor left running as it is wanted now; end whatever else is of this engine."""
        adopted: set[int] = set()
        for part, left, wanted in (
            (self._server, self._state.server, self._server_command()),
            (self._worker, self._state.worker, self._plan.worker_command),
        ):
            if left.identity.is_alive and left.command == wanted:
                say(f"going on with process {left.pid}, left by an earlier supervisor")
                part.adopt(left)
                adopted.add(left.pid)
        strays = [
            process.identity
            for process in running()
            # The worker is the child of its keeper, which is what was written down.
            if adopted.isdisjoint((process.identity.pid, process.parent))
            and is_part_of_engine(process, self._home, self._plan.worker_command)
            and process.arguments[1:4] != SUPERVISOR_WORDS
        ]
        if strays:
            say(f"ending what an earlier supervisor left: {[stray.pid for stray in strays]}")
            end_all(strays, grace_s=10.0)
        self._publish()

    def _tend(self) -> bool:
        """One round; whether something changed that others should read."""
        changed = self._look("server", self._server)
        changed |= self._look("worker", self._worker)
        if not self._server.is_running:
            self._state = replace(self._state, is_serving=False)
            if time.monotonic() >= self._server.due:
                self._start_server()
                changed = True
        elif not self._state.is_serving:
            changed |= self._prepare_server()
        if not self._worker.is_running and time.monotonic() >= self._worker.due:
            self._worker.start(self._plan.worker_command, self._worker_environment())
            changed = True
        return changed

    def _look(self, name: str, part: Supervised) -> bool:
        if not part.has_ended():
            return False
        say(f"{name}: {part.last_error}; starting again in {max(0.0, part.due - time.monotonic()):.1f} s")
        return True

    def _start_server(self) -> None:
        try:
            ports, taken = choose_ports(self._state.ports)
        except UserError as error:
            self._server.fail(str(error))
            return
        for port in taken:
            notice = f"port {port} was taken by another program; the engine chose another one"
            say(notice)
            self._state = self._state.with_notice(notice)
        if ports != self._state.ports:
            self._state = replace(self._state, ports=ports)
            self._worker.end()  # it was told the old address
        self._is_draft = not database_path(self._home).exists()
        if self._is_draft:
            clear_draft(self._home)
        self._server.start(self._server_command(), server_environment(self._environment, self._home))

    def _prepare_server(self) -> bool:
        """Ask the server whether it serves as wanted; whether it does now."""
        try:
            namespace = read_namespace(self._state.ports.http)
            if not namespace.keeps_long_enough:
                namespace = set_retention(self._state.ports.http)
        except ServerSilent:
            if self._server.ran_s > MUST_SERVE_WITHIN_S:
                self._server.last_error = f"did not answer within {MUST_SERVE_WITHIN_S:.0f} s"
                self._server.end(grace_s=1.0)
            return False
        if not namespace.is_searchable and self._server.ran_s < ATTRIBUTES_WITHIN_S:
            return False
        if self._is_draft:
            self._begin_with_draft()
            return False
        self._state = replace(self._state, is_serving=True)
        say(f"serving at {self._state.address}, runs are kept for {namespace.retention_days:.0f} days")
        return True

    def _begin_with_draft(self) -> None:
        """Make the finished draft the database and start the server on it.

        The second start has another use: a running server reads a changed retention up to two seconds later, and a
        run that closes before is forgotten after a day. Nobody knows this server yet, so KILL harms nothing.
        """
        self._server.end(grace_s=0.0)
        try:
            publish_draft(self._home)
        except (OSError, sqlite3.Error) as error:
            self._server.fail(f"the new database could not be made: {error}")
            return
        self._start_server()

    def _server_command(self) -> tuple[str, ...]:
        database = draft_path(self._home) if self._is_draft else database_path(self._home)
        return server_command(self._program, database, self._state.ports, self._plan.sync)

    def _worker_environment(self) -> dict[str, str]:
        kept = {name: value for name, value in self._environment.items() if not name.startswith("TEMPORAL_")}
        return _GIVES_BACK | kept | {"PERDURE_HOME": str(self._home.root), EMBEDDED: "embedded"}

    def _is_overwritten(self) -> bool:
        """Whether somebody else changed or removed the state file; what he wrote is kept aside."""
        now = _file_mark(state_path(self._home))
        if now == self._written:
            return False
        with suppress(OSError):
            say(f"the state file was changed by another program; kept as {keep_aside(state_path(self._home))}")
        return True

    def _publish(self, me: PartState | None = None) -> None:
        mine = me if me is not None else self._me
        self._state = replace(self._state, supervisor=mine, server=self._server.state, worker=self._worker.state)
        try:
            write_state(self._home, self._state)
        except UserError as error:
            # The engine goes on all the same, and tries again each second.
            say(str(error))
            self._is_unwritten = True
            return
        self._is_unwritten = False
        self._written = _file_mark(state_path(self._home))

    @property
    def _me(self) -> PartState:
        me = identify(os.getpid())
        return PartState(me.pid, me.start_mark, self._state.supervisor.since or time.time())

    def _sleep(self, wake: int) -> None:
        pause = _PAUSE_S
        if self._server.is_running and not self._state.is_serving:
            pause = _PAUSE_WHILE_STARTING_S
        elif self._server.is_adopted or self._worker.is_adopted:
            pause = _PAUSE_WITH_ADOPTED_S
        dues = [part.due - time.monotonic() for part in (self._server, self._worker) if not part.is_running]
        select.select([wake], [], [], max(0.0, min([pause, *dues])))
        with suppress(BlockingIOError):
            os.read(wake, 4096)


def say(line: str) -> None:
    """One dated line for the supervisor's log."""
    sys.stderr.write(f"{time.strftime('%Y-%m-%dT%H:%M:%S%z')} {line}\n")
    sys.stderr.flush()


def _last_state(home: Home) -> EngineState:
    try:
        state = read_state(home)
    except DamagedState as damage:
        kept = keep_aside(state_path(home))
        say(f"{damage}; kept as {kept}")
        return EngineState().with_notice(f"the state file was damaged; it was kept as {kept} and made anew")
    return replace(state, supervisor=PartState())


def _file_mark(path: Path) -> tuple[int, int]:
    try:
        found = path.stat()
    except OSError:
        return (0, 0)
    return (found.st_ino, found.st_mtime_ns)


def main(arguments: list[str]) -> int:
    """Become the supervisor of a home, detached from whoever started it; the exit code."""
    umask = os.umask(0o077)
    if os.fork():
        # Reaped at once by whoever started us; the engine belongs to nobody's process tree.
        os._exit(0)
    plan = Plan.from_argument(arguments[0])
    try:
        take_lock(supervisor_lock_path(plan.home), wait_s=2.0)
    except TimeoutError:
        say("another supervisor runs already")
        return 0
    try:
        Supervisor(plan, os.environ, umask).run()
    except UserError as error:
        say(str(error))
        return error.exit_code
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
