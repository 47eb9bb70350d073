"""The argument list of tier 1, word by word."""

from activities.safety.sandbox.bubblewrap import arguments, needed
from activities.safety.sandbox.policy import Kind, Place, Policy

PLACES = (
    Place("/home/dev", Kind.HIDDEN),
    Place("/run", Kind.HIDDEN),
    Place("/tmp", Kind.WRITE, source="/data/tmp"),
    Place("/etc/shadow", Kind.HIDDEN, is_file=True),
    Place("/home/dev/.pyenv", Kind.READ),
    Place("/home/dev/.ssh", Kind.HIDDEN),
    Place("/home/dev/p", Kind.WRITE),
    Place("/usr/lib", Kind.READ),
    Place("/home/dev/p/.git", Kind.WRITE),
    Place("/home/dev/p/.perdure", Kind.STAND_IN),
    Place("/home/dev/p/.git/config", Kind.READ, is_file=True),
)
GOLDEN = """
/usr/bin/bwrap --unshare-user --disable-userns --unshare-pid --unshare-ipc --unshare-uts --new-session --cap-drop ALL
--ro-bind / / --dev /dev --proc /proc
--tmpfs /home/dev --tmpfs /run --bind /data/tmp /tmp --ro-bind /dev/null /etc/shadow
--ro-bind-try /home/dev/.pyenv /home/dev/.pyenv
--bind /home/dev/p /home/dev/p
--bind /home/dev/p/.git /home/dev/p/.git
--tmpfs /home/dev/p/.perdure
--ro-bind-try /home/dev/p/.git/config /home/dev/p/.git/config
--remount-ro /home/dev --remount-ro /run --remount-ro /home/dev/p/.perdure
--seccomp 212 --json-status-fd 211 --chdir /home/dev/p --
"""


def policy(*places: Place) -> Policy:
    return Policy("/home/dev/p", "/home/dev", "/data/tmp", places)


def test_the_list_is_hardened_and_mounts_shallow_places_first() -> None:
    assert list(arguments("/usr/bin/bwrap", policy(*PLACES), "/home/dev/p")) == GOLDEN.split()


def test_without_a_session_network_it_gets_an_empty_one() -> None:
    words = arguments("bwrap", policy(), "/", has_network=False)
    assert "--unshare-net" in words
    assert "--unshare-net" not in arguments("bwrap", policy(), "/")


def test_what_is_hidden_below_something_else_shown_in_its_place_needs_no_mount() -> None:
    shown = Place("/tmp", Kind.WRITE, source="/data/tmp")
    assert needed((shown, Place("/tmp/pd-1", Kind.HIDDEN))) == [shown]


def test_no_stand_in_is_put_where_nothing_can_be_made() -> None:
    assert needed((Place("/p/.perdure", Kind.STAND_IN),)) == []
