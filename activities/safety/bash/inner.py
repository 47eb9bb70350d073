"""Which commands run others, and what they run: sh -c, eval, trap, find -exec, xargs, ssh, sed e, perl -e …"""

import re
import shlex
from collections.abc import Callable, Iterator
from itertools import pairwise

from activities.safety.bash.carried import carried
from activities.safety.bash.interpreted import PROGRAM_FLAGS, USUAL_FLAGS, Inner, program, replacements_run, strings_of
from activities.safety.bash.names import AWKS, INTERPRETERS, PACKAGE_MANAGERS, family, is_shell, named
from activities.safety.bash.options import parse_front
from activities.safety.bash.subscripts import EVALUATING, evaluated
from workflows.contracts.commands import UNKNOWN, Reach, SimpleCommand, Word

_EXEC = {"-exec", "-execdir", "-ok", "-okdir"}
_SPLITS = re.compile(r"(?:-[vi0]*S|--split-string(?:=|\Z))(.*)", re.DOTALL)
_WITH_C = re.compile(r"-[a-z]{1,4}c")
Finder = Callable[[SimpleCommand, list[str]], Iterator[Inner]]


def inner_of(command: SimpleCommand) -> Iterator[Inner]:
    """What one command runs by its own words."""
    yield from _of_wrappers(command)
    for one in command.assignments:
        if one.name in _SETS_COMMAND:
            yield Inner(one.value.value, reach=Reach.DECODED)
    if not command.words:
        return
    name, values = command.name, [word.value for word in command.words]
    known = family(name.lower())
    find = _BY_NAME.get(known)
    if find is not None:
        yield from find(command, values)
    elif is_shell(name):
        yield from _shell(values)
    elif known in INTERPRETERS:
        yield from program(values, PROGRAM_FLAGS.get(known, USUAL_FLAGS))
        if name in PACKAGE_MANAGERS or known not in PROGRAM_FLAGS:
            yield from carried(values, command.words)
    else:
        yield from carried(values, command.words)
    if name in EVALUATING:
        yield from evaluated(values)
    if name in AWKS:
        yield from strings_of(" ".join(values[1:]), is_quoted=True)
        if any("system" in value or "|" in value for value in values):
            yield from (Inner(value.partition("=")[2], reach=Reach.DECODED) for value in values[1:] if "=" in value)
    yield from _by_flags(values)


def _of_wrappers(command: SimpleCommand) -> Iterator[Inner]:
    own = [word.value for word in command.words]
    for at, wrapper in enumerate(command.wrappers):
        if wrapper.name == "env":
            behind = [word.value for one in command.wrappers[at:] for word in one.words]
            yield from _split_string([*behind, *own])
        if wrapper.name in {"watch", "parallel"}:
            yield Inner(" ".join(own))
        if wrapper.name == "parallel" and command.argv[:1] == (":::",):
            yield from (Inner(value) for value in command.argv[1:])
    if command.name == "env":
        yield from _split_string(own)


def _split_string(values: list[str]) -> Iterator[Inner]:
    """`env -S 'rm -rf' /`: the words of the text, then those behind it as they are."""
    for at, value in enumerate(values):
        found = _SPLITS.fullmatch(value)
        if found is None:
            continue
        given = [found[1]] if found[1] else values[at + 1 : at + 2]
        yield Inner(" ".join((*given, *map(shlex.quote, values[at + 1 + (not found[1]) :]))))
        return


def _shell(values: list[str]) -> Iterator[Inner]:
    takes = False
    for at, value in enumerate(values[1:], 1):
        if value in {"-o", "+o", "-O", "+O", "--rcfile", "--init-file", "--"}:
            continue
        if value.startswith("--command="):
            yield Inner(value.partition("=")[2])
            return
        if re.fullmatch(r"[-+][A-Za-z]+", value):
            takes = takes or (value[0] == "-" and "c" in value[1:])
        elif value in {"--command", "-Command", "-EncodedCommand"}:
            takes = True
        elif takes and values[at - 1] not in {"-o", "+o", "-O", "+O"}:
            yield Inner(value, arguments=tuple(values[at + 1 :]))
            return


def _eval(_: SimpleCommand, values: list[str]) -> Iterator[Inner]:
    yield Inner(" ".join(values[2:] if values[1:2] == ["--"] else values[1:]))


def _trap(_: SimpleCommand, values: list[str]) -> Iterator[Inner]:
    operands = [value for value in values[1:] if value != "--"]
    if len(operands) > 1:
        yield Inner(operands[0])


def _alias(_: SimpleCommand, values: list[str]) -> Iterator[Inner]:
    for value in values[1:]:
        if "=" in value:
            yield Inner(value.partition("=")[2])


def _find(command: SimpleCommand, values: list[str]) -> Iterator[Inner]:
    at = 0
    while at < len(values):
        if values[at] in _EXEC:
            end = next((to for to in range(at + 1, len(values)) if values[to] in {";", "+"}), len(values))
            yield Inner(words=command.words[at + 1 : end])
            at = end
        at += 1


def _fd(command: SimpleCommand, values: list[str]) -> Iterator[Inner]:
    for at, value in enumerate(values):
        if value in {"-x", "-X", "--exec", "--exec-batch"}:
            yield Inner(words=command.words[at + 1 :])
            return


def _xargs(command: SimpleCommand, values: list[str]) -> Iterator[Inner]:
    at = parse_front(values, "adEILnPRSs", named("arg-file delimiter max-args max-chars max-procs"))
    if at < len(values):
        yield Inner(words=(*command.words[at:], Word("", UNKNOWN, is_plain=False, may_split=True)))


def _ssh(_: SimpleCommand, values: list[str]) -> Iterator[Inner]:
    takes = "bcDEeFIiJLlmOopQRSWwB"
    rest = values[parse_front(values, takes, frozenset()) :]
    # Options may stand behind the host too.
    if rest := rest[parse_front(rest, takes, frozenset()) :]:
        yield Inner(" ".join(rest))


def _option_text(names: str, operand_from: int = 0) -> Finder:
    """Programs that run the value of an option as a text."""

    def find(_: SimpleCommand, values: list[str]) -> Iterator[Inner]:
        wanted = names.split()
        for at, value in enumerate(values[1:], 1):
            is_clustered = "-c" in wanted and _WITH_C.fullmatch(value)
            if (value in wanted or is_clustered) and at + 1 < len(values):
                yield Inner(values[at + 1])
            elif value.startswith(tuple(f"{one}=" for one in wanted if one.startswith("--"))):
                yield Inner(value.partition("=")[2])
        if operand_from and len(values) > operand_from:
            yield Inner(" ".join(values[operand_from:]))

    return find


def _package(command: SimpleCommand, values: list[str]) -> Iterator[Inner]:
    yield from _option_text("-c --call --command")(command, values)
    yield from carried(values, command.words)


def _remote(command: SimpleCommand, values: list[str]) -> Iterator[Inner]:
    yield from (Inner(value, reach=Reach.DECODED) for value in values[1:] if " " in value)
    yield from carried(values, command.words)


def _texts(_: SimpleCommand, values: list[str]) -> Iterator[Inner]:
    """Arguments that are whole commands."""
    starts = {"new", "new-session", "neww", "new-window", "splitw", "split-window", "run", "run-shell", "send-keys"}
    for before, value in pairwise(values):
        if " " in value or (starts & set(values[1:2]) and value[0:1] != "-" and before not in {"-s", "-n", "-t", "-c"}):
            yield Inner(value)


def _pager(_: SimpleCommand, values: list[str]) -> Iterator[Inner]:
    for value in values[1:]:
        if value.startswith(("+!", "-+!")):
            yield Inner(value.partition("!")[2])


def _git(command: SimpleCommand, values: list[str]) -> Iterator[Inner]:
    for at, value in enumerate(values[1:], 1):
        rest = values[at + 1 :]
        if values[at - 1] in {"-c", "--config"} and "=" in value:
            yield Inner(value.partition("=")[2].removeprefix("!"))
        elif value == "run":
            yield Inner(words=command.words[at + 1 :])
        elif value == "foreach":
            yield Inner(" ".join(rest[1:] if rest[:1] == ["--recursive"] else rest))
        elif value in {"--exec", "-x", "--tree-filter", "--index-filter", "--msg-filter"}:
            yield Inner("".join(rest[:1]))
        elif value.startswith("--exec="):
            yield Inner(value.partition("=")[2])
    if "config" in values:
        for value in values:
            if value.startswith("!"):
                yield Inner(value[1:])


def _sed(_: SimpleCommand, values: list[str]) -> Iterator[Inner]:
    for one in values[1:]:
        # Without blanks around its lines: a search that may begin at each of them takes too long on a text of blanks.
        value = "\n".join(line.strip() for line in one.split("\n") if line.strip())
        for found in re.finditer(r"(?:^|[;\n{])\s*(?:\d+|\$|/[^/]*/)?(?:,(?:\d+|\$|/[^/]*/))?\s*e\s+([^\n]+)", value):
            yield Inner(found[1], reach=Reach.DECODED)
        for made in replacements_run(value):
            yield Inner(made, reach=Reach.DECODED)


def _vim(_: SimpleCommand, values: list[str]) -> Iterator[Inner]:
    for value in values[1:]:
        for found in re.finditer(r"(?:!|r!|read !|system\(['\"]?|term\w{0,20}\s)([^\n]+)", value):
            yield Inner(found[1].rstrip("')\""), reach=Reach.DECODED)


def _quoted_program(_: SimpleCommand, values: list[str]) -> Iterator[Inner]:
    for value in values[1:]:
        yield from strings_of(value)
        for found in re.finditer(r"(?:shell|\.shell|\\!|!|\.system)\s*(.+)|\{([^{}]{2,300})\}", value):
            yield Inner(found[1] or found[2], reach=Reach.DECODED)


def _by_flags(values: list[str]) -> Iterator[Inner]:
    """Flags of many programs that name a command."""
    for at, value in enumerate(values[1:], 1):
        name, sign, given = value.partition("=")
        if value == "--":
            return
        if values[at - 1] in {"-e", "--regexp", "--grep", "-name"}:
            continue
        if sign and name in _COMMAND_FLAGS:
            yield Inner(given.removeprefix("exec="), reach=Reach.DECODED)
        elif at + 1 < len(values) and (value in _COMMAND_FLAGS or value in _BY_PROGRAM.get(values[0], ())):
            yield Inner(values[at + 1].removeprefix("exec="), reach=Reach.DECODED)
        elif runs := _SSH_RUNS.search(value):
            yield Inner(runs[1], reach=Reach.DECODED)


_SSH_RUNS = re.compile(
    r"(?:^|-o\s?)(?:ProxyCommand|LocalCommand|KnownHostsCommand|RemoteCommand)[= ]\s{0,9}(.+)", re.IGNORECASE
)
_BY_PROGRAM = {
    "tar": ("-I", "-F"),
    "gtar": ("-I", "-F"),
    "bsdtar": ("-I",),
    "rsync": ("-e", "--rsh"),
    "scp": ("-S",),
    "man": ("-P", "-H"),
    "zip": ("-TT",),
    "git": ("-O",),
}
"""Short flags that name a command only for these programs."""

_SETS_COMMAND = named(
    "PROMPT_COMMAND PS0 PS1 PS4 LESSOPEN LESSCLOSE PAGER GIT_PAGER MANPAGER EDITOR VISUAL GIT_EDITOR GIT_SSH_COMMAND"
    " GIT_EXTERNAL_DIFF GIT_SEQUENCE_EDITOR BROWSER RSYNC_RSH FCEDIT"
)
"""Variables whose value is run."""

_COMMAND_FLAGS = named(
    "--checkpoint-action --to-command --use-compress-program --rsh-command --info-script --compress-program --pre"
    " --pager --unzip-command --rsync-path --upload-pack --receive-pack --open-files-in-pager --proxy-command"
    " --new-volume-script"
)
_BY_NAME = {
    "eval": _eval,
    "trap": _trap,
    "alias": _alias,
    "git": _git,
    **dict.fromkeys(named("find bfs gfind"), _find),
    **dict.fromkeys(named("fd fdfind"), _fd),
    **dict.fromkeys(named("xargs gxargs"), _xargs),
    **dict.fromkeys(named("ssh slogin mosh"), _ssh),
    **dict.fromkeys(named("sed gsed"), _sed),
    **dict.fromkeys(named("su runuser flock unshare"), _option_text("-c --command --session-command")),
    **dict.fromkeys(named("script npx npm"), _package),
    **dict.fromkeys(named("newgrp vagrant capsh at"), _option_text("-c")),
    **dict.fromkeys(named("mapfile readarray complete"), _option_text("-C")),
    **dict.fromkeys(named("make gmake"), _option_text("--eval")),
    **dict.fromkeys(named("less more"), _pager),
    "sg": _option_text("-c", 2),
    "nix-shell": _option_text("--run --command"),
    **dict.fromkeys(named("pwsh powershell"), _option_text("-c -Command")),
    "wsl": _option_text("-e", 1),
    "cmd": _option_text("/c /k"),
    "entr": _option_text("-s"),
    "tmux": _texts,
    "screen": _option_text("-X"),
    **dict.fromkeys(named("ansible salt pdsh clush"), _remote),
    "adb": _option_text("", 2),
    "bind": _option_text("-x"),
    "watch": _option_text("", 1),
    **dict.fromkeys(named("vim vi nvim ex view ed"), _vim),
    **dict.fromkeys(named("emacs expect ftp gdb lldb m4 mysql psql sqlite3 tclsh"), _quoted_program),
}
