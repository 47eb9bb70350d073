"""When xargs is looked through: names of files of the workspace, given to a program that only reads."""

import re
from itertools import pairwise

from activities.safety.bash import git, programs
from activities.safety.bash.names import named
from activities.safety.bash.options import Parsed, parse
from activities.safety.bash.paths import is_inside, is_secret
from activities.safety.bash.reading import path_operands, readable
from activities.safety.bash.tables import READERS
from activities.safety.bash.view import Act, Refusal
from workflows.contracts.commands import UNKNOWN

_INNER = named("cat wc head tail grep ls stat basename dirname md5sum sha256sum du")
_FILTERS = {
    "sort": named(
        "-u -r -n -f -z -V -k -t -s -b -d -h -R --unique --reverse --numeric-sort --version-sort --key --stable"
    ),
    "head": named("-n -N -q -z --lines --quiet"),
    "uniq": named("-u -d -i -z --unique --repeated"),
}
"""Filters with the options that leave every line whole: `head -c` and `uniq -c` make other names."""
_SEARCH = named(
    "-i -w -x -v -F -P -e -f -m -s -n -H -a --ignore-case --word-regexp --line-regexp --invert-match --fixed-strings"
    " --regexp --file --max-count --no-messages --line-number --with-filename --text"
)
_LISTS = {
    "rg": named("-l --files-with-matches --files --files-without-match"),
    "grep": named("-l -L --files-with-matches --files-without-match"),
    "git grep": named("-l -L --files-with-matches --files-without-match --name-only"),
}
"""Options with one of which a search prints names alone."""
_WITH_LISTS = {
    "rg": _SEARCH
    | named(
        "-S -U -u -g -t -T -d -j -M -0 -. --hidden --no-ignore --no-ignore-vcs --no-ignore-dot --no-ignore-parent"
        " --glob --iglob --glob-case-insensitive --type --type-not --max-depth --sort --sortr --smart-case"
        " --case-sensitive --multiline --multiline-dotall --pcre2 --max-filesize --one-file-system --no-config"
        " --unrestricted --threads --null --no-heading"
    ),
    "grep": _SEARCH
    | named(
        "-r -R -E -G -y -I -U -Z --recursive --dereference-recursive --extended-regexp --basic-regexp --perl-regexp"
        " --null --include --exclude --exclude-dir --binary-files"
    ),
    "git grep": _SEARCH
    | named(
        "-E -G -I -r -z --extended-regexp --basic-regexp --perl-regexp --untracked --cached --exclude-standard"
        " --no-exclude-standard --and --or --not --all-match --max-depth --null --full-name"
    ),
}
"""Options with which it still does."""
_FILES_OF_GIT = named(
    "-c -d -m -o -i -k -z -x --cached --deleted --modified --others --ignored --killed --directory"
    " --no-empty-directory --exclude --exclude-standard --error-unmatch --full-name --deduplicate"
)
_NO_NAMES = named("--help --version --color -c")
_PRINTED = re.compile(r"(?:(?:\./)?(?:%p|%h/%f)(?:\\n|\\0|\n))+")
_ALL = re.compile(r"/\*+\Z")
_ENDS = {"\n", "\\n", "\\0", "\\000", "\\x00"}
_KINDS = re.compile(
    r"(?:^|[^a-z])(?:env|pem|p.m|key|p12|pfx|jks|netrc|npmrc|pypirc|pgpass|id_[a-z0-9*?]*|ssh|aws)(?:[^a-z]|$)",
    re.IGNORECASE,
)


def refused(act: Act) -> Refusal | None:
    """Why this xargs is not proved to read only."""
    form = parse(act.values, programs.XARGS)
    if form.unknown:
        return Refusal("flag", f"xargs {form.unknown} is not looked through", form.unknown)
    stages = [act.view.acts[one] for one in act.command.upstream]
    places = [one.command.stage for one in stages]
    if any(name in {"-d", "--delimiter"} and value not in _ENDS for name, value in form.options):
        return Refusal("flag", "xargs would cut names into others", "-d")
    if not stages or places != list(range(len(stages))) or not _is_source(stages[0]) or act.command.redirections:
        return Refusal("wrapper", "xargs takes names from where they are not known to be files of the workspace")
    if not all(_only_filters(one) for one in stages[1:]):
        return Refusal("wrapper", "what stands before xargs may put other names in")
    inner = [one for one in act.below if one.command.parent == act.index]
    if len(inner) != 1 or inner[0].name not in _INNER or inner[0].command.wrappers:
        return Refusal("wrapper", "xargs runs a program that is not known to read only")
    marks = [value for name, value in form.options if name in {"-I", "--replace"}]
    return _inner_refused(inner[0], marks[-1] if marks else "")


def _inner_refused(command: Act, mark: str) -> Refusal | None:
    if command.values[0] != command.command.words[0].source:
        return Refusal("words", "the command word is not a plain name")
    if mark and any(mark in one and one != mark for one in command.values):
        return Refusal("path", f"{mark} becomes a part of another path")
    reader = READERS[command.name]
    values = [UNKNOWN if mark and one == mark else one for one in command.values]
    parsed = parse(values, reader.form)
    if parsed.unknown or any(UNKNOWN in value for _, value in parsed.options):
        return Refusal("flag", f"{command.name} {parsed.unknown} is not known to read only", parsed.unknown)
    if programs.judged(command.name, reader, parsed, []):
        return Refusal("flag", f"{command.name} is not known to read only here")
    operands = [values[one] for one in parsed.operands]
    return readable(command, [one for one in path_operands(reader, parsed, operands) if one != UNKNOWN])


def _only_filters(act: Act) -> bool:
    if act.name not in _FILTERS or any(not one.is_copy and one.operator == "<" for one in act.command.redirections):
        return False
    parsed = parse(act.values, READERS[act.name].form)
    return not parsed.operands and _only(parsed, _FILTERS[act.name])


def _only(parsed: Parsed, allowed: frozenset[str]) -> bool:
    return not parsed.unknown and all(name in allowed for name, _ in parsed.options)


def _is_source(act: Act) -> bool:
    """Whether it lists files of the workspace, and names no secret one."""
    # `-path './x/*'` is a folder with all that is in it.
    if any(_KINDS.search(one) or is_secret(_ALL.sub("", path)) for one, faces in act.named for path in faces):
        return False
    rooted = [path for one in act.operands if "/" in one for path in act.faces(one)]
    return all(is_inside(path, act.view.setting) for path in rooted) and _prints_names(act)


def _prints_names(act: Act) -> bool:
    """Whether what it prints is names of files and nothing else."""
    match act.name:
        case "find":
            return _finds_names(act.values)
        case "fd" | "fdfind":
            return not parse(act.values, READERS["fd"].form).has(*_NO_NAMES)
        case "git":
            rest, parsed = git.read(act.values)
            if parsed is None or rest[0] not in {"grep", "ls-files"}:
                return False
            return _lists("git grep", parsed) if rest[0] == "grep" else _only(parsed, _FILES_OF_GIT)
        case "rg":
            return _lists("rg", parse(act.values, READERS["rg"].form))
        case "grep" | "egrep" | "fgrep":
            return _lists("grep", parse(act.values, READERS["grep"].form))
    return False


def _lists(name: str, parsed: Parsed) -> bool:
    return parsed.has(*_LISTS[name]) and _only(parsed, _LISTS[name] | _WITH_LISTS[name])


def _finds_names(values: list[str]) -> bool:
    """Whether nothing but names is printed: `-printf '%l'` prints where links lead."""
    if {"-ls", "--help", "--version"} & set(values):
        return False
    return all(_PRINTED.fullmatch(after) for one, after in pairwise(values) if one == "-printf")
