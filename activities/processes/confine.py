"""Confine: enter namespaces, hand bubblewrap its descriptors, or load Landlock and seccomp, in the forked child.

It is loaded by the runner and imports only C modules. The child has one thread, so all of this may happen in it.
"""

from __future__ import annotations

import _ctypes
import fcntl
import os
import resource
import struct

from activities.processes.claim import number
from activities.processes.lean import dump_json, parse_json

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import NoReturn

NO_NEW_PRIVILEGES, SET_SECCOMP, FILTER = 38, 22, 2
LANDLOCK_CREATE, LANDLOCK_ADD, LANDLOCK_RESTRICT = 444, 445, 446
"""The same numbers on every machine."""
PATH_BENEATH = 1


class NotConfined(Exception):
    """The sandbox could not be made, so the command must not start."""


class Sandbox:
    """What command.json says of the sandbox."""

    def __init__(self, asked: dict[str, object]) -> None:
        self.prefix: list[str] = asked["prefix"]  # type: ignore[assignment]  # confinement.py wrote it
        self.namespaces: list[tuple[str, int]] = asked["namespaces"]  # type: ignore[assignment]  # the same
        self.lease = str(asked["lease"])
        self.seccomp = bytes.fromhex(str(asked["seccomp"]))
        self.seccomp_fd = number(asked, "seccomp_fd")
        self.status_fd = number(asked, "status_fd")
        self.allowed: list[tuple[str, int]] = asked["allowed"]  # type: ignore[assignment]  # the same
        self.handled: list[int] = asked["handled"]  # type: ignore[assignment]  # the same
        self.limits: list[tuple[int, int]] = asked["limits"]  # type: ignore[assignment]  # the same

    @property
    def is_wrapped(self) -> bool:
        """Whether bubblewrap stands between the runner and the command."""
        return bool(self.prefix)

    def hold_lease(self) -> None:
        """Keep the session's network for as long as the runner lives; OSError when it is gone."""
        if self.lease:
            # Never closed: the lock ends with the runner.
            fcntl.flock(os.open(self.lease, os.O_RDONLY), fcntl.LOCK_SH)

    def enter(self, folder: str) -> None:
        """In the child, before it becomes the command. Raises NotConfined with what failed."""
        try:
            for kind, value in self.limits:
                hard = resource.getrlimit(kind)[1]
                most = value if hard == resource.RLIM_INFINITY else min(value, hard)
                resource.setrlimit(kind, (most, most))
            for path, kind in self.namespaces:
                descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
                called("setns", descriptor, kind)
                os.close(descriptor)
            if self.status_fd:
                hand_over(os.open(f"{folder}/sandbox", os.O_RDWR | os.O_CREAT | os.O_TRUNC, 0o600), self.status_fd)
            if self.seccomp_fd:
                hand_over(memory_file(self.seccomp), self.seccomp_fd)
            if any(self.handled):
                self.restrict()
            if self.seccomp and not self.seccomp_fd:
                load_filter(self.seccomp)
        except OSError as error:
            raise NotConfined(f"{error.filename or 'the sandbox'}: {error.strerror}") from error

    def restrict(self) -> None:
        """Landlock, by the kernel's own calls."""
        attributes = struct.pack("<QQQ", *self.handled)
        rules = called("syscall", LANDLOCK_CREATE, attributes, len(attributes), 0)
        for path, access in self.allowed:
            try:
                descriptor = os.open(path, os.O_PATH | os.O_CLOEXEC)
            except FileNotFoundError:
                continue
            called("syscall", LANDLOCK_ADD, rules, PATH_BENEATH, struct.pack("<Qi", access, descriptor), 0)
            os.close(descriptor)
        called("prctl", NO_NEW_PRIVILEGES, 1, 0, 0, 0)
        called("syscall", LANDLOCK_RESTRICT, rules, 0)
        os.close(rules)


def hand_over(descriptor: int, place: int) -> None:
    """Give a descriptor the number that the argument list names."""
    os.dup2(descriptor, place)
    os.close(descriptor)


def memory_file(data: bytes) -> int:
    """A descriptor that reads these bytes."""
    descriptor = os.memfd_create("filter", os.MFD_CLOEXEC)
    os.write(descriptor, data)
    os.lseek(descriptor, 0, os.SEEK_SET)
    return descriptor


def load_filter(program: bytes) -> None:
    """From here on the kernel asks this program about each call of the child's."""
    kept = (Byte * len(program)).from_buffer_copy(program)
    called("prctl", NO_NEW_PRIVILEGES, 1, 0, 0, 0)
    called("prctl", SET_SECCOMP, FILTER, struct.pack("<HxxxxxxQ", len(program) // 8, _ctypes.addressof(kept)), 0, 0)


class Byte(_ctypes._SimpleCData):  # type: ignore[type-arg]  # noqa: SLF001 - what ctypes' c_ubyte is
    """One byte, of which arrays are made."""

    _type_ = "B"


class Long(_ctypes._SimpleCData):  # type: ignore[type-arg]  # noqa: SLF001 - what ctypes' c_long is
    """What the called functions give back."""

    _type_ = "l"


class Function(_ctypes.CFuncPtr):
    """A C function that leaves its error number behind."""

    _flags_ = _ctypes.FUNCFLAG_CDECL | _ctypes.FUNCFLAG_USE_ERRNO
    _restype_ = Long


def called(name: str, *words: object) -> int:
    """The result of a C function; OSError with the system's reason when it fails."""
    address = _ctypes.dlsym(_ctypes.dlopen(None, 0), name)  # type: ignore[arg-type]  # None is this program itself
    result = int(Function(address)(*words))
    if result < 0:
        number_of_error = _ctypes.get_errno()
        raise OSError(number_of_error, os.strerror(number_of_error), name)
    return result


def refuse(folder: str, text: str) -> NoReturn:
    """In the child: tell that there is no sandbox, and end; nothing of the command ran."""
    with open(f"{folder}/sandbox", "w", encoding="ascii", errors="backslashreplace") as file:
        file.write(dump_json({"error": text}) + "\n")
    os._exit(126)


def told(folder: str) -> dict[str, object]:
    """What bubblewrap or the child said: child-pid, exit-code (only of a command that was started), error."""
    found: dict[str, object] = {}
    try:
        with open(f"{folder}/sandbox", "rb") as file:
            lines = file.read(65536).decode("ascii", "replace").splitlines()
    except OSError:
        return found
    for line in lines:
        try:
            found.update(parse_json(line))
        except ValueError:
            continue
    return found


def failure(folder: str, status: int | None, *, is_wrapped: bool) -> str:
    """Why the sandbox could not be made, so that nothing ran; empty when it was, or when it was ended before."""
    said = told(folder)
    if error := said.get("error"):
        return str(error)
    if not is_wrapped or status is None or os.WIFSIGNALED(status) or "exit-code" in said:
        return ""
    with open(f"{folder}/output", "rb") as file:
        last = file.read(4096).decode("utf-8", "replace").strip().splitlines()
    return last[-1] if last else f"bubblewrap left with {os.WEXITSTATUS(status)}"


def as_seen_outside(status: int, reported: int | None) -> int:
    """The wait status of the command itself: bubblewrap shows a signal as 128 + its number.

    A shell that ends by itself reports its own exit code in its last words; one that a signal ends, another or none.
    """
    code = os.WEXITSTATUS(status) if os.WIFEXITED(status) else 0
    return status if code == reported or not 128 < code <= 128 + 64 else code - 128
