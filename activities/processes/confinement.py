"""Confinement: what the runner does to a command between fork and exec, so that it starts in a sandbox."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Confinement:
    """How a command is held; made by whoever knows the policy, carried in command.json, done by `confine.py`."""

    prefix: tuple[str, ...] = ()
    """Bubblewrap's own argv before the command's; empty where the child confines itself (Landlock)."""

    namespaces: tuple[tuple[str, int], ...] = ()
    """Files of namespaces to enter, each with its kind (CLONE_NEW…), in this order."""

    lease: str = ""
    """A file that the runner keeps a shared lock on, so that the session's network stays."""

    seccomp: bytes = b""
    """A classic BPF program: handed to bubblewrap on a descriptor, or loaded by the child."""

    seccomp_fd: int = 0
    """Where bubblewrap reads it; 0 for the child to load it."""

    status_fd: int = 0
    """Where bubblewrap tells whether the command itself was started; 0 without bubblewrap."""

    allowed: tuple[tuple[str, int], ...] = ()
    """Landlock: paths with the access that is allowed at and below them."""

    handled: tuple[int, int, int] = (0, 0, 0)
    """Landlock: access that is refused elsewhere, to files, to ports, and scopes; zeros for no Landlock."""

    limits: tuple[tuple[int, int], ...] = ()
    """Resource limits: number and value, for both the soft and the hard one."""

    def as_record(self) -> dict[str, object]:
        """What goes into command.json."""
        return {
            "prefix": list(self.prefix),
            "namespaces": [list(each) for each in self.namespaces],
            "lease": self.lease,
            "seccomp": self.seccomp.hex(),
            "seccomp_fd": self.seccomp_fd,
            "status_fd": self.status_fd,
            "allowed": [list(each) for each in self.allowed],
            "handled": list(self.handled),
            "limits": [list(each) for each in self.limits],
        }
