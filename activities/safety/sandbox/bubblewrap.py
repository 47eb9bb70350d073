"""Bubblewrap: the argument list of tier 1, a pure function of a policy."""

from activities.safety.sandbox.policy import Kind, Place, Policy

STATUS_FD, SECCOMP_FD = 211, 212
"""Descriptors that the runner makes: numbers no script is likely to use."""

HARDENED = (
    "--unshare-user", "--disable-userns", "--unshare-pid", "--unshare-ipc", "--unshare-uts", "--new-session",
    "--cap-drop", "ALL",
)  # fmt: skip
"""Without `--die-with-parent`: it would kill at once what the command leaves running, unseen and uncounted. The runner
and its warden end it instead; killing the sandbox's first process ends all of it."""


def arguments(program: str, policy: Policy, cwd: str, *, has_network: bool = True) -> tuple[str, ...]:
    """The argument list before the command's own.

    `has_network`: the runner enters the session's network namespace before; else the command gets an empty one.
    """
    words = [program, *HARDENED]
    words += [] if has_network else ["--unshare-net"]
    words += _mounts(policy)
    words += ["--seccomp", str(SECCOMP_FD), "--json-status-fd", str(STATUS_FD), "--chdir", cwd, "--"]
    return tuple(words)


def reading_arguments(program: str, policy: Policy, cwd: str, seccomp: str) -> tuple[str, ...]:
    """The same for a program that its starter talks to, and that ends with it: no network, and `seccomp` its filter's
    descriptor.
    """
    hardened = (program, *HARDENED, "--die-with-parent", "--unshare-net")
    return (*hardened, *_mounts(policy), "--seccomp", seccomp, "--chdir", cwd, "--")


def _mounts(policy: Policy) -> list[str]:
    words = ["--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc"]
    closed: list[str] = []
    for place in needed(policy.places):
        words += _mount(place)
        if place.kind in {Kind.HIDDEN, Kind.STAND_IN} and not place.is_file:
            closed += ["--remount-ro", place.path]
    return words + closed


def needed(places: tuple[Place, ...]) -> list[Place]:
    """The places that change something: what is hidden or read-only below a place of the same kind does not."""
    kept: list[Place] = []
    for place in places:
        above = [other for other in kept if place.path.startswith(other.path.rstrip("/") + "/")]
        kind = above[-1].kind if above else Kind.READ
        if place.kind == Kind.STAND_IN and kind != Kind.WRITE:
            continue
        if place.kind == Kind.HIDDEN and above and above[-1].source and not _holds_another(place, places):
            continue  # something else is shown there anyway
        if place.source or place.kind == Kind.WRITE or place.kind != kind:
            kept.append(place)
    return kept


def _holds_another(place: Place, places: tuple[Place, ...]) -> bool:
    return any(other.path.startswith(place.path + "/") for other in places)


def _mount(place: Place) -> list[str]:
    if place.kind == Kind.WRITE:
        return ["--bind", place.source or place.path, place.path]
    if place.kind == Kind.READ:
        return ["--ro-bind-try", place.source or place.path, place.path]
    return ["--ro-bind", "/dev/null", place.path] if place.is_file else ["--tmpfs", place.path]
