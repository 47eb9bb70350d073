"""Which git commands only read: verb by verb, flag by flag."""

import re
from collections.abc import Iterator

from activities.safety.bash.names import named
from activities.safety.bash.options import Parsed, parse
from activities.safety.bash.reader import Reader, form_of

_DIFF = (
    " -puszabwWRD -U: -G: -S: -l: -M? -C? -B? -X? --patch --no-patch --raw --patch-with-raw --patience"
    " --histogram --minimal"
    " --diff-algorithm= --anchored= --stat? --numstat --shortstat --dirstat? --summary --patch-with-stat"
    " --name-only --name-status"
    " --unified= --submodule? --color? --no-color --color-moved? --color-words? --word-diff? --word-diff-regex="
    " --no-renames"
    " --rename-empty --check --full-index --binary --abbrev? --find-renames? --find-copies? --find-copies-harder"
    " --diff-filter="
    " --find-object= --pickaxe-all --pickaxe-regex --relative? --text --ignore-space-at-eol --ignore-space-change"
    " --ignore-all-space --ignore-blank-lines --ignore-cr-at-eol --inter-hunk-context= --function-context"
    " --exit-code --quiet"
    " --no-ext-diff --no-textconv --ignore-submodules? --src-prefix= --dst-prefix= --no-prefix --line-prefix="
    " --compact-summary"
    " --cached --staged --merge-base --no-index --ws-error-highlight= --irreversible-delete --skip-to="
    " --rotate-to= -z -1230"
)
_LOG = (
    " -hgNiEFPcmq -n: -L: -N --oneline --graph --all --decorate? --no-decorate --format= --pretty? --abbrev-commit"
    " --no-abbrev-commit --max-count= --skip= --since= --after= --until= --before= --author= --committer="
    " --grep= --all-match"
    " --invert-grep --regexp-ignore-case --extended-regexp --fixed-strings --perl-regexp --merges --no-merges"
    " --first-parent"
    " --min-parents= --max-parents= --branches? --tags? --remotes? --glob= --exclude= --reflog --date="
    " --relative-date --reverse"
    " --date-order --author-date-order --topo-order --follow --full-history --simplify-merges --ancestry-path"
    " --left-right"
    " --cherry-pick --cherry-mark --cherry --left-only --right-only --boundary --parents --children"
    " --walk-reflogs --source"
    " --mailmap --no-mailmap --use-mailmap --show-signature --notes? --no-notes --show-notes --encoding= --cc"
    " --combined-all-paths"
    " --root --no-walk? --sparse --dense --decorate-refs= --decorate-refs-exclude= --clear-decorations"
    " --log-size --count"
    " --objects --timestamp --stdin0 --name-only --shortstat --disk-usage --not --simplify-by-decoration"
    " --show-pulls --dd"
    " --remove-empty --bisect --do-walk --header --in-commit-order --expand-tabs? --no-expand-tabs"
)
_SECRET_KEY = re.compile(r"extraheader|token|passw|secret|cookiefile", re.IGNORECASE)
_SHOW_SIGNATURE = {"--show-signature"}
"""They run gpg, which the configuration names."""

_SPECS: dict[str, str] = {
    "status": "-sbvz -u? --short --branch --show-stash --porcelain? --long --verbose --untracked-files?"
    " --ignored? --ignore-submodules?"
    " --column? --no-column --ahead-behind --no-ahead-behind --renames --no-renames --find-renames?",
    "log": _LOG + _DIFF,
    "show": _LOG + _DIFF,
    "diff": _DIFF,
    "diff-tree": _DIFF + " -rtvmc --root --stdin --no-commit-id --pretty? --format= --cc --always",
    "branch": "-arvil --list --all --remotes --verbose --show-current --merged? --no-merged? --contains?"
    " --no-contains? --sort="
    " --format= --points-at= --color? --no-color --column? --no-column --abbrev? --no-abbrev --ignore-case",
    "tag": "-li -n? --list --sort= --format= --contains? --no-contains? --merged? --no-merged? --points-at="
    " --color? --column?"
    " --no-column --ignore-case",
    "remote": "-v --verbose",
    "rev-parse": "-q --verify --short? --abbrev-ref? --symbolic --symbolic-full-name --show-toplevel"
    " --show-prefix --show-cdup --git-dir"
    " --git-common-dir --absolute-git-dir --is-inside-work-tree --is-inside-git-dir --is-bare-repository --all"
    " --branches? --tags?"
    " --remotes? --not --sq --quiet --revs-only --no-revs --flags --no-flags --default= --show-object-format?"
    " --is-shallow-repository"
    " --show-superproject-working-tree --git-path= --disambiguate= --path-format=",
    "rev-list": _LOG + " -p",
    "describe": "--tags --all --long --always --abbrev= --match= --exclude= --contains"
    " --first-parent --exact-match"
    " --candidates= --debug",
    "blame": "-bcefklnpstw -L: -M? -C? --root --show-stats --porcelain --line-porcelain --incremental --date="
    " --show-email --show-name"
    " --show-number --abbrev= --ignore-rev= --color-lines --color-by-age --minimal --since= --reverse"
    " --first-parent -S: -h",
    "shortlog": "-nsec -w? -N --numbered --summary --email --committer --group= --format= --since= --after="
    " --until= --before= --author="
    " --all --no-merges --merges --max-count= --branches? --tags?",
    "ls-files": "-cdmoiskutvfz -x: --cached --deleted --modified --others --ignored --stage --killed --unmerged"
    " --directory"
    " --no-empty-directory --exclude= --exclude-standard --error-unmatch --full-name --abbrev? --debug --eol"
    " --deduplicate"
    " --recurse-submodules --format= --resolve-undo",
    "ls-tree": "-drtlz --long --name-only --name-status --full-name --full-tree --abbrev? --format= --object-only",
    "cat-file": "-ptse --batch-check? --batch-all-objects --buffer --unordered",
    "merge-base": "-a --all --octopus --independent --is-ancestor --fork-point",
    "for-each-ref": "--count= --format= --sort= --color? --points-at= --merged? --no-merged? --contains?"
    " --no-contains? --ignore-case"
    " --omit-empty --exclude= --include-root-refs",
    "show-ref": "-dqh -s? --heads --branches --tags --head --hash? --abbrev? --dereference --verify --exists --quiet",
    "reflog": _LOG + _DIFF,
    "stash": _LOG + _DIFF + " --include-untracked --only-untracked",
    "worktree": "-vz --porcelain --verbose",
    "grep": "-abchilnopqrsvwzEFGHILPW -e: -A: -B: -C: -m: -N --text --ignore-case --invert-match"
    " --word-regexp --name-only"
    " --files-with-matches --files-without-match --count --color? --no-color --break --heading --show-function"
    " --function-context"
    " --line-number --column --only-matching --null --extended-regexp --fixed-strings --perl-regexp"
    " --basic-regexp --max-depth="
    " --recursive --no-recursive --untracked --cached --no-exclude-standard --exclude-standard --and"
    " --or --not"
    " --all-match --quiet --context= --after-context= --before-context= --threads= --max-count= --full-name"
    " --no-textconv",
    "count-objects": "-vH --verbose --human-readable",
    "check-ignore": "-vnqz --verbose --non-matching --quiet --no-index",
    "name-rev": "--tags --refs= --exclude= --all --name-only --no-undefined --always --annotate-stdin",
    "cherry": "-v --abbrev?",
    "config": "-z --get --global --local --system --show-origin --show-scope --name-only --null --type="
    " --bool --int --path",
    "version": "--build-options",
}
_FORMS: dict[str, Reader] = {verb: Reader(*form_of(f"{spec} =-"), operands="texts") for verb, spec in _SPECS.items()}
_FIRST = {
    "stash": {"list", "show"},
    "worktree": {"list"},
    "reflog": {"show", "list", "exists"},
    "remote": set[str](),
}
_LISTS = {"-l", "--list", "--contains", "--no-contains", "--merged", "--no-merged", "--points-at", "-n"}
FRONT = named("--no-pager --no-optional-locks --literal-pathspecs --no-replace-objects")
"""Options before the verb that change nothing but how it prints or reads."""
_NAMES_NO_FILES = {"branch", "tag", "for-each-ref", "describe", "name-rev", "config", "remote", "rev-parse"}
"""Verbs whose operands are names of branches, keys and the like, never files."""


def read(values: list[str]) -> tuple[list[str], Parsed | None]:
    """The verb with what follows it, and that told apart where the verb is known. `values[0]` is git."""
    at = 1
    while at < len(values) and values[at] in FRONT:
        at += 1
    rest = values[at:]
    reader = _FORMS.get(rest[0]) if rest else None
    return rest, None if reader is None else parse(rest, reader.form)


_MAGIC = re.compile(r":(?:\([^)]*\)|/|\d:)?")
_EVERYTHING = re.compile(r"(?:.*/)?[*?.]*")
_LISTING = named("ls-files ls-tree status check-ignore branch tag for-each-ref config remote describe")


def shown(values: list[str]) -> Iterator[str]:
    """Names and patterns of the files that a git command shows: `:(icase).ENV`, `a/b:.env`, `-L :f:.env`, `'*.pem'`."""
    rest, parsed = read(values)
    if parsed is None or rest[0] in _LISTING:
        return
    operands = [rest[one] for one in parsed.operands]
    if rest[0] == "grep" and not parsed.has("-e"):
        operands = operands[1:]
    for one in [*operands, *(value for name, value in parsed.options if name == "-L")]:
        if one.startswith((":!", ":^", ":(exclude")) or _EVERYTHING.fullmatch(one):
            continue
        name = _MAGIC.sub("", one, count=1) if one.startswith(":") else one
        name = name.rpartition(":")[2]
        yield name
        yield name.lstrip("*")


def judged(values: list[str]) -> tuple[str, list[str]]:
    """Why a git command is not proved to read only, empty where it is; and the operands that may be files."""
    rest, parsed = read(values)
    if not rest or rest in (["--version"], ["-v"]):
        return "", []
    if parsed is None:
        return f"git {rest[0]}", []
    operands = [rest[one] for one in parsed.operands]
    return _refused(rest[0], parsed, operands), _files(rest[0], parsed, operands)


def _files(verb: str, parsed: Parsed, operands: list[str]) -> list[str]:
    if verb == "grep" and not parsed.has("-e"):
        operands = operands[1:]
    if not parsed.has("--no-index"):
        operands = [] if verb in _NAMES_NO_FILES else [one for one in operands if "/" in one or one.startswith(".")]
    return operands + [value for name, value in parsed.options if verb == "blame" and name == "-S"]


def _refused(verb: str, parsed: Parsed, operands: list[str]) -> str:
    if parsed.unknown:
        return f"git {verb} {parsed.unknown}"
    if any(name in _SHOW_SIGNATURE for name, _ in parsed.options) or any(
        "%G" in value or "%(signature" in value for _, value in parsed.options
    ):
        return f"git {verb} --show-signature"
    if verb == "config" and any(_SECRET_KEY.search(one) for one in operands):
        return "git config --get"
    return (
        ""
        if _is_reading(verb, operands, {name for name, _ in parsed.options})
        else f"git {verb} {' '.join(operands[:1])}"
    )


def _is_reading(verb: str, operands: list[str], options: set[str]) -> bool:
    match verb:
        case "branch" | "tag":
            return not operands or bool(options & _LISTS)
        case "remote":
            return not operands
        case "reflog":
            return (
                not operands
                or operands[0] in _FIRST["reflog"]
                or operands[0] not in {"expire", "delete", "drop", "write"}
            )
        case "stash" | "worktree":
            return bool(operands) and operands[0] in _FIRST[verb]
        case "config":
            return "--get" in options and 0 < len(operands) <= 2
        case "cat-file":
            return bool(options & {"-p", "-t", "-s", "-e", "--batch-check"})
    return True
