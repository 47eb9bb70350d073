"""The filter, read by a small interpreter of classic BPF, says the same on both machines."""

import errno
import struct

import pytest

from activities.safety.sandbox.seccomp import AF_INET, AF_INET6, AF_UNIX, MACHINES, filter_bytes

ALLOW, KILL = 0x7FFF0000, 0x80000000
NETLINK, PACKET, VSOCK = 16, 17, 40
KNOWN = sorted(MACHINES)


def verdict(program: bytes, number: int, architecture: int, *words: int) -> int:
    """What the kernel would do with one call."""
    steps = list(struct.iter_unpack("<HBBI", program))
    data = struct.pack(
        "<iIQ6Q", number - (1 << 32) if number >> 31 else number, architecture, 0, *(*words, *[0] * 6)[:6]
    )
    place = held = 0
    while True:
        code, skip_true, skip_false, value = steps[place]
        place += 1
        if code == 0x06:
            return int(value)
        if code == 0x20:
            held = struct.unpack_from("<I", data, value)[0]
            continue
        holds = {0x15: held == value, 0x35: held >= value, 0x45: bool(held & value)}[code]
        place += skip_true if holds else skip_false


def refused(number: int) -> int:
    return 0x00050000 | number


@pytest.mark.parametrize("machine", KNOWN)
def test_every_listed_call_is_refused_and_an_unlisted_one_is_not(machine: str) -> None:
    numbers = MACHINES[machine]
    program = filter_bytes((AF_INET,), machine)
    for number in numbers.refused.values():
        assert verdict(program, number, numbers.audit) == refused(errno.EPERM)
    for number in (0, 3, 63, 334):
        assert verdict(program, number, numbers.audit) == ALLOW


@pytest.mark.parametrize("machine", KNOWN)
@pytest.mark.parametrize("allowed", [(), (AF_UNIX,), (AF_INET, AF_INET6), (AF_INET, AF_INET6, AF_UNIX)])
def test_sockets_are_made_of_the_allowed_families_only(machine: str, allowed: tuple[int, ...]) -> None:
    numbers = MACHINES[machine]
    program = filter_bytes(allowed, machine)
    for family in (AF_UNIX, AF_INET, AF_INET6, NETLINK, PACKET, VSOCK):
        expected = ALLOW if family in allowed else refused(errno.EPERM)
        assert verdict(program, numbers.socket, numbers.audit, family) == expected
    assert verdict(program, numbers.socketpair, numbers.audit, AF_UNIX) == ALLOW
    assert verdict(program, numbers.socketpair, numbers.audit, AF_INET) == refused(errno.EPERM)


@pytest.mark.parametrize("machine", KNOWN)
def test_no_user_namespace_is_made_and_nothing_typed_into_a_terminal(machine: str) -> None:
    numbers = MACHINES[machine]
    program = filter_bytes((), machine)
    for number in (numbers.unshare, numbers.clone):
        assert verdict(program, number, numbers.audit, 0x10000000 | 17) == refused(errno.EPERM)
        assert verdict(program, number, numbers.audit, 0x00000F00) == ALLOW
    assert verdict(program, 435, numbers.audit) == refused(errno.ENOSYS)
    for request, expected in ((0x5412, refused(errno.EPERM)), (0x541C, refused(errno.EPERM)), (0x5401, ALLOW)):
        assert verdict(program, numbers.ioctl, numbers.audit, 0, request) == expected
    assert verdict(program, numbers.ioctl, numbers.audit, 0, 0x5412 | 1 << 40) == refused(errno.EPERM)


def test_other_tables_of_calls_are_closed() -> None:
    program = filter_bytes((AF_INET,), "x86_64")
    assert verdict(program, 0x40000000 | 41, MACHINES["x86_64"].audit, AF_INET) == refused(errno.ENOSYS)
    assert verdict(program, 102, 0x40000003) == KILL


def test_an_unknown_machine_has_no_filter() -> None:
    with pytest.raises(KeyError):
        filter_bytes((), "pdp11")
