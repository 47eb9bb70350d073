"""Which paths a command writes, as far as its own words tell."""

import functools
import re
from collections.abc import Iterator

from activities.safety.bash.caseless import Caseless
from activities.safety.bash.names import AWKS, named
from activities.safety.bash.view import Act
from workflows.contracts.commands import UNKNOWN

_ALL = named(
    "tee touch mkdir rm rmdir unlink shred truncate mkfifo mknod sponge wipe srm trash trash-put"
    " fallocate nano vim vi nvim ex ed emacs patch chattr setfacl setfattr rename rimraf gio mkswap split csplit"
    " pico micro code vigr sqlite3 zip ssh-keygen crontab mktemp dos2unix unix2dos fromdos todos gzip gunzip bzip2"
    " bunzip2 xz unxz zstd black prettier mkdirp del remove-item set-content out-file add-content gofmt rustfmt"
    " autopep8 isort script"
)
_BEHIND_FIRST = named("chmod chown chgrp chcon")
_LAST = named(
    "cp install ln link rsync scp copy ditto cpio gcp ginstall gln pax objcopy convert magick ffmpeg qemu-img"
)
_COPYING = named("docker podman nerdctl kubectl oc aws gsutil gcloud az rclone lxc adb")
"""Programs whose sub-command `cp` copies."""
_IN_PLACE = named("sed gsed perl ruby awk gawk sd yq")
_OUTPUT = named("-o -O --output --out -out --output-document --output-file --outfile --target-directory -t -of")
_READS_O = named("grep egrep fgrep rg find ps ls ssh sudo mount stat docker kubectl git pytest python node lsof")
_CLUSTERED = {
    "sort": "o", "gsort": "o", "shuf": "o", "curl": "o", "wget": "OoPa", "tree": "o", "base64": "o", "gcc": "o",
    "cc": "o", "clang": "o", "gawk": "o", "strace": "o", "ltrace": "o", "time": "o", "perf": "o", "tcpdump": "w",
    "sdiff": "o", "csplit": "f", "dumpcap": "w", "tshark": "w", "ld": "o", "as": "o",
}  # fmt: skip
"""Short options that name a file to write, by program; they may stand at the end of a cluster."""
_SHORTENED = re.compile(r"--(?:o|ou|out|outp|outpu)")
_GIT_WRITES = named("checkout restore clean mv rm apply init clone worktree stash reset update-index")
_SECOND = named("uniq guniq xxd")
"""Readers whose second operand is written."""
_SED_WRITES = re.compile(r"(?:^|[;{}\n,\d$!/\sI]|/[gpiImM0-9]+)[wW]\s+([^\n]+)|/[gpiIemM0-9]*w\s*([^\s/][^\n]*)")
_AWK_WRITES = re.compile(r'>{1,2}\s*"([^"]+)"')
_VIM_WRITES = re.compile(r"(?:^\+?|[:|\s])(?:w|wq|wr|write|sav|saveas|x|update)!?\s+(?:>>\s*)?([^\s|]+)")
_SQL_WRITES = re.compile(r"\.(?:output|once|backup|save|log|clone|excel)\s+['\"]?([^\s'\"]+)")
_SCRIPTS = {
    **dict.fromkeys(("sed", "gsed"), _SED_WRITES),
    **dict.fromkeys(AWKS, _AWK_WRITES),
    **dict.fromkeys(("vim", "vi", "nvim", "ex", "view", "ed"), _VIM_WRITES),
    "sqlite3": _SQL_WRITES,
}
_MODE = r"""[\s)]{0,9},\s*(?:mode\s*=\s*)?(?:['"](?=[^'"]*[wax+>])[wax+rbt>]+['"]|O_WRONLY|O_RDWR|os\.O_)"""
_OPENED = re.compile(
    r"open\w{0,20}\(?[^)]{0,100}?['\"]([^'\"]+)['\"]" + _MODE + r"|"
    r"open\b[^'\"]{0,60}['\"]\+?>{1,2}\s*(?:['\"]\s*,\s*['\"])?([^'\"]+)['\"]|"
    r"(?:(?:write|append|unlink|remove|rename|rm|chmod|copy|symlink|link|mkdir|delete)\w{0,30}+|truncate|move|touch"
    r"|put_contents|File\.new|replace)\s{0,9}+\(?+[^)'\"]{0,100}+['\"]([^'\"]+)['\"]",
    re.IGNORECASE,
)
_NAMED = re.compile(r"(?:Path|open)\s{0,9}\(\s{0,9}['\"]([^'\"]+)['\"]")
CHANGES = Caseless(
    r"write|append|unlink|remove|rename|chmod|chown|\brm|truncate|\bcopy|\bmove|symlink|\blink\(|touch|mkdir|put_contents"
    r"|dump\s*\(|delete|(?<![-=])>|\bprintf?\s+\w+\s*[\"'(]" + "|" + _MODE.removeprefix(r"[\s)]{0,9}")
)
"""What a program that changes files says."""


def written(act: Act) -> list[str]:
    """Values of the paths that it writes, makes, removes or changes."""
    if act.written is None:
        act.written = list(dict.fromkeys(_written(act)))
    return act.written


def _written(act: Act) -> Iterator[str]:
    yield from (one.target.value for one, _ in act.outputs)
    yield from (one.target.value for one in act.command.redirections if one.operator == "<>")
    name, operands = act.name, act.operands
    if name in _ALL:
        yield from operands
    elif name in {"mv", "gmv"}:
        yield from operands
        yield from _targets(act)
    elif name in _BEHIND_FIRST:
        yield from operands if any(one.startswith("--reference") for one in act.values) else operands[1:]
        yield from (one for one in operands[:1] if "/" in one)
    elif name in _LAST or (name in _COPYING and operands[:3] and "cp" in operands[:3]):
        yield from _landed(_told(act, operands))
        yield from _targets(act)
    elif name in _SECOND:
        yield from operands[1:2]
    elif name == "dd" or name in {"dcfldd", "dc3dd", "gdd"}:
        yield from (one.partition("=")[2] for one in act.values if one.startswith(("of=", "hof=", "ofs=")))
    elif name in _IN_PLACE and any(re.match(r"-\w*i|--in-?p", one) for one in act.arguments):
        yield from operands
    if name not in _READS_O:
        yield from _after(act, _OUTPUT)
    yield from _by_language(act)
    yield from _clustered(name, act.values)
    for wrapper in act.command.wrappers:
        yield from _clustered(wrapper.name, [word.value for word in wrapper.words])


def _by_language(act: Act) -> Iterator[str]:
    """What programs with verbs or a script of their own write."""
    if act.name == "git":
        yield from _by_git(act)
    elif act.name in {"tar", "bsdtar", "gtar", "unzip", "7z"}:
        yield from _by_archiver(act)
    elif act.name == "find":
        yield from _after(act, {"-fprint", "-fprint0", "-fls", "-fprintf"})
    elif pattern := _SCRIPTS.get(act.name):
        for script in programs_of(act):
            for found in pattern.finditer(script):
                yield next(part for part in found.groups() if part).strip()


def _told(act: Act, operands: list[str]) -> list[str]:
    """The operands that it is given here, without those that `xargs` adds."""
    is_fed = operands[-1:] == [UNKNOWN] and any(one.name in {"xargs", "gxargs"} for one in act.carriers)
    return operands[:-1] if is_fed else operands


def _clustered(name: str, values: list[str]) -> Iterator[str]:
    """Files behind `-uo FILE`, `-uoFILE` and `--outp=FILE`."""
    letters = _CLUSTERED.get(name, "")
    if not letters and name != "git":
        return
    short = re.compile(rf"-[A-Za-z]*?[{letters}](.*)", re.DOTALL) if letters else None
    for at, value in enumerate(values[1:], 1):
        after = values[at + 1] if at + 1 < len(values) else ""
        long, sign, given = value.partition("=")
        if value == "--":
            return
        if _SHORTENED.fullmatch(long):
            yield given if sign else after
        elif short and (found := short.fullmatch(value)):
            yield found[1] or after


def programs_of(act: Act) -> Iterator[str]:
    """Every text that it may run: arguments, heredocs, and what is printed into it."""
    yield from act.arguments
    for one in (act, *act.upstream):
        yield from (each.target.value for each in one.command.redirections if each.is_heredoc)
        if one is not act and one.name in {"echo", "printf"}:
            yield from one.arguments
    yield from _written_before(act)


def _written_before(act: Act) -> Iterator[str]:
    """What the same text put into a file that it runs."""
    wanted = {path for value in act.operands[:1] for path in act.faces(value)}
    for other in act.view.acts[: act.index] if wanted else ():
        if any(path in wanted for _, faces in other.outputs for path in faces):
            for one in (other, *other.upstream):
                yield from (each.target.value for each in one.command.redirections if each.is_heredoc)
                yield from one.arguments if one.name in {"echo", "printf"} else ()


def programmed(act: Act) -> Iterator[str]:
    """Paths that the one-line programs of an interpreter seem to write."""
    for program in programs_of(act):
        for path in _of_program(program):
            yield act.view.setting.home + path[1:] if path.startswith("~/") else path


@functools.lru_cache(maxsize=512)
def _of_program(program: str) -> tuple[str, ...]:
    found = [next(part for part in one.groups() if part).lstrip("+> ") for one in _OPENED.finditer(program)]
    if CHANGES.is_in(program):
        found += [one[1] for one in _NAMED.finditer(program)]
    return tuple(dict.fromkeys(found))


def _landed(operands: list[str]) -> Iterator[str]:
    """Where copies land: the last operand, or each name in it."""
    if not operands:
        return
    yield operands[-1]
    for one in operands[:-1]:
        base = one.rstrip("/").rsplit("/", 1)[-1]
        if base not in {"", ".", ".."}:
            yield f"{operands[-1].rstrip('/')}/{base}"
        elif one.rstrip("/").endswith("."):
            yield operands[-1]


def _targets(act: Act) -> Iterator[str]:
    folders = list(_after(act, {"-t", "--target-directory"}))
    yield from folders
    for folder in folders:
        for one in act.operands:
            yield f"{folder.rstrip('/')}/{one.rstrip('/').rsplit('/', 1)[-1]}"


def _after(act: Act, names: set[str] | frozenset[str]) -> Iterator[str]:
    values = act.values
    for at, value in enumerate(values):
        name, sign, given = value.partition("=")
        if sign and name in names:
            yield given
        elif value in names and at + 1 < len(values):
            yield values[at + 1]


def _by_git(act: Act) -> Iterator[str]:
    if _GIT_WRITES & set(act.arguments):
        yield from act.operands
    yield from _after(act, {"-f", "--file"} if "config" in act.arguments else {"--output"})


def _by_archiver(act: Act) -> Iterator[str]:
    values = act.arguments
    first = values[0] if values else ""
    if re.match(r"-?\w*[xru]", first) or "--extract" in values or act.name in {"unzip", "7z"}:
        yield from _after(act, {"-C", "-d", "--directory"})
    if re.match(r"-?\w*[cru]\w*f", first) and len(values) > 1:
        yield values[1]
    if "--remove-files" in values:
        yield from act.operands
