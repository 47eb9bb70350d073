"""Seatbelt: the profile text for macOS, a pure function of a policy; no Mac has run it yet."""

from pathlib import Path

from activities.safety.sandbox.git_places import CONTROL
from activities.safety.sandbox.policy import Kind, Place, Policy

PROGRAM = "/usr/bin/sandbox-exec"

_ALWAYS = """\
(version 1)
(deny default)
(allow process-exec)
(allow process-fork)
(allow signal (target same-sandbox))
(allow process-info* (target same-sandbox))
(allow sysctl-read)
(allow mach-lookup
  (global-name "com.apple.system.opendirectoryd.libinfo")
  (global-name "com.apple.system.logger")
  (global-name "com.apple.system.notification_center"))
(allow ipc-posix-shm* (ipc-posix-name-prefix "/perdure-"))
(allow file-ioctl (literal "/dev/null") (literal "/dev/tty") (regex #"^/dev/ttys[0-9]+$"))
(allow file-write* (literal "/dev/null") (literal "/dev/zero") (literal "/dev/tty") (literal "/dev/dtracehelper"))
(allow file-read*)
"""
"""`(deny default)` first, never `(allow default)`: what is not named stays closed."""

_TRUST = '(allow mach-lookup (global-name "com.apple.trustd.agent"))\n'
_STARTS = (".bashrc", ".bash_profile", ".zshrc", ".zprofile", ".zshenv", ".profile", ".gitconfig")


def profile(policy: Policy, ports: tuple[int, ...] = (), *, has_trust: bool = False) -> tuple[str, dict[str, str]]:
    """The text and its parameters; only these ports of this machine are reached, which are the proxy's.

    `has_trust` lets programs ask the system about certificates, which those written in Go need.
    """
    rules: list[str] = []
    named: dict[str, str] = {}
    for number, place in enumerate(policy.places):
        parameter = f"PLACE_{number}"
        named[parameter] = place.source or place.path
        rules += [_rule(place, f'(param "{parameter}")')]
    for number, path in enumerate(_never_written(policy)):
        named[f"KEPT_{number}"] = path
        rules.append(f'(deny file-write* (subpath (param "KEPT_{number}")))')
    named["GIT"] = f"{policy.workspace}/.git"
    rules.append('(deny file-write-unlink (literal (param "GIT")))')
    network = [f'(allow network-outbound (remote ip "localhost:{port}"))' for port in ports]
    if policy.has_unix_sockets:
        network.append("(allow network* (local unix-socket) (remote unix-socket))")
    return _ALWAYS + (_TRUST if has_trust else "") + "\n".join([*rules, *network]) + "\n", named


def arguments(text: str, named: dict[str, str]) -> tuple[str, ...]:
    """The argument list before the command's own."""
    given = [word for name, value in named.items() for word in ("-D", f"{name}={value}")]
    return (PROGRAM, "-p", text, *given)


def _rule(place: Place, path: str) -> str:
    what = f"({'literal' if place.is_file else 'subpath'} {path})"
    match place.kind:
        case Kind.HIDDEN:
            return f"(deny file-read* file-write* {what})"
        case Kind.WRITE:
            return f"(allow file-read* file-write* {what})"
        case Kind.READ:
            return f"(allow file-read* {what})\n(deny file-write* {what})"
        case Kind.STAND_IN:
            return f"(deny file-write* {what})"


def _never_written(policy: Policy) -> list[str]:
    """Control files of git, whether they are there or not, and files that start programs."""
    control = (Path(policy.workspace, ".git", name) for name in CONTROL)
    return [str(path) for path in (*control, *(Path(policy.user, name) for name in _STARTS))]
