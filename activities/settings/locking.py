"""One writer at a time in a folder of settings or records."""

import fcntl
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from activities.stores.files import explain_os_error
from workflows.contracts.errors import UserError

LIMIT_S = 5.0
"""How long another writer is waited for."""


@contextmanager
def locked_folder(folder: Path) -> Iterator[None]:
    """Hold the lock of the folder itself, so that no lock file is left. UserError when another keeps it."""
    try:
        descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    except OSError as error:
        raise explain_os_error(error, folder) from error
    try:
        end = time.monotonic() + LIMIT_S
        while True:
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                if time.monotonic() > end:
                    raise UserError(f"Something else keeps {folder} locked; try again.", reason="locked") from None
                time.sleep(0.01)
        yield
    finally:
        os.close(descriptor)
