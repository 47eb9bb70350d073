"""One process that has loaded everything forks the worker, and its successor the moment it is killed."""

import ctypes
import gc
import importlib
import logging
import os
import signal
import sys
import time
from collections.abc import Callable
from contextlib import suppress

log = logging.getLogger("worker")

QUICK_S = 5.0
MOST_QUICK = 3
"""A worker that is killed so often in a row, each time sooner than QUICK_S, is left to the supervisor's back-off."""

NEEDED_LATER = ("anthropic", "anthropic.types")
"""What a worker loads for its first request: one to three seconds that no successor shall need."""

_PR_SET_PDEATHSIG = 1
_STOPPING = (signal.SIGTERM, signal.SIGINT)


class Keeper:
    """The process that the supervisor sees: it does no work itself, so it is there when the worker dies."""

    def __init__(self) -> None:
        self._child = 0
        self._stops = False

    def keep(self, run: Callable[[], int], needed_later: tuple[str, ...] = NEEDED_LATER) -> int:
        """Run the worker in a child, and another one when it is killed; the exit code, 128 + n for signal n.

        Modules that are needed later are loaded first. Must be called before the process has a second thread.
        """
        for name in needed_later:
            with suppress(ImportError):
                importlib.import_module(name)
        # What is loaded by now stays shared between keeper and worker.
        gc.freeze()
        quick = 0
        while True:
            began = time.monotonic()
            if self._is_child():
                return run()
            code = os.waitstatus_to_exitcode(os.waitpid(self._child, 0)[1])
            self._child = 0
            quick = quick + 1 if time.monotonic() - began < QUICK_S else 0
            if self._stops or code >= 0 or quick > MOST_QUICK:
                return code if code >= 0 else 128 - code
            log.warning("the worker was killed by %s; its successor starts", signal.Signals(-code).name)

    def _is_child(self) -> bool:
        """Fork; whether we are the worker now."""
        keeper = os.getpid()
        signal.pthread_sigmask(signal.SIG_BLOCK, _STOPPING)
        try:
            child = os.fork()
            for number in _STOPPING:
                signal.signal(number, self._pass_on if child else signal.SIG_DFL)
            if not child:
                _die_with(keeper)
                return True
            self._child = child
        finally:
            signal.pthread_sigmask(signal.SIG_UNBLOCK, _STOPPING)
        return False

    def _pass_on(self, number: int, _frame: object) -> None:
        self._stops = True
        if self._child:
            with suppress(ProcessLookupError):
                os.kill(self._child, number)


def _die_with(keeper: int) -> None:
    """End when the keeper ends, so that nobody has to look for an orphan; elsewhere than on Linux its lock must do."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
        if os.getppid() != keeper:
            os._exit(1)
