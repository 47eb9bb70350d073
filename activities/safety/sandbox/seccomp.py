"""Seccomp: our own filter, as bytes of classic BPF, for x86_64 and aarch64."""

import errno
import functools
import platform
import struct
from dataclasses import dataclass, field

AF_UNIX, AF_INET, AF_INET6 = 1, 2, 10

_LOAD, _EQUAL, _AT_LEAST, _ANY_BIT, _RETURN = 0x20, 0x15, 0x35, 0x45, 0x06
"""Codes of the few instructions that it takes."""
_NUMBER, _ARCHITECTURE, _FIRST, _SECOND = 0, 4, 16, 24
"""Offsets in seccomp_data: call, architecture, low halves of the first two arguments."""
_ALLOW, _REFUSE, _KILL = 0x7FFF0000, 0x00050000, 0x80000000
_X32 = 0x40000000
_NEW_USER = 0x10000000
_TERMINAL_INPUT = (0x5412, 0x541C)
"""TIOCSTI and TIOCLINUX: they type into the person's terminal."""


@dataclass(frozen=True)
class Machine:
    """Numbers of one architecture."""

    audit: int
    has_x32: bool
    socket: int
    socketpair: int
    ioctl: int
    unshare: int
    clone: int
    refused: dict[str, int] = field(repr=False)


_BOTH = {
    "io_uring_setup": 425, "io_uring_enter": 426, "io_uring_register": 427, "open_tree": 428, "move_mount": 429,
    "fsopen": 430, "fsconfig": 431, "fsmount": 432, "fspick": 433, "pidfd_getfd": 438, "mount_setattr": 442,
    "quotactl_fd": 443, "open_tree_attr": 467,
}  # fmt: skip
_CLONE3 = 435
"""Its flags are in memory, where no filter looks; libraries fall back to clone."""

MACHINES = {
    "x86_64": Machine(
        audit=0xC000003E, has_x32=True, socket=41, socketpair=53, ioctl=16, unshare=272, clone=56,
        refused=_BOTH | {
            "ptrace": 101, "syslog": 103, "uselib": 134, "vhangup": 153, "pivot_root": 155, "adjtimex": 159,
            "chroot": 161, "acct": 163, "settimeofday": 164, "mount": 165, "umount2": 166, "swapon": 167,
            "swapoff": 168, "reboot": 169, "iopl": 172, "ioperm": 173, "init_module": 175, "delete_module": 176,
            "quotactl": 179, "nfsservctl": 180, "lookup_dcookie": 212, "clock_settime": 227, "kexec_load": 246,
            "add_key": 248, "request_key": 249, "keyctl": 250, "perf_event_open": 298, "fanotify_init": 300,
            "open_by_handle_at": 304, "clock_adjtime": 305, "setns": 308, "process_vm_readv": 310,
            "process_vm_writev": 311, "kcmp": 312, "finit_module": 313, "kexec_file_load": 320, "bpf": 321,
            "userfaultfd": 323,
        },
    ),
    "aarch64": Machine(
        audit=0xC00000B7, has_x32=False, socket=198, socketpair=199, ioctl=29, unshare=97, clone=220,
        refused=_BOTH | {
            "lookup_dcookie": 18, "umount2": 39, "mount": 40, "pivot_root": 41, "nfsservctl": 42, "chroot": 51,
            "vhangup": 58, "quotactl": 60, "acct": 89, "kexec_load": 104, "init_module": 105, "delete_module": 106,
            "clock_settime": 112, "syslog": 116, "ptrace": 117, "reboot": 142, "settimeofday": 170, "adjtimex": 171,
            "add_key": 217, "request_key": 218, "keyctl": 219, "swapon": 224, "swapoff": 225, "perf_event_open": 241,
            "fanotify_init": 262, "open_by_handle_at": 265, "clock_adjtime": 266, "setns": 268,
            "process_vm_readv": 270, "process_vm_writev": 271, "kcmp": 272, "finit_module": 273, "bpf": 280,
            "userfaultfd": 282, "kexec_file_load": 294,
        },
    ),
}  # fmt: skip


@functools.cache
def filter_bytes(families: tuple[int, ...], machine: str = "") -> bytes:
    """The program that refuses what no build or test needs; sockets only of these families.

    KeyError for a machine whose numbers are not known here.
    """
    numbers = MACHINES[machine or platform.machine()]
    program = [
        _step(_LOAD, _ARCHITECTURE), _step(_EQUAL, numbers.audit, skip_true=1), _step(_RETURN, _KILL),
        _step(_LOAD, _NUMBER),
    ]  # fmt: skip
    if numbers.has_x32:
        program += [_step(_AT_LEAST, _X32, skip_false=1), _refuse(errno.ENOSYS)]
    program += [_step(_EQUAL, _CLONE3, skip_false=1), _refuse(errno.ENOSYS)]
    for number in sorted(numbers.refused.values()):
        program += [_step(_EQUAL, number, skip_false=1), _refuse(errno.EPERM)]
    program += _checked(numbers.socket, _FIRST, _only(families))
    program += _checked(numbers.socketpair, _FIRST, _only((AF_UNIX,)))
    program += _checked(numbers.ioctl, _SECOND, _none_of(_TERMINAL_INPUT))
    for number in (numbers.unshare, numbers.clone):
        program += _checked(number, _FIRST, [_step(_ANY_BIT, _NEW_USER, skip_false=1), _refuse(errno.EPERM)])
    return b"".join([*program, _step(_RETURN, _ALLOW)])


def _step(code: int, value: int, skip_true: int = 0, skip_false: int = 0) -> bytes:
    return struct.pack("<HBBI", code, skip_true, skip_false, value)


def _refuse(number: int) -> bytes:
    return _step(_RETURN, _REFUSE | number)


def _checked(number: int, argument: int, checks: list[bytes]) -> list[bytes]:
    """One call whose argument decides: the checks refuse or fall through, and what falls through is allowed."""
    return [
        _step(_EQUAL, number, skip_false=len(checks) + 2),
        _step(_LOAD, argument),
        *checks,
        _step(_RETURN, _ALLOW),
    ]


def _only(values: tuple[int, ...]) -> list[bytes]:
    found = [_step(_EQUAL, value, skip_true=len(values) - place) for place, value in enumerate(values)]
    return [*found, _refuse(errno.EPERM)]


def _none_of(values: tuple[int, ...]) -> list[bytes]:
    return [part for value in values for part in (_step(_EQUAL, value, skip_false=1), _refuse(errno.EPERM))]
