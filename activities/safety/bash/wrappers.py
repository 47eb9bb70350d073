"""Programs in front that run the rest of the line, and how to look behind them."""

import re
from dataclasses import dataclass

from activities.safety.bash.options import parse_front
from workflows.contracts.commands import UNKNOWN, Assignment, Word, Wrapper

_ASSIGNMENT = re.compile(r"([A-Za-z_]\w*)=(.*)", re.ASCII | re.DOTALL)


@dataclass(frozen=True, slots=True)
class _Front:
    """How the options of a wrapper are passed over."""

    valued: str = ""
    """Short options that take a value."""
    long: str = ""
    """Long options that take the next word."""
    operands: int = 0
    """Words of its own before the command."""
    sets: bool = False
    """Whether `NAME=value` may stand before the command."""
    known: str = ""
    """Flags with which it is looked through for allow; `-N` for a number, a blank for none, empty for never."""
    by: str = ""
    """The option that is followed by the command."""
    only: str = ""
    """The words with one of which, first or second, it runs the rest."""
    is_spared: bool = False
    """Whether an option in front spares the operands: `setarch -R rm` and `setarch x86_64 rm` run rm."""


_FRONTS = {
    "time": _Front("fo", "format output", known="-p"),
    "timeout": _Front(
        "ks",
        "kill-after signal",
        operands=1,
        known="-k -s -v --foreground --preserve-status --verbose --signal --kill-after",
    ),
    "nice": _Front("n", "adjustment", known="-n --adjustment -N"),
    "ionice": _Front("cnpPu", "class classdata", known="-c -n -t --class --classdata --ignore"),
    "nohup": _Front(known=" "),
    "stdbuf": _Front("ioe", "input output error", known="-i -o -e --input --output --error"),
    "command": _Front(known="-p"),
    "builtin": _Front(),
    "exec": _Front("a"),
    "noglob": _Front(),
    "coproc": _Front(),
    "sudo": _Front(
        "ughpCrtTUDRc", "user group host prompt chdir role type other-user chroot command-timeout", sets=True
    ),
    "doas": _Front("uC"),
    "pkexec": _Front("", "user"),
    "gosu": _Front(operands=1),
    "su-exec": _Front(operands=1),
    "runuser": _Front("ugGs", "user group supp-group shell"),
    "setpriv": _Front("", "reuid regid groups"),
    "env": _Front("uCS", "unset chdir split-string", sets=True, known=" "),
    "setsid": _Front(),
    "unbuffer": _Front(),
    "fakeroot": _Front("lsib"),
    "dbus-run-session": _Front("", "config-file"),
    "xvfb-run": _Front("efnpsw"),
    "chrt": _Front("TPD", "sched-runtime sched-deadline sched-period", operands=1),
    "taskset": _Front(operands=1),
    "numactl": _Front("CNmlp"),
    "prlimit": _Front("", "pid"),
    "cgexec": _Front("g"),
    "setarch": _Front(operands=1, is_spared=True),
    "linux32": _Front(),
    "linux64": _Front(),
    "choom": _Front("np", "adjust"),
    "uclampset": _Front("mMp"),
    "chroot": _Front("", "userspec groups", operands=1),
    "unshare": _Front("RwSG", "root wd setuid setgid propagation map-user map-group"),
    "nsenter": _Front("tSGw", "target setuid setgid"),
    "strace": _Front("oepsaEPuObIX", "output trace"),
    "ltrace": _Front("oepsanulFx"),
    "valgrind": _Front(),
    "gdb": _Front(by="--args"),
    "perf": _Front("eoFcg", operands=1, only="record stat trace"),
    "flock": _Front("wEc", "timeout wait conflict-exit-code", operands=1),
    "busybox": _Front(),
    "toybox": _Front(),
    "systemd-run": _Front(
        "pEtMHGu", "property setenv unit uid gid slice description on-active on-calendar working-directory"
    ),
    "systemd-inhibit": _Front("", "what who why mode"),
    "start-stop-daemon": _Front(
        "nxpucrdNIPkgRsa", "name user group chuid chdir pidfile startas", by="--exec -x -a --startas"
    ),
    "screen": _Front("cehpStTsX"),
    "daemonize": _Front("cpuelo"),
    "watch": _Front("nq", "interval"),
    "entr": _Front("s"),
    "parallel": _Front("jNnaIlPLSdC", "jobs joblog arg-file max-args delay timeout"),
    "firejail": _Front(),
    "proot": _Front("rbwqk"),
    "runcon": _Front("utrl"),
    "ssh-agent": _Front("aEtP"),
    "torsocks": _Front(),
    "proxychains": _Front("f"),
    "proxychains4": _Front("f"),
    "caffeinate": _Front("tw"),
    "arch": _Front(only="-arm64 -x86_64 -arch"),
    "rlwrap": _Front("abcCdDfgHilmMoOpqrsSwz"),
    "direnv": _Front(operands=2, only="exec"),
    "dotenv": _Front("fe"),
    "pipenv": _Front(operands=1, only="run"),
    "poetry": _Front(operands=1, only="run"),
    "uv": _Front("p", "with python project", operands=1, only="run"),
    "bundle": _Front(operands=1, only="exec"),
}


def strip(words: list[Word]) -> tuple[tuple[Wrapper, ...], list[Word]]:
    """The wrappers in front, outermost first, and the words behind them."""
    wrappers: list[Wrapper] = []
    while words and len(wrappers) < 12:
        name = words[0].value.rsplit("/", 1)[-1].removesuffix(".exe").lower()
        front = _FRONTS.get(name)
        if front is None or not _runs(name, front, words):
            break
        behind = _behind(front, words)
        if behind is None or behind >= len(words) or words[behind].value in {"-c", "--command"}:
            break
        own = words[:behind]
        wrappers.append(
            Wrapper(
                name,
                tuple(own),
                is_transparent=_is_transparent(front, own) and "/" not in own[0].value and own[0].is_plain,
                assignments=tuple(_assigned(own[1:])) if front.sets else (),
            )
        )
        words = words[behind:]
    return tuple(wrappers), words


def _runs(name: str, front: _Front, words: list[Word]) -> bool:
    if front.only and not any(word.value in front.only.split() for word in words[1:3]):
        return False
    if name == "runuser" and not any(re.fullmatch(r"-u.*|--user(=.*)?", word.value) for word in words[1:]):
        return False
    return not (name == "command" and any(re.fullmatch(r"-p*[vV].*", word.value) for word in words[1:2]))


def _behind(front: _Front, words: list[Word]) -> int | None:
    """Index of the wrapped command's first word."""
    values = [word.value for word in words]
    if front.by:
        return next((at + 1 for at, value in enumerate(values) if value in front.by.split()), None)
    at = parse_front(values, front.valued, frozenset(front.long.split()))
    left = 0 if front.is_spared and at > 1 else front.operands
    while at < len(values) and ((front.sets and _ASSIGNMENT.fullmatch(values[at])) or left):
        if not (front.sets and _ASSIGNMENT.fullmatch(values[at])):
            left -= 1
        at += 1
    if front.operands and at < len(values) and values[at] == "--":
        at += 1
    return at


def _is_transparent(front: _Front, own: list[Word]) -> bool:
    if not front.known or any(word.is_free or UNKNOWN in word.value for word in own):
        return False
    known = front.known.split()
    takes_value = False
    for word in own[1:]:
        value = word.value
        if takes_value or not value.startswith("-") or value == "--":
            takes_value = False
            continue
        name = value.split("=", 1)[0]
        if name.startswith("--"):
            if name not in known:
                return False
            takes_value = "=" not in value and name[2:] in front.long.split()
        elif re.fullmatch(r"-\d+", value):
            if "-N" not in known:
                return False
        else:
            end = next((at for at, char in enumerate(value) if at and char in front.valued), len(value) - 1)
            if value == "-" or any(f"-{char}" not in known for char in value[1 : end + 1]):
                return False
            takes_value = value[end] in front.valued and end == len(value) - 1
    return True


def _assigned(own: list[Word]) -> list[Assignment]:
    found = [(word, _ASSIGNMENT.fullmatch(word.value)) for word in own]
    return [
        Assignment(match[1], Word(word.source, match[2], is_plain=word.is_plain, may_split=word.may_split))
        for word, match in found
        if match
    ]
