"""Single keys while a session is watched, where a person sits at a terminal."""

import asyncio
import os
import sys
import termios
from collections.abc import Callable, Iterator
from contextlib import contextmanager


@contextmanager
def keys(pressed: Callable[[str], None]) -> Iterator[None]:
    """Call `pressed` with each key while inside; nothing is echoed, Ctrl-C stays a signal."""
    if not _is_ours():
        yield
        return
    terminal = sys.stdin.fileno()
    before = termios.tcgetattr(terminal)
    changed = termios.tcgetattr(terminal)
    changed[3] &= ~(termios.ICANON | termios.ECHO)
    loop = asyncio.get_running_loop()
    termios.tcsetattr(terminal, termios.TCSADRAIN, changed)
    loop.add_reader(terminal, lambda: pressed(os.read(terminal, 64).decode("utf-8", "replace")))
    try:
        yield
    finally:
        loop.remove_reader(terminal)
        termios.tcsetattr(terminal, termios.TCSADRAIN, before)


def _is_ours() -> bool:
    """Whether standard input is a terminal whose keys come to this process."""
    try:
        return sys.stdin.isatty() and os.getpgrp() == os.tcgetpgrp(sys.stdin.fileno())
    except OSError:
        # Somebody else's terminal, as under `setsid` or a service manager.
        return False
