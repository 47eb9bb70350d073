"""Which paths a command writes, as far as its own words tell."""

import re
from collections.abc import Iterator

from activities.safety.bash.names import named
from activities.safety.bash.view import Act

_ALL = named(
    "tee touch mkdir rm rmdir unlink shred truncate mkfifo mknod sponge wipe srm trash trash-put"
    " fallocate nano vim vi nvim ex ed emacs patch chattr setfacl setfattr rename rimraf gio mkswap split csplit"
    " pico micro code vigr sqlite3 zip ssh-keygen crontab mktemp dos2unix unix2dos fromdos todos gzip gunzip bzip2"
    " bunzip2 xz unxz zstd black prettier mkdirp del remove-item set-content out-file add-content gofmt rustfmt"
    " autopep8 isort"
)
_BEHIND_FIRST = named("chmod chown chgrp chcon")
_LAST = named("cp install ln rsync scp copy ditto cpio gcp ginstall gln pax")
_IN_PLACE = named("sed gsed perl ruby awk gawk sd yq")
_OUTPUT = named("-o -O --output --out -out --output-document --output-file --outfile --target-directory -t -of")
_READS_O = named("grep egrep fgrep rg find ps ls ssh sudo mount stat docker kubectl git pytest python node lsof")
_OPENED = re.compile(
    r"open\w{0,20}\(?[^)]{0,100}?['\"]([^'\"]+)['\"]\s*,\s*(?:['\"][wax+rb>]+|O_WRONLY|O_RDWR|mode)|"
    r"(?:write\w*|append\w*|unlink\w*|remove\w*|rename\w*|rm\w*|chmod\w*|truncate|copy\w*|move|symlink\w*|link\w*|touch"
    r"|mkdir\w*|delete\w*|file_put_contents|Path|File\.new|replace|open)\s{0,9}\(?[^)'\"]{0,100}['\"]([^'\"]+)['\"]",
    re.IGNORECASE,
)


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
    elif name in _LAST:
        yield from _landed(operands)
        yield from _targets(act)
    elif name == "dd" or name in {"dcfldd", "dc3dd", "gdd"}:
        yield from (one.partition("=")[2] for one in act.values if one.startswith(("of=", "hof=", "ofs=")))
    elif name in _IN_PLACE and any(re.match(r"-\w*i|--in-?p", one) for one in act.arguments):
        yield from operands
    elif name == "git":
        yield from _by_git(act)
    elif name in {"tar", "bsdtar", "gtar", "unzip", "7z"}:
        yield from _by_archiver(act)
    elif name == "find":
        yield from _after(act, {"-fprint", "-fprint0", "-fls", "-fprintf"})
    if name not in _READS_O:
        yield from _after(act, _OUTPUT)


def programmed(program: str) -> Iterator[str]:
    """Paths that a one-line program seems to write."""
    for found in _OPENED.finditer(program):
        yield found[1] or found[2]


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
        elif re.match(r"-[oO][^=]", value) and "-o" in names and act.name in {"sort", "curl", "wget", "gcc", "cc"}:
            yield value[2:]


def _by_git(act: Act) -> Iterator[str]:
    verbs = {
        "checkout",
        "restore",
        "clean",
        "mv",
        "rm",
        "apply",
        "init",
        "clone",
        "worktree",
        "stash",
        "reset",
        "update-index",
    }
    if verbs & set(act.arguments):
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
